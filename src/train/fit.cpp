#include <widthwise/train/fit.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/cross_fit.hpp>
#include <widthwise/transform.hpp>
#include <widthwise/version.hpp>

#include "text.hpp"
#include "train/fit/goal_report.hpp"
#include "train/fit/residual_quantiles.hpp"

namespace widthwise {
namespace {

using internal::text_of;

/// Random choices of one fit are independent of each other: each has its own stream of the seed.
enum class Stream : std::uint64_t { kSplit = 1, kFolds, kHold, kReport };

std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return mix_bits(seed ^ mix_bits(static_cast<std::uint64_t>(stream)));
}

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  random.shuffle(std::span(order));
  return order;
}

std::size_t share_of(double share, std::size_t n) {
  return static_cast<std::size_t>(std::lround(share * static_cast<double>(n)));
}

/// Rows taken from a matrix, with room for one more column.
class Rows {
 public:
  Rows(MatrixView x, std::span<const std::size_t> rows)
      : count_(rows.size()), columns_(x.columns()), values_(rows.size() * (x.columns() + 1)) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(x.row(rows[i]).data(), columns_, values_.data() + i * (columns_ + 1));
    }
  }

  void set_last(std::span<const double> values) {
    for (std::size_t i = 0; i < count_; ++i) values_[i * (columns_ + 1) + columns_] = values[i];
  }

  /// Without the last column.
  [[nodiscard]] MatrixView features() const { return {values_.data(), count_, columns_, columns_ + 1}; }
  /// With it.
  [[nodiscard]] MatrixView all() const { return {values_.data(), count_, columns_ + 1}; }

 private:
  std::size_t count_;
  std::size_t columns_;
  std::vector<double> values_;
};

std::vector<double> taken(std::span<const double> values, std::span<const std::size_t> rows) {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const std::size_t row : rows) out.push_back(values[row]);
  return out;
}

void check_finite(std::span<const double> values, const std::string& name) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw Error(ErrorCode::kNotFinite, "fit: row " + std::to_string(i) + " of '" + name + "' is " + text_of(values[i]) +
                                           "; drop the rows without a value there");
  }
}

void check_table(const FitTable& table, const BaseTrainer* base, const FitOptions& options, bool trains) {
  const std::size_t n = table.x.rows();
  if (table.y.size() != n || (!table.predictions.empty() && table.predictions.size() != n)) {
    throw Error(ErrorCode::kShapeMismatch, "fit: " + std::to_string(n) + " rows of x, " +
                                               std::to_string(table.y.size()) + " of y, " +
                                               std::to_string(table.predictions.size()) + " of predictions");
  }
  if (table.features.size() != table.x.columns()) {
    throw Error(ErrorCode::kShapeMismatch, "fit: " + std::to_string(table.x.columns()) + " columns of x but " +
                                               std::to_string(table.features.size()) + " names");
  }
  if (table.predictions.empty() && base == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "fit: neither predictions nor a base model to make them");
  }
  if (!(options.calibration_share >= 0 && options.calibration_share < 1)) {
    throw Error(ErrorCode::kInvalidArgument,
                "fit: calibration_share is " + text_of(options.calibration_share) + ", expected 0 to less than 1");
  }
  if (!(options.hold_share > 0 && options.hold_share < 1)) {
    throw Error(ErrorCode::kInvalidArgument,
                "fit: hold_share is " + text_of(options.hold_share) + ", expected between 0 and 1");
  }
  if (options.levels.empty()) throw Error(ErrorCode::kInvalidArgument, "fit: no level given");
  const std::size_t least_rows = trains ? 20 : 2;
  if (n < least_rows) {
    throw Error(ErrorCode::kTooFewRows, "fit: " + std::to_string(n) + " rows; at least " + std::to_string(least_rows) +
                                            " are needed" + (trains ? ", or 2 with the transform identity" : ""));
  }
  check_finite(table.y, table.target);
  check_finite(table.predictions, table.prediction);
}

/// The fitting rows, in units, and what is made of them for each goal.
class Fitting {
 public:
  Fitting(const Rows& rows, std::span<const double> y, std::span<const double> predictions, double unit,
          const FitOptions& options, const LocalizerTrainer* trainer, const ProgressCallback& progress)
      : options_(options), trainer_(trainer), progress_(progress), all_(rows.all()) {
    const std::size_t n = y.size();
    for (std::size_t i = 0; i < n; ++i) residuals_.push_back((y[i] - predictions[i]) / unit);
    const auto order = shuffled(n, stream_seed(options.seed, Stream::kHold));
    const std::size_t hold = std::clamp<std::size_t>(share_of(options.hold_share, n), 1, n - 1);
    const std::span hold_rows(order.data(), hold);
    const std::span train_rows(order.data() + hold, n - hold);
    hold_x_ = matrix_of(hold_rows);
    train_x_ = matrix_of(train_rows);
    hold_residuals_ = taken(residuals_, hold_rows);
    train_residuals_ = taken(residuals_, train_rows);
    for (const std::size_t row : hold_rows) {
      hold_predictions_.push_back(predictions[row] / unit);
      hold_outcomes_.push_back(y[row] / unit);
    }
    slab_features_ = standardised(rows.features());
    const std::size_t columns = rows.features().columns();
    std::vector<double> hold_features;
    for (const std::size_t row : hold_rows) {
      hold_features.insert(hold_features.end(), slab_features_.data() + row * columns,
                           slab_features_.data() + (row + 1) * columns);
    }
    slab_features_ = std::move(hold_features);
    unit_ = unit;
  }

  [[nodiscard]] std::size_t hold_rows() const { return hold_residuals_.size(); }

  /// Train for a plan without the hold-out, and say what it gives there.
  [[nodiscard]] std::pair<GoalReport, Trained> try_out(const GoalPlan& plan) const {
    Trained trained;
    const std::size_t columns = all_.columns();
    const std::size_t n = hold_rows();
    const ConformalRule rule = plan.rule;
    std::vector<double> parameters(n * rule.parameter_count());
    if (plan.objective != nullptr) {
      trained = trainer_->train({{train_x_.data(), train_residuals_.size(), columns}, {train_residuals_, {}}},
                                {{hold_x_.data(), n, columns}, {hold_residuals_, {}}}, *plan.objective, progress_);
      trained.function->evaluate({hold_x_.data(), n, columns}, {parameters.data(), n, rule.parameter_count()});
    }
    const internal::HoldOut hold{{hold_predictions_, {parameters.data(), n, rule.parameter_count()}},
                                 hold_outcomes_,
                                 {slab_features_.data(), n, columns - 1}};
    GoalReport report = internal::measure_goal(rule, hold, options_.levels.front(),
                                               {options_.range.low / unit_, options_.range.high / unit_}, unit_,
                                               stream_seed(options_.seed, Stream::kReport));
    report.goal = plan.objective == nullptr ? "fixed" : plan.goal.text();
    report.transform = plan.rule.transform().name();
    report.length = trained.length;
    return {report, std::move(trained)};
  }

  /// Train for a plan on all rows, as long as `trained` was.
  [[nodiscard]] std::shared_ptr<const RowFunction> finish(const GoalPlan& plan, const Trained& trained) const {
    if (plan.objective == nullptr) return nullptr;
    return trainer_->retrain({all_, {residuals_, {}}}, *plan.objective, trained.length, progress_).function;
  }

 private:
  [[nodiscard]] std::vector<double> matrix_of(std::span<const std::size_t> rows) const {
    std::vector<double> out;
    out.reserve(rows.size() * all_.columns());
    for (const std::size_t row : rows) out.insert(out.end(), all_.row(row).begin(), all_.row(row).end());
    return out;
  }

  const FitOptions& options_;
  const LocalizerTrainer* trainer_;
  const ProgressCallback& progress_;
  MatrixView all_;
  double unit_ = 1;
  std::vector<double> residuals_;
  std::vector<double> train_x_;
  std::vector<double> train_residuals_;
  std::vector<double> hold_x_;
  std::vector<double> hold_residuals_;
  std::vector<double> hold_predictions_;
  std::vector<double> hold_outcomes_;
  std::vector<double> slab_features_;
};

std::optional<LevelWindow> window_for(const Goal& goal, const FitOptions& options) {
  if (options.window || !goal.is_narrow()) return options.window;
  return LevelWindow::around(options.levels);
}

GoalPlan plan_with(const FitOptions& options, const std::optional<Goal>& goal, const std::string& transform,
                   Sides sides) {
  const GoalPlan plan = plan_goal(goal, transform, sides, options.window);
  // Which goal is served shows when it is planned: a transform may have no other than narrow.
  return plan_goal(goal, transform, sides, window_for(plan.goal, options));
}

/// By how much the loss over the hold-out must fall for two sides to be worth their parameters: what differs by chance
/// falls with the root of the rows.
double least_gain(std::size_t hold_rows) { return 0.35 / std::sqrt(static_cast<double>(hold_rows)); }

std::map<std::string, std::string> notes_of(const GoalPlan& plan, const BaseTrainer* base,
                                            const LocalizerTrainer* localizer, const FitOptions& options) {
  const auto window = window_for(plan.goal, options);
  std::map<std::string, std::string> notes{{"goal", plan.goal.text()}, {"seed", std::to_string(options.seed)}};
  if (base != nullptr) {
    notes["base"] = std::string(base->name());
    notes["base_engine"] = base->engine();
    notes["folds"] = std::to_string(options.folds);
  }
  if (plan.objective != nullptr) {
    notes["localizer"] = std::string(localizer->name());
    notes["localizer_engine"] = localizer->engine();
    if (window && window->outside < 1) {
      notes["window"] = window->lower.text() + ".." + window->upper.text();
      if (window->outside > 0) notes["outside_window"] = text_of(window->outside);
    }
  }
  return notes;
}

}  // namespace

// --- Goal
// ------------------------------------------------------------------------------------------------------------------

Goal Goal::evenness(double value) {
  if (!(value >= 0 && value <= 1)) {
    throw Error(ErrorCode::kInvalidArgument, "goal: an evenness of " + text_of(value) + "; expected 0 to 1");
  }
  return Goal(value, text_of(value));
}

Goal Goal::parse(std::string_view text) {
  if (text == "even") return even();
  if (text == "narrow") return narrow();
  const auto value = internal::read_whole<double>(text);
  if (!value) {
    throw Error(ErrorCode::kInvalidArgument,
                "goal: '" + std::string(text) + "' is not even, narrow or a number from 0 to 1");
  }
  return evenness(*value);
}

// --- GoalPlan
// --------------------------------------------------------------------------------------------------------------

GoalPlan plan_goal(const std::optional<Goal>& goal, const std::string& transform, Sides sides,
                   const std::optional<LevelWindow>& window) {
  const bool automatic = transform == "auto";
  const Goal wish = goal.value_or(Goal::by_default());
  const std::shared_ptr<const Transform> phi =
      make_transform(automatic ? (wish.is_narrow() ? "affine" : "exp") : transform);
  const ConformalRule rule(phi, Score::kAbsolute, sides);
  if (phi->parameter_count() == 0) return {wish, rule, nullptr};
  const AffineForm* form = phi->affine_form();
  const bool has_evenness = form != nullptr && !form->has_offset();
  if (!has_evenness && goal && !goal->is_narrow()) {
    throw Error(ErrorCode::kInvalidArgument, "fit: the transform " + std::string(phi->name()) +
                                                 " is for the goal narrow; for " + goal->text() +
                                                 " leave the transform out, or use exp");
  }
  const Goal served = has_evenness ? wish : Goal::narrow();
  WidthOptions width;
  width.sides = sides;
  width.evenness = has_evenness ? served.evenness() : 0;
  if (window && window->outside < 1) width.window = window;
  return {served, rule, make_width_objective(phi, Score::kAbsolute, width)};
}

double unit_near(double typical_residual) {
  if (!(typical_residual > 0)) return 1;
  return std::exp2(std::clamp(std::round(std::log2(typical_residual)), -500.0, 500.0));
}

// --- fit
// -------------------------------------------------------------------------------------------------------------------

FitResult fit(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
              const FitOptions& options, const ProgressCallback& progress) {
  const Sides sides = options.sides.value_or(Sides::kOne);
  GoalPlan plan = plan_with(options, options.goal, options.transform, sides);
  check_table(table, base, options, plan.objective != nullptr);
  if (plan.objective != nullptr && localizer == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "fit: the transform " + std::string(plan.rule.transform().name()) +
                                                 " needs a trainer for its localizer");
  }
  if (!table.predictions.empty()) base = nullptr;

  // Calibration rows are put aside before anything is fitted.
  const std::size_t n = table.x.rows();
  const auto order = shuffled(n, stream_seed(options.seed, Stream::kSplit));
  const std::size_t calibration_rows = share_of(options.calibration_share, n);
  const std::span calibration_part(order.data(), calibration_rows);
  const std::span fit_part(order.data() + calibration_rows, n - calibration_rows);

  Rows rows(table.x, fit_part);
  const std::vector<double> y = taken(table.y, fit_part);
  std::vector<double> predictions(fit_part.size());
  std::shared_ptr<const RowFunction> base_model;
  if (base != nullptr) {
    cross_fit(*base, rows.features(), y, options.folds, stream_seed(options.seed, Stream::kFolds), predictions,
              progress);
    base_model = base->train(rows.features(), y, "base model", progress);
  } else {
    predictions = taken(table.predictions, fit_part);
  }
  rows.set_last(predictions);

  FitReport report;
  report.fit_rows = fit_part.size();
  report.calibration_rows = calibration_rows;
  std::vector<double> residuals;
  for (std::size_t i = 0; i < y.size(); ++i) {
    residuals.push_back(y[i] - predictions[i]);
    report.base_error += std::abs(residuals.back()) / static_cast<double>(y.size());
  }
  if (report.base_error == 0) {
    if (base == nullptr && !options.may_be_exact) {
      throw Error(ErrorCode::kInvalidArgument,
                  "fit: every prediction equals the outcome; give predictions made without looking at it");
    }
    plan = plan_with(options, options.goal, "identity", sides);
    report.warnings.emplace_back("every prediction equals the outcome, so there is no error to learn from");
  }
  const double unit = unit_near(report.base_error);

  const Fitting fitting(rows, y, predictions, unit, options, localizer, progress);
  report.hold_rows = fitting.hold_rows();
  auto [chosen, trained] = fitting.try_out(plan);
  // A root-finder for every row (mixture) is too slow to train twice.
  if (!options.sides && plan.objective != nullptr && plan.goal.is_narrow() &&
      plan.rule.transform().affine_form() != nullptr) {
    GoalPlan two = plan_with(options, options.goal, options.transform, Sides::kTwo);
    auto [report_of_two, trained_two] = fitting.try_out(two);
    if (trained_two.loss < trained.loss - least_gain(fitting.hold_rows())) {
      plan = std::move(two);
      chosen = std::move(report_of_two);
      trained = std::move(trained_two);
    }
  }
  report.chosen = std::move(chosen);
  report.fixed = fitting.try_out(plan_with(options, options.goal, "identity", sides)).first;
  if (options.compare && plan.objective != nullptr) {
    const Goal other = plan.goal.is_narrow() ? Goal::even() : Goal::narrow();
    report.other = fitting.try_out(plan_with(options, other, "auto", sides)).first;
  }

  const Model uncalibrated(ModelParts{.features = table.features,
                                      .target = table.target,
                                      .prediction = base_model != nullptr ? "" : table.prediction,
                                      .base = base_model,
                                      .localizer = fitting.finish(plan, trained),
                                      .rule = plan.rule,
                                      .unit = unit,
                                      .range = options.range,
                                      .levels = options.levels,
                                      .calibration = {},
                                      .fit_residuals = internal::residual_quantiles(residuals),
                                      .fit_rows = fit_part.size(),
                                      .notes = notes_of(plan, base, localizer, options)});

  const Rows calibration_x(table.x, calibration_part);
  const std::vector<double> calibration_y = taken(table.y, calibration_part);
  std::vector<double> calibration_predictions(calibration_rows);
  if (base_model == nullptr) calibration_predictions = taken(table.predictions, calibration_part);
  const ModelRows model_rows{calibration_x.features(),
                             base_model != nullptr ? std::span<const double>() : calibration_predictions};
  std::vector<double> scores(calibration_rows);
  uncalibrated.scores(model_rows, calibration_y, scores);
  if (base_model != nullptr) uncalibrated.predictions(model_rows, calibration_predictions);
  Calibration calibration(Calibration::Options{.seed = options.seed});
  for (std::size_t i = 0; i < calibration_rows; ++i) {
    calibration.add(table.first_row + calibration_part[i],
                    {.score = scores[i], .above = calibration_y[i] > calibration_predictions[i]});
    calibration_predictions[i] = calibration_y[i] - calibration_predictions[i];
  }
  if (check_in_sample(uncalibrated, calibration_predictions).suspicious()) {
    report.warnings.emplace_back(
        "the residuals of the fitting rows are smaller than those of the calibration rows by more than chance allows: "
        "were the predictions made by a model that had seen some of these rows? Intervals stay valid, but narrower and "
        "more even ones are possible with out-of-sample predictions");
  }
  return {uncalibrated.with_calibration(std::move(calibration)), std::move(report)};
}

}  // namespace widthwise
