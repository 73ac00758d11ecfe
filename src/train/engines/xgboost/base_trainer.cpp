#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/xgboost.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "train/engines/leaf_values.hpp"
#include "train/engines/xgboost/booster.hpp"
#include "train/engines/xgboost/forest.hpp"
#include "train/engines/xgboost/settings.hpp"
#include "train/engines/xgboost/tree_rows.hpp"

namespace widthwise {
namespace {

using internal::Chunk;
using internal::Chunks;
using internal::Forest;
using internal::LeafRows;
using internal::LeafValues;
using internal::Parameters;
using internal::Sampling;
using internal::TrainingMatrix;
using internal::TrainingThreads;
using internal::TreeGrower;
using internal::TreeRows;

/// Outcomes for training, in numbers near 1: single precision holds few digits of large ones.
struct ScaledOutcomes {
  float centre = 0;            ///< in single precision, like the first output of trees
  double unit = 1;             ///< a power of two, so that leaves are multiplied by it without rounding
  std::vector<double> values;  ///< (y - centre) / unit (n)

  ScaledOutcomes(std::span<const double> y, const Reducer& reducer) {
    double sums[] = {static_cast<double>(y.size()), std::accumulate(y.begin(), y.end(), 0.0)};
    reducer.sum(sums);
    centre = static_cast<float>(sums[1] / sums[0]);
    for (const double outcome : y) values.push_back(outcome - static_cast<double>(centre));
    double sizes = 0;
    for (const double value : values) sizes += std::abs(value) / sums[0];
    reducer.sum({&sizes, 1});
    unit = unit_near(sizes);
    for (double& value : values) value /= unit;
  }
};

/// The rows of one training, and the predictions of the trees so far.
class BaseRows {
 public:
  BaseRows(const std::shared_ptr<const XgboostLibrary>& library, const InputRows& rows, std::span<const double> y,
           const TrainingContext& context, const Reducer& reducer, std::size_t threads)
      : reducer_(reducer),
        rows_(library, rows, context, threads),
        outcomes_(y, reducer),
        weights_(weights_of_mean_one(rows, reducer)),
        threads_(threads),
        errors_(y.size()),
        gradient_(y.size()),
        hessian_(weights_) {}

  [[nodiscard]] const TrainingMatrix& matrix() const { return rows_.matrix(); }

  /// The best constant, in units.
  [[nodiscard]] float first_output(const LeafValues& values) {
    constexpr int kSteps = 30;
    double constant = 0;
    for (int step = 0; step < kSteps; ++step) {
      for (std::size_t i = 0; i < errors_.size(); ++i) errors_[i] = outcomes_.values[i] - constant;
      constant += values.of(leaf_rows(weights_), 1, reducer_).front();
    }
    // Rounded as in the final trees, which add to an outcome in single precision.
    return static_cast<float>(
        (static_cast<double>(in_outcomes(static_cast<float>(constant))) - static_cast<double>(outcomes_.centre)) /
        outcomes_.unit);
  }

  /// Draw the rows and columns of a round.
  void sample(const Sampling& sampling, std::size_t round) { rows_.sample(sampling, round, weights_, hessian_); }

  /// The next tree for a quantile, whose leaves are multiplied by `rate`. Adds it to the predictions f (n).
  [[nodiscard]] TreeArrays grow(TreeGrower& grower, const LeafValues& values, double probability, double rate,
                                std::span<float> f) {
    differentiate(probability, f);
    TreeArrays tree = rows_.grow(grower, gradient_, hessian_);
    std::vector<float> leaf_values;
    for (const double value : values.of(leaf_rows(hessian_), rows_.leaf_count(), reducer_)) {
      leaf_values.push_back(static_cast<float>(rate * value));
    }
    rows_.chunks().for_each([&](const Chunk& chunk) {
      for (std::size_t i = chunk.first; i < chunk.last; ++i) f[i] += leaf_values[rows_.leaves()[i]];
    });
    internal::set_leaf_values(tree, leaf_values);
    return tree;
  }

  /// The predictions of trees in units, by output.
  [[nodiscard]] std::vector<std::vector<float>> predictions(const Forest& forest) const {
    const std::size_t outputs = forest.arrays().base.size();
    const MatrixView x = rows_.x();
    std::vector<double> out(x.rows() * outputs);
    Trees(forest.arrays()).evaluate(x, {out.data(), x.rows(), outputs});
    std::vector<std::vector<float>> f(outputs);
    for (std::size_t i = 0; i < out.size(); ++i) f[i % outputs].push_back(static_cast<float>(out[i]));
    return f;
  }

  /// Trees in units as trees in outcomes.
  [[nodiscard]] TreeArrays in_outcomes(TreeArrays trees) const {
    for (float& base : trees.base) base = in_outcomes(base);
    for (std::size_t node = 0; node < trees.value.size(); ++node) {
      if (trees.feature[node] < 0) trees.value[node] *= static_cast<float>(outcomes_.unit);
    }
    return trees;
  }

 private:
  [[nodiscard]] float in_outcomes(float output) const {
    return static_cast<float>(static_cast<double>(outcomes_.centre) + outcomes_.unit * static_cast<double>(output));
  }

  /// Settings of trees count rows, so that weights have the mean 1.
  static std::vector<float> weights_of_mean_one(const InputRows& rows, const Reducer& reducer) {
    if (rows.weights.empty()) return std::vector<float>(rows.x.rows(), 1.0F);
    double sums[] = {static_cast<double>(rows.weights.size()),
                     std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0)};
    reducer.sum(sums);
    std::vector<float> weights;
    for (const double weight : rows.weights) {
      weights.push_back(internal::rounded_derivative(weight * sums[0] / sums[1]));
    }
    return weights;
  }

  [[nodiscard]] LeafRows leaf_rows(std::span<const float> weights) const {
    return {errors_, weights, rows_.leaves(), threads_};
  }

  /// Derivatives that choose the splits: those of w |e|^(3/2), between absolute and squared errors, with the
  /// probabilities of the quantile for the two signs of e. Their mean size is 1, because XGBoost leaves out splits of
  /// tiny gains.
  void differentiate(double probability, std::span<const float> f) {
    const double slopes[] = {1 - probability, -probability};  // of e <= 0 and e > 0
    const Chunks& chunks = rows_.chunks();
    std::vector<Sizes> sizes(chunks.count());
    chunks.for_each([&](const Chunk& chunk) {
      Sizes& sums = sizes[chunk.number];
      for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        errors_[i] = outcomes_.values[i] - static_cast<double>(f[i]);
        const auto weight = static_cast<double>(hessian_[i]);
        const double slope = weight * slopes[errors_[i] > 0 ? 1 : 0] * std::sqrt(std::abs(errors_[i]));
        gradient_[i] = static_cast<float>(slope);
        sums.weights += weight;
        sums.slopes += std::abs(slope);
      }
    });
    double sums[] = {0, 0};
    for (const Sizes& size : sizes) {
      sums[0] += size.weights;
      sums[1] += size.slopes;
    }
    reducer_.sum(sums);
    const double unit = sums[1] > 0 ? sums[0] / sums[1] : 1;
    chunks.for_each([&](const Chunk& chunk) {
      for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        gradient_[i] = internal::rounded_derivative(unit * static_cast<double>(gradient_[i]));
      }
    });
  }

  /// Sums of the weights and of the sizes of derivatives.
  struct Sizes {
    double weights = 0;
    double slopes = 0;
  };

  const Reducer& reducer_;
  TreeRows rows_;
  ScaledOutcomes outcomes_;
  std::vector<float> weights_;  // of mean 1
  std::size_t threads_;
  std::vector<double> errors_;
  std::vector<float> gradient_;
  std::vector<float> hessian_;  // weights, 0 for rows that are not in the sample
};

/// XGBoost chooses the splits of the trees, and LeafValues the values of their leaves.
class TreeBaseTrainer final : public BaseTrainer, public TrainingSteps {
 public:
  TreeBaseTrainer(std::shared_ptr<const XgboostLibrary> library, const TreeBaseOptions& options,
                  const TrainingContext& context)
      : library_(std::move(library)),
        options_(options),
        context_(context),
        parameters_(internal::parameters_of(options)),
        sampling_(options) {
    if (!(options.lower < options.upper || (options.lower == 0.5 && options.upper == 0.5))) {
      throw internal::make_error(
          ErrorCode::kInvalidArgument,
          "base model: expected a lower quantile below the upper one, or 0.5 for both, found {} and {}", options.lower,
          options.upper);
    }
    parameters_.emplace_back("eta", "1");  // the values of leaves are ours
    probabilities_.push_back(options.lower);
    if (options.lower < options.upper) probabilities_.push_back(options.upper);
    for (const double p : probabilities_) values_.emplace_back(p, options.smoothing, options.lambda);
  }

  [[nodiscard]] std::string_view name() const override { return outputs() == 1 ? "trees" : "quantiles"; }
  [[nodiscard]] std::size_t outputs() const override { return probabilities_.size(); }
  [[nodiscard]] std::string engine() const override { return "xgboost " + library_->version(); }
  [[nodiscard]] std::string settings() const override { return options_.to_string(); }
  [[nodiscard]] bool takes_categories() const override { return true; }
  [[nodiscard]] bool takes_weights() const override { return true; }
  [[nodiscard]] const TrainingSteps* steps() const override { return this; }

  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& rows, std::span<const double> y,
                                                         std::string_view stage,
                                                         const ProgressCallback& progress) const override {
    const TrainingThreads threads(options_.threads, rows.x);
    BaseRows training(library_, rows, y, context_, reducer(), threads.count());
    Parameters parameters = threads.added_to(parameters_);
    sampling_.add_to(parameters, rows.x.columns());
    std::vector<float> first;
    for (const LeafValues& values : values_) first.push_back(training.first_output(values));
    Forest forest(rows.x.columns(), std::move(first), context_.checkpoint);
    std::vector<std::vector<float>> f = training.predictions(forest);
    TreeGrower grower(library_, training.matrix(), std::move(parameters));
    while (forest.rounds() < options_.rounds) {
      internal::collectively(context_, [&] {
        training.sample(sampling_, forest.rounds());
        for (std::size_t j = 0; j < outputs(); ++j) {
          forest.add(training.grow(grower, values_[j], probabilities_[j], options_.learning_rate, f[j]), j);
        }
      });
      forest.end_round();
      report(progress, {stage, forest.rounds(), options_.rounds, std::numeric_limits<double>::quiet_NaN()});
    }
    forest.end();
    return std::make_shared<const Trees>(training.in_outcomes(forest.arrays()));
  }

  /// Pinball losses of the quantiles.
  [[nodiscard]] std::vector<double> losses(const RowFunction& model, const InputRows& rows,
                                           std::span<const double> y) const override {
    const TreeArrays& trees = dynamic_cast<const Trees&>(model).arrays();
    std::vector<double> losses(steps_of(trees.roots.size()), 0.0);
    std::vector<double> f(y.size() * outputs(), 0.0);
    std::vector<double> added(f.size());
    for (std::size_t step = 0; step < losses.size(); ++step) {
      const Trees part(internal::part_of(trees, step * trees_of(1), std::min(trees_of(step + 1), trees.roots.size())));
      part.evaluate(rows.x, {added.data(), y.size(), outputs()});
      for (std::size_t i = 0; i < f.size(); ++i) {
        f[i] += added[i];
        const double error = y[i / outputs()] - f[i];
        const double weight = rows.weights.empty() ? 1 : rows.weights[i / outputs()];
        losses[step] += weight * error * (probabilities_[i % outputs()] - (error > 0 ? 0 : 1));
      }
    }
    reducer().sum(losses);
    return losses;
  }

  [[nodiscard]] std::shared_ptr<const RowFunction> shortened(const RowFunction& model,
                                                             std::size_t steps) const override {
    const TreeArrays& trees = dynamic_cast<const Trees&>(model).arrays();
    return std::make_shared<const Trees>(internal::part_of(trees, 0, std::min(trees_of(steps), trees.roots.size())));
  }

  [[nodiscard]] std::unique_ptr<const BaseTrainer> trainer(std::size_t steps) const override {
    TreeBaseOptions options = options_;
    options.rounds = std::min(options.rounds, steps * kRoundsOfStep);
    return std::make_unique<TreeBaseTrainer>(library_, options, context_);
  }

 private:
  static constexpr std::size_t kRoundsOfStep = 25;

  [[nodiscard]] std::size_t trees_of(std::size_t steps) const { return steps * kRoundsOfStep * outputs(); }
  [[nodiscard]] std::size_t steps_of(std::size_t trees) const { return (trees + trees_of(1) - 1) / trees_of(1); }

  [[nodiscard]] const Reducer& reducer() const {
    return context_.communicator != nullptr ? static_cast<const Reducer&>(*context_.communicator) : single_;
  }

  std::shared_ptr<const XgboostLibrary> library_;
  TreeBaseOptions options_;
  TrainingContext context_;
  SingleWorker single_;
  Parameters parameters_;
  Sampling sampling_;
  std::vector<double> probabilities_;
  std::vector<LeafValues> values_;
};

}  // namespace

std::unique_ptr<const BaseTrainer> make_tree_base_trainer(std::shared_ptr<const XgboostLibrary> library,
                                                          const TreeBaseOptions& options,
                                                          const TrainingContext& context) {
  return std::make_unique<TreeBaseTrainer>(std::move(library), options, context);
}

}  // namespace widthwise
