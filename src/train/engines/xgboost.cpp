#include <widthwise/train/xgboost.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/random.hpp>

#include "base/text.hpp"
#include "train/engines/first_outputs.hpp"
#include "train/engines/xgboost/bins.hpp"
#include "train/engines/xgboost/booster.hpp"
#include "train/engines/xgboost/settings.hpp"

namespace widthwise {
namespace {

using internal::Bins;
using internal::Booster;
using internal::collectively;
using internal::Parameters;
using internal::parameters_of;
using internal::Sampling;
using internal::text_of;
using internal::TrainingMatrix;
using internal::TrainingThreads;

/// The progress of a training, in addition to the booster state.
struct Position {
  std::uint64_t round = 0;  ///< rounds done
  std::uint64_t best_iterations = 0;
  double best = std::numeric_limits<double>::infinity();
};

/// The rounds of a booster. They start from the checkpoint, which is updated at intervals. A resumed booster gives the
/// same result as an uninterrupted one.
class Course {
 public:
  Course(Booster& booster, Checkpoint* checkpoint) : booster_(booster), checkpoint_(checkpoint) {
    if (checkpoint_ == nullptr) return;
    const std::span<const std::byte> state = checkpoint_->begin();
    if (state.size() <= sizeof(Position)) return;
    std::memcpy(&position_, state.data(), sizeof(Position));
    try {
      booster_.load(state.subspan(sizeof(Position)));
    } catch (const Error& error) {
      checkpoint_->refuse(std::string("XGBoost cannot load it: ") + error.what());
    }
  }

  [[nodiscard]] const Position& position() const { return position_; }

  void end_round() {
    ++position_.round;
    if (checkpoint_ != nullptr && position_.round % kStretch == 0 && checkpoint_->due()) keep(booster_.save());
  }
  void end_round(double loss) {
    if (loss < position_.best) {
      position_.best = loss;
      position_.best_iterations = position_.round + 1;
    }
    end_round();
  }

  /// Store the state after the last round.
  void end() {
    if (checkpoint_ != nullptr) keep(booster_.save());
  }

 private:
  static constexpr std::uint64_t kStretch = 100;  // rounds between looks at the clock

  void keep(const std::vector<std::byte>& learnt) {
    std::vector<std::byte> state(sizeof(Position));
    std::memcpy(state.data(), &position_, sizeof(Position));
    state.insert(state.end(), learnt.begin(), learnt.end());
    checkpoint_->keep(std::move(state));
  }

  Booster& booster_;
  Checkpoint* checkpoint_;
  Position position_;
};

/// Rows with the memory to evaluate the objective on them.
class ObjectiveRows {
 public:
  /// The outputs of the booster are added to `first` (one per output).
  ObjectiveRows(const std::shared_ptr<const XgboostLibrary>& library, const TrainingRows& rows, const Bins& bins,
                std::span<const float> first, std::size_t threads, const Reducer& reducer)
      : matrix_(binned(library, rows, bins, threads)),
        rows_(rows.residuals),
        columns_(rows.x.columns()),
        first_(first),
        outputs_(first.size()),
        reducer_(reducer),
        total_rows_(static_cast<double>(rows.x.rows())) {
    // XGBoost infers the number of outputs from the labels, which are not used otherwise.
    matrix_.set_labels(std::vector<double>(rows.x.rows(), 0.0));
    reducer.sum({&total_rows_, 1});
  }

  [[nodiscard]] const TrainingMatrix& matrix() const { return matrix_; }

  /// The loss of the outputs of the booster on these rows.
  double loss(const Booster& booster, const Objective& objective) {
    read_margins(booster, false);
    return objective.evaluate(rows_, {parameters_.data(), matrix_.rows(), outputs_}, {}, {}, workspace_, reducer_);
  }

  /// Train one round on the derivatives of the objective, of a sample of rows and columns.
  void step(Booster& booster, const Objective& objective, const Sampling& sampling, std::size_t round) {
    read_margins(booster, true);
    const std::size_t n = matrix_.rows();
    gradient_.resize(n * outputs_);
    hessian_.resize(n * outputs_);
    objective.evaluate(rows_, {parameters_.data(), n, outputs_}, {gradient_.data(), n, outputs_},
                       {hessian_.data(), n, outputs_}, workspace_, reducer_);
    // XGBoost's settings assume a loss that is a sum over rows; this one is a mean.
    float_gradient_.resize(n * outputs_);
    float_hessian_.resize(n * outputs_);
    for (std::size_t i = 0; i < gradient_.size(); ++i) {
      float_gradient_[i] = internal::rounded_derivative(total_rows_ * gradient_[i]);
      float_hessian_[i] = internal::rounded_derivative(std::max(total_rows_ * hessian_[i], kMinHessian));
    }
    sample_rows(sampling, round);
    matrix_.set_column_weights(sampling.column_weights(round, columns_));
    booster.update(matrix_, round, float_gradient_, float_hessian_, outputs_);
  }

 private:
  // Leaves divide by sums of Hessians, so tiny Hessians would make extreme leaves.
  static constexpr double kMinHessian = 1e-3;

  static TrainingMatrix binned(const std::shared_ptr<const XgboostLibrary>& library, const TrainingRows& rows,
                               const Bins& bins, std::size_t threads) {
    const std::vector<float> numbers = bins.numbers(rows.x);
    return {library, {numbers.data(), rows.x.rows(), rows.x.columns()}, rows.categorical, threads};
  }

  /// Rows that are left out have derivatives of 0.
  void sample_rows(const Sampling& sampling, std::size_t round) {
    if (sampling.row_share() >= 1) return;
    Random random = sampling.of_rows(round, reducer_.rank());
    for (std::size_t i = 0; i < float_gradient_.size(); i += outputs_) {
      if (random.uniform() < sampling.row_share()) continue;
      std::fill_n(float_gradient_.begin() + static_cast<std::ptrdiff_t>(i), outputs_, 0.0F);
      std::fill_n(float_hessian_.begin() + static_cast<std::ptrdiff_t>(i), outputs_, 0.0F);
    }
  }

  void read_margins(const Booster& booster, bool training) {
    const auto margins = booster.margins(matrix_, training);
    parameters_.resize(margins.size());
    for (std::size_t i = 0; i < margins.size(); ++i) {
      parameters_[i] = static_cast<double>(first_[i % outputs_] + margins[i]);
    }
  }

  TrainingMatrix matrix_;
  ResidualRows rows_;
  std::size_t columns_;
  std::span<const float> first_;
  std::size_t outputs_;
  const Reducer& reducer_;
  double total_rows_;  // of all workers
  Workspace workspace_;
  std::vector<double> parameters_;
  std::vector<double> gradient_;
  std::vector<double> hessian_;
  std::vector<float> float_gradient_;
  std::vector<float> float_hessian_;
};

class TreeTrainer final : public LocalizerTrainer {
 public:
  TreeTrainer(std::shared_ptr<const XgboostLibrary> library, const TreeOptions& options, const TrainingContext& context)
      : library_(std::move(library)),
        options_(options),
        context_(context),
        parameters_(parameters_of(options)),
        sampling_(options) {
    parameters_.emplace_back("eta", text_of(options.learning_rate));
  }

  [[nodiscard]] std::string_view name() const override { return "trees"; }
  [[nodiscard]] std::string engine() const override { return "xgboost " + library_->version(); }
  [[nodiscard]] std::string settings() const override { return options_.to_string(); }
  [[nodiscard]] bool takes_categories() const override { return true; }

  [[nodiscard]] Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& objective,
                              const ProgressCallback& progress) const override {
    const std::vector<float> first = internal::first_outputs(rows.residuals, objective, reducer());
    const TrainingThreads threads(options_.threads, rows.x);
    const Bins bins = bins_of(rows);
    ObjectiveRows fit = objective_rows(rows, bins, first, threads);
    ObjectiveRows check = objective_rows(holdout, bins, first, threads);
    Booster booster = make_booster({&fit.matrix(), &check.matrix()}, rows, first.size(), threads);
    Course course(booster, context_.checkpoint);
    const Position& at = course.position();
    while (at.round < options_.max_rounds && at.round < at.best_iterations + options_.patience) {
      collectively(context_, [&] {
        fit.step(booster, objective, sampling_, at.round);
        course.end_round(check.loss(booster, objective));
      });
      report(progress, {"training trees", at.round, options_.max_rounds, at.best});
    }
    course.end();
    return {trees_of(booster, rows, bins, first, at.best_iterations), at.best_iterations, at.best};
  }

  [[nodiscard]] Trained retrain(const TrainingRows& rows, const Objective& objective, std::size_t iterations,
                                const ProgressCallback& progress) const override {
    const std::vector<float> first = internal::first_outputs(rows.residuals, objective, reducer());
    const auto rounds =
        static_cast<std::size_t>(std::lround(options_.retrain_factor * static_cast<double>(iterations)));
    const TrainingThreads threads(options_.threads, rows.x);
    const Bins bins = bins_of(rows);
    ObjectiveRows fit = objective_rows(rows, bins, first, threads);
    Booster booster = make_booster({&fit.matrix()}, rows, first.size(), threads);
    Course course(booster, context_.checkpoint);
    const Position& at = course.position();
    while (at.round < rounds) {
      collectively(context_, [&] {
        fit.step(booster, objective, sampling_, at.round);
        course.end_round();
      });
      report(progress, {"training trees on all rows", at.round, rounds, std::numeric_limits<double>::quiet_NaN()});
    }
    course.end();
    return {trees_of(booster, rows, bins, first, rounds), rounds, std::numeric_limits<double>::quiet_NaN()};
  }

 private:
  [[nodiscard]] const Reducer& reducer() const {
    return context_.communicator != nullptr ? static_cast<const Reducer&>(*context_.communicator) : single_;
  }

  [[nodiscard]] Bins bins_of(const TrainingRows& rows) const {
    return {InputRows(rows.x, rows.categorical), context_.communicator};
  }

  [[nodiscard]] ObjectiveRows objective_rows(const TrainingRows& rows, const Bins& bins, std::span<const float> first,
                                             const TrainingThreads& threads) const {
    return {library_, rows, bins, first, threads.count(), reducer()};
  }

  [[nodiscard]] Booster make_booster(const std::vector<const TrainingMatrix*>& matrices, const TrainingRows& rows,
                                     std::size_t outputs, const TrainingThreads& threads) const {
    Parameters parameters = threads.added_to(parameters_);
    if (outputs > 1) parameters.emplace_back("num_target", std::to_string(outputs));
    sampling_.add_to(parameters, rows.x.columns());
    return {library_, matrices, parameters};
  }

  static std::shared_ptr<const Trees> trees_of(const Booster& booster, const TrainingRows& rows, const Bins& bins,
                                               const std::vector<float>& first, std::size_t rounds) {
    TreeArrays arrays = booster.trees(rows.x.columns(), first.size(), rounds);
    bins.to_values(arrays);
    arrays.base = first;
    return std::make_shared<const Trees>(std::move(arrays));
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
