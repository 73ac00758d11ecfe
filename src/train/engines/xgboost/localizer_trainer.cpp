#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/xgboost.hpp>

#include "base/text.hpp"
#include "train/engines/first_outputs.hpp"
#include "train/engines/xgboost/booster.hpp"
#include "train/engines/xgboost/forest.hpp"
#include "train/engines/xgboost/settings.hpp"
#include "train/engines/xgboost/tree_rows.hpp"

namespace widthwise {
namespace {

using internal::Chunk;
using internal::Chunks;
using internal::collectively;
using internal::Forest;
using internal::Parameters;
using internal::parameters_of;
using internal::Sampling;
using internal::text_of;
using internal::TrainingThreads;
using internal::TreeGrower;
using internal::TreeRows;

/// The outputs of the trees so far for some rows, with the memory to evaluate the objective on them.
class Outputs {
 public:
  Outputs(const TrainingRows& rows, const TreeArrays& trees)
      : x_(rows.x), residuals_(rows.residuals), count_(trees.base.size()), parameters_(x_.rows() * count_) {
    Trees(trees).evaluate(x_, {parameters_.data(), x_.rows(), count_});
    sums_.assign(parameters_.begin(), parameters_.end());
  }

  /// Add the values of the leaves (leaves x outputs) to the rows in them.
  void add(std::span<const std::uint32_t> leaves, std::span<const float> values, const Chunks& chunks) {
    chunks.for_each([&](const Chunk& chunk) {
      for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        const float* const value = values.data() + leaves[i] * count_;
        for (std::size_t j = i * count_; j < (i + 1) * count_; ++j) {
          sums_[j] += value[j - i * count_];  // in single precision, as trees are evaluated
          parameters_[j] = static_cast<double>(sums_[j]);
        }
      }
    });
  }

  /// Add a tree of another training set, whose leaves are numbered.
  void add(const TreeArrays& tree, std::span<const float> values) {
    const Chunks chunks(x_.rows(), 1);
    leaves_.resize(x_.rows());
    internal::number_leaves(tree, x_, chunks, leaves_);
    add(leaves_, values, chunks);
  }

  /// The objective; with its derivatives if these are not empty.
  double evaluate(const Objective& objective, MutableMatrixView gradient, MutableMatrixView hessian,
                  const Reducer& reducer) {
    return objective.evaluate(residuals_, {parameters_.data(), x_.rows(), count_}, gradient, hessian, workspace_,
                              reducer);
  }

 private:
  MatrixView x_;
  ResidualRows residuals_;
  std::size_t count_;
  std::vector<float> sums_;         // n x outputs
  std::vector<double> parameters_;  // the same
  std::vector<std::uint32_t> leaves_;
  Workspace workspace_;
};

/// The rows that a localizer is trained on. All outputs share the splits of a tree: each round grows one tree along one
/// direction in the space of the outputs, and every leaf gets a Newton step for each of them. Directions alternate
/// between the sum of all outputs and random signs, a random projection of the derivatives (Iosipoi and Vakhrushev,
/// 2022), so that splits that matter for a difference of outputs are found as well.
class LocalizerRows {
 public:
  LocalizerRows(const std::shared_ptr<const XgboostLibrary>& library, const TrainingRows& rows,
                const TrainingContext& context, const TreeArrays& trees, std::size_t threads, const Reducer& reducer)
      : reducer_(reducer),
        rows_(library, {rows.x, rows.categorical}, context, threads),
        outputs_(rows, trees),
        count_(trees.base.size()),
        ones_(rows.x.rows(), 1.0F),
        sampled_(rows.x.rows()),
        gradient_(rows.x.rows() * count_),
        hessian_(gradient_.size()),
        projected_gradient_(rows.x.rows()),
        projected_hessian_(rows.x.rows()),
        total_rows_(static_cast<double>(rows.x.rows())) {
    reducer.sum({&total_rows_, 1});
  }

  [[nodiscard]] const internal::TrainingMatrix& matrix() const { return rows_.matrix(); }

  /// The values of the leaves of the last tree (leaves x outputs).
  [[nodiscard]] std::span<const float> leaf_values() const { return leaf_values_; }

  /// Grow the next tree and add it to the outputs of these rows. Its leaves have no values yet.
  TreeArrays grow(TreeGrower& grower, const Objective& objective, const Sampling& sampling, const TreeOptions& options,
                  std::size_t round) {
    rows_.sample(sampling, round, ones_, sampled_);
    const std::size_t n = sampled_.size();
    outputs_.evaluate(objective, {gradient_.data(), n, count_}, {hessian_.data(), n, count_}, reducer_);
    project(sampling.signs(round, count_));
    TreeArrays tree = rows_.grow(grower, projected_gradient_, projected_hessian_);
    solve(options);
    outputs_.add(rows_.leaves(), leaf_values_, rows_.chunks());
    return tree;
  }

 private:
  // Leaves divide by sums of Hessians, so tiny Hessians would make extreme leaves.
  static constexpr double kMinHessian = 1e-3;

  /// Derivatives along a direction of length 1, by which XGBoost chooses splits.
  void project(std::span<const double> signs) {
    // XGBoost's settings assume a loss that is a sum over rows; the objective is a mean.
    const double scale = total_rows_ / std::sqrt(static_cast<double>(count_));
    const double square = total_rows_ / static_cast<double>(count_);
    rows_.chunks().for_each([&](const Chunk& chunk) {
      for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        double gradient = 0;
        double hessian = 0;
        for (std::size_t j = 0; j < count_; ++j) {
          gradient += signs[j] * gradient_[i * count_ + j];
          hessian += hessian_[i * count_ + j];
        }
        const auto weight = static_cast<double>(sampled_[i]);
        projected_gradient_[i] = internal::rounded_derivative(weight * scale * gradient);
        projected_hessian_[i] = internal::rounded_derivative(weight * std::max(square * hessian, kMinHessian));
      }
    });
  }

  /// Set the values of the leaves: the Newton step of each output, times the learning rate.
  void solve(const TreeOptions& options) {
    const std::size_t numbers = 2 * count_ * rows_.leaf_count();
    const Chunks& chunks = rows_.chunks();
    std::vector<double> sums(std::max(chunks.count(), std::size_t{1}) * numbers);
    chunks.for_each([&](const Chunk& chunk) {
      double* const own = sums.data() + chunk.number * numbers;
      for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        if (sampled_[i] == 0) continue;
        double* const leaf = own + 2 * count_ * rows_.leaves()[i];
        for (std::size_t j = 0; j < count_; ++j) {
          leaf[j] += gradient_[i * count_ + j];
          leaf[count_ + j] += std::max(hessian_[i * count_ + j], kMinHessian / total_rows_);
        }
      }
    });
    for (std::size_t k = numbers; k < sums.size(); ++k) sums[k % numbers] += sums[k];
    reducer_.sum({sums.data(), numbers});
    leaf_values_.resize(numbers / 2);
    for (std::size_t k = 0; k < leaf_values_.size(); ++k) {
      const double* const leaf = sums.data() + 2 * count_ * (k / count_) + k % count_;
      const double divisor = total_rows_ * leaf[count_] + options.lambda;
      leaf_values_[k] =
          divisor > 0 ? static_cast<float>(-options.learning_rate * total_rows_ * leaf[0] / divisor) : 0.0F;
    }
  }

  const Reducer& reducer_;
  TreeRows rows_;
  Outputs outputs_;
  std::size_t count_;  // of outputs
  std::vector<float> ones_;
  std::vector<float> sampled_;  // 1, or 0 for rows that are not in the sample
  std::vector<double> gradient_;
  std::vector<double> hessian_;
  std::vector<float> projected_gradient_;
  std::vector<float> projected_hessian_;
  std::vector<float> leaf_values_;
  double total_rows_;  // of all workers
};

class TreeTrainer final : public LocalizerTrainer {
 public:
  TreeTrainer(std::shared_ptr<const XgboostLibrary> library, const TreeOptions& options, const TrainingContext& context)
      : library_(std::move(library)),
        options_(options),
        context_(context),
        parameters_(parameters_of(options)),
        sampling_(options) {
    parameters_.emplace_back("eta", "1");  // the values of leaves are ours
  }

  [[nodiscard]] std::string_view name() const override { return "trees"; }
  [[nodiscard]] std::string engine() const override { return "xgboost " + library_->version(); }
  [[nodiscard]] std::string settings() const override { return options_.to_string(); }
  [[nodiscard]] bool takes_categories() const override { return true; }

  [[nodiscard]] Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& objective,
                              const ProgressCallback& progress) const override {
    Forest forest = new_forest(rows, objective);
    Outputs check(holdout, forest.arrays());
    const auto goes_on = [&] {
      return forest.rounds() < options_.max_rounds && forest.rounds() < forest.best_rounds() + options_.patience;
    };
    const auto end_round = [&](const TreeArrays& tree, std::span<const float> values) {
      check.add(tree, values);
      forest.end_round(check.evaluate(objective, {}, {}, reducer()));
    };
    grow(rows, objective, forest, goes_on, end_round,
         [&] { report(progress, {"training trees", forest.rounds(), options_.max_rounds, forest.best_loss()}); });
    const std::size_t trees = forest.best_rounds() * forest.arrays().base.size();
    return {std::make_shared<const Trees>(internal::part_of(forest.arrays(), 0, trees)), forest.best_rounds(),
            forest.best_loss()};
  }

  [[nodiscard]] Trained retrain(const TrainingRows& rows, const Objective& objective, std::size_t iterations,
                                const ProgressCallback& progress) const override {
    const auto rounds =
        static_cast<std::size_t>(std::lround(options_.retrain_factor * static_cast<double>(iterations)));
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    Forest forest = new_forest(rows, objective);
    const auto goes_on = [&] { return forest.rounds() < rounds; };
    const auto end_round = [&](const TreeArrays& /*tree*/, std::span<const float> /*values*/) { forest.end_round(); };
    grow(rows, objective, forest, goes_on, end_round,
         [&] { report(progress, {"training trees on all rows", forest.rounds(), rounds, kNone}); });
    return {std::make_shared<const Trees>(forest.arrays()), rounds, kNone};
  }

 private:
  [[nodiscard]] const Reducer& reducer() const {
    return context_.communicator != nullptr ? static_cast<const Reducer&>(*context_.communicator) : single_;
  }

  [[nodiscard]] Forest new_forest(const TrainingRows& rows, const Objective& objective) const {
    return {rows.x.columns(), internal::first_outputs(rows.residuals, objective, reducer()), context_.checkpoint};
  }

  /// Add trees to the forest as long as goes_on(), each followed by end_round(tree, leaf values), with the other
  /// workers, and by report_round().
  void grow(const TrainingRows& rows, const Objective& objective, Forest& forest, const auto& goes_on,
            const auto& end_round, const auto& report_round) const {
    const TrainingThreads threads(options_.threads, rows.x);
    LocalizerRows training(library_, rows, context_, forest.arrays(), threads.count(), reducer());
    Parameters parameters = threads.added_to(parameters_);
    sampling_.add_to(parameters, rows.x.columns());
    TreeGrower grower(library_, training.matrix(), std::move(parameters));
    while (goes_on()) {
      collectively(context_, [&] {
        TreeArrays tree = training.grow(grower, objective, sampling_, options_, forest.rounds());
        add(tree, training.leaf_values(), forest);
        end_round(tree, training.leaf_values());
      });
      report_round();
    }
    forest.end();
  }

  /// Add a tree for every output, all of the same splits.
  static void add(TreeArrays& tree, std::span<const float> values, Forest& forest) {
    const std::size_t outputs = forest.arrays().base.size();
    std::vector<float> own(values.size() / outputs);
    for (std::size_t j = 0; j < outputs; ++j) {
      for (std::size_t leaf = 0; leaf < own.size(); ++leaf) own[leaf] = values[leaf * outputs + j];
      internal::set_leaf_values(tree, own);
      forest.add(tree, j);
    }
  }

  std::shared_ptr<const XgboostLibrary> library_;
  TreeOptions options_;
  TrainingContext context_;
  SingleWorker single_;
  Parameters parameters_;
  Sampling sampling_;
};

}  // namespace

std::unique_ptr<const LocalizerTrainer> make_tree_trainer(std::shared_ptr<const XgboostLibrary> library,
                                                          const TreeOptions& options, const TrainingContext& context) {
  return std::make_unique<TreeTrainer>(std::move(library), options, context);
}

}  // namespace widthwise
