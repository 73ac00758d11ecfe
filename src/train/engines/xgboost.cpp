#include <widthwise/train/xgboost.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/threads.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "objective/objectives.hpp"
#include "train/engines/first_outputs.hpp"
#include "train/engines/threads/waiting.hpp"
#include "train/engines/xgboost/bins.hpp"
#include "train/engines/xgboost/booster.hpp"

namespace widthwise {
namespace {

using internal::Bins;
using internal::Booster;
using internal::Parameters;
using internal::text_of;
using internal::TrainingMatrix;

/// The threads of one training.
class TrainingThreads {
 public:
  TrainingThreads(std::size_t requested, MatrixView x)
      : count_(training_threads(requested, x.rows(), x.columns())), waiting_(count_) {}

  [[nodiscard]] std::size_t count() const { return count_; }

  /// Add the threads to the parameters of a booster.
  [[nodiscard]] Parameters added_to(Parameters parameters) const {
    parameters.emplace_back("nthread", std::to_string(count_));
    return parameters;
  }

 private:
  std::size_t count_;
  internal::PassiveWaiting waiting_;
};

/// The random choices of one training. XGBoost's differ between its versions and depend on earlier trainings of the
/// process; these depend on the seed and the number of the round alone.
struct Sampling {
  double rows = 1;     ///< share of the rows of a round
  double columns = 1;  ///< share of its columns
  std::uint64_t seed = 0;

  /// The number of columns of a round.
  [[nodiscard]] std::size_t count(std::size_t all) const {
    return std::max(std::size_t{1}, static_cast<std::size_t>(columns * static_cast<double>(all)));
  }

  /// The generator of one purpose in one round.
  [[nodiscard]] Random random(std::size_t round, std::uint64_t purpose) const {
    return Random(mix_bits(mix_bits(seed) + round) + purpose);
  }
};

template <class Options>
Sampling sampling_of(const Options& options) {
  return {options.subsample, options.column_sample, options.seed};
}

template <class Options>
Parameters parameters_of(const Options& options) {
  Options::table().check(options);
  return {{"tree_method", "hist"},
          {"max_bin", std::to_string(Bins::kMost)},
          {"base_score", "0"},
          {"eta", text_of(options.learning_rate)},
          {"max_depth", std::to_string(options.max_depth)},
          {"min_child_weight", text_of(options.min_child_weight)},
          {"lambda", text_of(options.lambda)},
          {"verbosity", "0"},
          {"disable_default_eval_metric", "1"}};
}

/// Run a round with the other workers, if there are any.
template <class Round>
void collectively(const TrainingContext& context, const Round& round) {
  if (context.communicator != nullptr) {
    context.communicator->collectively(round);
  } else {
    round();
  }
}

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
      float_gradient_[i] = static_cast<float>(total_rows_ * gradient_[i]);
      float_hessian_[i] = static_cast<float>(std::max(total_rows_ * hessian_[i], kMinHessian));
    }
    sample_rows(sampling, round);
    sample_columns(sampling, round);
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
    if (sampling.rows >= 1) return;
    Random random = sampling.random(round, 1 + reducer_.rank());
    for (std::size_t i = 0; i < float_gradient_.size(); i += outputs_) {
      if (random.uniform() < sampling.rows) continue;
      std::fill_n(float_gradient_.begin() + static_cast<std::ptrdiff_t>(i), outputs_, 0.0F);
      std::fill_n(float_hessian_.begin() + static_cast<std::ptrdiff_t>(i), outputs_, 0.0F);
    }
  }

  /// XGBoost draws columns by their weights: those with a weight of 0 only if the others are too few.
  void sample_columns(const Sampling& sampling, std::size_t round) {
    const std::size_t count = sampling.count(columns_);
    if (count == columns_) return;
    std::vector<std::size_t> order(columns_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    sampling.random(round, 0).shuffle(std::span(order));
    std::vector<float> weights(columns_, 0.0F);
    for (std::size_t i = 0; i < count; ++i) weights[order[i]] = kChosen;
    matrix_.set_column_weights(weights);
  }

  // XGBoost replaces a weight of 0 by about 1e-6, which is nothing beside this one.
  static constexpr float kChosen = 1e9F;

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

/// Boosting of trees on the derivatives of an objective, with the settings of one trainer.
class Boosting {
 public:
  template <class Options>
  Boosting(std::shared_ptr<const XgboostLibrary> library, const Options& options, const TrainingContext& context)
      : library_(std::move(library)),
        parameters_(parameters_of(options)),
        sampling_(sampling_of(options)),
        context_(context) {}

  [[nodiscard]] std::string engine() const { return "xgboost " + library_->version(); }
  [[nodiscard]] const TrainingContext& context() const { return context_; }
  [[nodiscard]] const Sampling& sampling() const { return sampling_; }
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

  [[nodiscard]] Booster make_booster(const std::vector<const TrainingMatrix*>& matrices, std::size_t columns,
                                     std::size_t outputs, const TrainingThreads& threads) const {
    Parameters parameters = threads.added_to(parameters_);
    if (outputs > 1) parameters.emplace_back("num_target", std::to_string(outputs));
    const std::size_t count = sampling_.count(columns);
    if (count < columns) {
      const double share = (static_cast<double>(count) + 0.5) / static_cast<double>(columns);  // rounded down
      parameters.emplace_back("colsample_bytree", text_of(share));
    }
    return {library_, matrices, parameters};
  }

  /// Train a number of rounds on all rows. The trees add to `first`, one number per output.
  [[nodiscard]] TreeArrays train_rounds(const TrainingRows& rows, const Objective& objective,
                                        std::span<const float> first, std::size_t rounds,
                                        const TrainingThreads& threads, std::string_view stage,
                                        const ProgressCallback& progress) const {
    const Bins bins = bins_of(rows);
    ObjectiveRows fit = objective_rows(rows, bins, first, threads);
    Booster booster = make_booster({&fit.matrix()}, rows.x.columns(), first.size(), threads);
    Course course(booster, context_.checkpoint);
    const Position& at = course.position();
    while (at.round < rounds) {
      collectively(context_, [&] {
        fit.step(booster, objective, sampling_, at.round);
        course.end_round();
      });
      report(progress, {stage, at.round, rounds, std::numeric_limits<double>::quiet_NaN()});
    }
    course.end();
    return trees_of(booster, bins, rows.x.columns(), first, rounds);
  }

  static TreeArrays trees_of(const Booster& booster, const Bins& bins, std::size_t columns,
                             std::span<const float> first, std::size_t rounds) {
    TreeArrays arrays = booster.trees(columns, first.size(), rounds);
    bins.to_values(arrays);
    arrays.base.assign(first.begin(), first.end());
    return arrays;
  }

 private:
  std::shared_ptr<const XgboostLibrary> library_;
  Parameters parameters_;
  Sampling sampling_;
  TrainingContext context_;
  SingleWorker single_;
};

class TreeTrainer final : public LocalizerTrainer {
 public:
  TreeTrainer(std::shared_ptr<const XgboostLibrary> library, const TreeOptions& options, const TrainingContext& context)
      : boosting_(std::move(library), options, context), options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "trees"; }
  [[nodiscard]] std::string engine() const override { return boosting_.engine(); }
  [[nodiscard]] std::string settings() const override { return options_.to_string(); }
  [[nodiscard]] bool takes_categories() const override { return true; }

  [[nodiscard]] Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& objective,
                              const ProgressCallback& progress) const override {
    const std::vector<float> first = internal::first_outputs(rows.residuals, objective, boosting_.reducer());
    const TrainingThreads threads(options_.threads, rows.x);
    const Bins bins = boosting_.bins_of(rows);
    ObjectiveRows fit = boosting_.objective_rows(rows, bins, first, threads);
    ObjectiveRows check = boosting_.objective_rows(holdout, bins, first, threads);
    Booster booster = boosting_.make_booster({&fit.matrix(), &check.matrix()}, rows.x.columns(), first.size(), threads);
    Course course(booster, boosting_.context().checkpoint);
    const Position& at = course.position();
    while (at.round < options_.max_rounds && at.round < at.best_iterations + options_.patience) {
      collectively(boosting_.context(), [&] {
        fit.step(booster, objective, boosting_.sampling(), at.round);
        course.end_round(check.loss(booster, objective));
      });
      report(progress, {"training trees", at.round, options_.max_rounds, at.best});
    }
    course.end();
    auto trees =
        std::make_shared<const Trees>(Boosting::trees_of(booster, bins, rows.x.columns(), first, at.best_iterations));
    return {std::move(trees), at.best_iterations, at.best};
  }

  [[nodiscard]] Trained retrain(const TrainingRows& rows, const Objective& objective, std::size_t iterations,
                                const ProgressCallback& progress) const override {
    const std::vector<float> first = internal::first_outputs(rows.residuals, objective, boosting_.reducer());
    const auto rounds =
        static_cast<std::size_t>(std::lround(options_.retrain_factor * static_cast<double>(iterations)));
    const TrainingThreads threads(options_.threads, rows.x);
    auto trees = std::make_shared<const Trees>(
        boosting_.train_rounds(rows, objective, first, rounds, threads, "training trees on all rows", progress));
    return {std::move(trees), rounds, std::numeric_limits<double>::quiet_NaN()};
  }

 private:
  Boosting boosting_;
  TreeOptions options_;
};

/// Outcomes for training, in numbers near 1: single precision holds few digits of large ones.
struct ScaledOutcomes {
  float centre = 0;            ///< in single precision, like the first output of trees
  double unit = 1;             ///< a power of two, so that leaves are multiplied by it without rounding
  std::vector<double> values;  ///< (y - centre) / unit (n)

  ScaledOutcomes(std::span<const double> y, const Reducer& reducer) {
    const auto n = static_cast<double>(y.size());
    double sums[] = {n, std::accumulate(y.begin(), y.end(), 0.0)};
    reducer.sum(sums);
    centre = static_cast<float>(sums[1] / sums[0]);
    for (const double outcome : y) values.push_back(outcome - static_cast<double>(centre));
    double sizes = 0;
    for (const double value : values) sizes += std::abs(value) / sums[0];
    reducer.sum({&sizes, 1});
    unit = unit_near(sizes);
    for (double& value : values) value /= unit;
  }

  /// Outputs in units of the outcomes, which single precision may round.
  [[nodiscard]] std::vector<float> outcomes_of(std::span<const float> outputs) const {
    std::vector<float> outcomes;
    for (const float output : outputs) {
      outcomes.push_back(static_cast<float>(static_cast<double>(centre) + unit * static_cast<double>(output)));
    }
    return outcomes;
  }

  /// The inverse of outcomes_of.
  [[nodiscard]] std::vector<float> outputs_of(std::span<const float> outcomes) const {
    std::vector<float> outputs;
    for (const float outcome : outcomes) {
      outputs.push_back(static_cast<float>((static_cast<double>(outcome) - static_cast<double>(centre)) / unit));
    }
    return outputs;
  }

  /// Trees that add to `first`, in units of the outcomes.
  [[nodiscard]] TreeArrays trees_of(TreeArrays arrays, std::vector<float> first) const {
    arrays.base = std::move(first);
    for (std::size_t node = 0; node < arrays.value.size(); ++node) {
      if (arrays.feature[node] < 0) arrays.value[node] *= static_cast<float>(unit);
    }
    return arrays;
  }
};

class TreeBaseTrainer final : public BaseTrainer {
 public:
  TreeBaseTrainer(std::shared_ptr<const XgboostLibrary> library, const TreeBaseOptions& options,
                  const TrainingContext& context)
      : boosting_(std::move(library), options, context), options_(options) {
    if (!(options.lower < options.upper || (options.lower == 0.5 && options.upper == 0.5))) {
      throw internal::make_error(
          ErrorCode::kInvalidArgument,
          "base model: expected a lower quantile below the upper one, or 0.5 for both, found {} and {}", options.lower,
          options.upper);
    }
    std::vector<double> probabilities{options.lower};
    if (options.lower < options.upper) probabilities.push_back(options.upper);
    objective_ = internal::make_quantile_objective(std::move(probabilities), options.smoothing);
  }

  [[nodiscard]] std::string_view name() const override { return outputs() == 1 ? "trees" : "quantiles"; }
  [[nodiscard]] std::size_t outputs() const override { return objective_->parameter_count(); }
  [[nodiscard]] std::string engine() const override { return boosting_.engine(); }
  [[nodiscard]] std::string settings() const override { return options_.to_string(); }
  [[nodiscard]] bool takes_categories() const override { return true; }
  [[nodiscard]] bool takes_weights() const override { return true; }

  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& rows, std::span<const double> y,
                                                         std::string_view stage,
                                                         const ProgressCallback& progress) const override {
    const ScaledOutcomes outcomes(y, boosting_.reducer());
    const TrainingRows scaled{rows.x, {outcomes.values, rows.weights}, rows.categorical};
    const std::vector<float> first =
        outcomes.outcomes_of(internal::first_outputs(scaled.residuals, *objective_, boosting_.reducer()));
    const TrainingThreads threads(options_.threads, rows.x);
    TreeArrays arrays = boosting_.train_rounds(scaled, *objective_, outcomes.outputs_of(first), options_.rounds,
                                               threads, stage, progress);
    return std::make_shared<const Trees>(outcomes.trees_of(std::move(arrays), first));
  }

 private:
  Boosting boosting_;
  TreeBaseOptions options_;
  std::unique_ptr<const Objective> objective_;
};

}  // namespace

std::unique_ptr<const LocalizerTrainer> make_tree_trainer(std::shared_ptr<const XgboostLibrary> library,
                                                          const TreeOptions& options, const TrainingContext& context) {
  return std::make_unique<TreeTrainer>(std::move(library), options, context);
}

std::unique_ptr<const BaseTrainer> make_tree_base_trainer(std::shared_ptr<const XgboostLibrary> library,
                                                          const TreeBaseOptions& options,
                                                          const TrainingContext& context) {
  return std::make_unique<TreeBaseTrainer>(std::move(library), options, context);
}

}  // namespace widthwise
