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

#include "predictor/outcomes_outside.hpp"
#include "printable.hpp"
#include "text.hpp"
#include "train/cross_fit/dealt.hpp"
#include "train/fit/dealer.hpp"
#include "train/fit/goal_report.hpp"
#include "train/fit/residual_quantiles.hpp"

namespace widthwise {
namespace {

using internal::Dealer;
using internal::text_of;

/// Random choices of one fit are independent of each other: each has its own stream of the seed.
enum class Stream : std::uint64_t { kSplit = 1, kFolds, kHold, kReport };

std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return mix_bits(seed ^ mix_bits(static_cast<std::uint64_t>(stream)));
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
                                           "; expected a finite number; drop such rows");
  }
}

/// Engines compute in single precision.
constexpr double kMaxSize = std::numeric_limits<float>::max();

void check_sizes(std::span<const double> values, const std::string& name) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::abs(values[i]) <= kMaxSize) continue;
    throw Error(ErrorCode::kBadData, "fit: row " + std::to_string(i) + " of '" + name + "' is " + text_of(values[i]) +
                                         "; expected at most 3.4e38");
  }
}

/// Model files hold names as UTF-8.
void check_names(const FitTable& table) {
  const auto check = [](const std::string& name) {
    if (internal::is_utf8(name)) return;
    throw Error(ErrorCode::kBadData, "fit: the column name '" + internal::printable(name) +
                                         "' is not UTF-8; rename the column, or store the table as UTF-8");
  };
  for (const std::string& name : table.features) check(name);
  check(table.target);
  check(table.prediction);
}

/// NaN is a missing value.
void check_features(const FitTable& table) {
  for (std::size_t i = 0; i < table.x.rows(); ++i) {
    for (std::size_t j = 0; j < table.x.columns(); ++j) {
      if (std::isnan(table.x(i, j)) || std::abs(table.x(i, j)) <= kMaxSize) continue;
      throw Error(ErrorCode::kNotFinite, "fit: row " + std::to_string(i) + " of '" + table.features[j] + "' is " +
                                             text_of(table.x(i, j)) +
                                             "; expected at most 3.4e38, or a missing value (NaN)");
    }
  }
}

/// The predictions that train: those given, or none.
std::span<const double> given_predictions(const FitTable& table) {
  return table.cv_predictions.empty() ? table.predictions : table.cv_predictions;
}

/// `trains`: an engine sees the outcomes or predictions.
void check_table(const FitTable& table, const BaseTrainer* base, const FitOptions& options, bool trains) {
  const std::size_t n = table.x.rows();
  const std::span<const double> predictions = given_predictions(table);
  if (!table.predictions.empty() && !table.cv_predictions.empty()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "fit: both predictions and cv_predictions are given; expected predictions of the deployed model on rows "
        "it has not seen, which train and calibrate, or cross-validated ones, which train only");
  }
  if (table.y.size() != n || (!predictions.empty() && predictions.size() != n)) {
    throw Error(ErrorCode::kShapeMismatch, "fit: " + std::to_string(n) + " rows of x, " +
                                               std::to_string(table.y.size()) + " of y, " +
                                               std::to_string(predictions.size()) + " of predictions");
  }
  if (!table.row_numbers.empty() && table.row_numbers.size() != n) {
    throw Error(ErrorCode::kShapeMismatch, "fit: " + std::to_string(n) + " rows of x but " +
                                               std::to_string(table.row_numbers.size()) + " row numbers");
  }
  if (table.features.size() != table.x.columns()) {
    throw Error(ErrorCode::kShapeMismatch, "fit: " + std::to_string(table.x.columns()) + " columns of x but " +
                                               std::to_string(table.features.size()) + " names");
  }
  if (predictions.empty() && base == nullptr && n > 0) {
    throw Error(ErrorCode::kInvalidArgument, "fit: expected predictions or a base model, found neither");
  }
  if (!(options.calibration_share >= 0 && options.calibration_share < 1)) {
    throw Error(ErrorCode::kInvalidArgument,
                "fit: calibration_share is " + text_of(options.calibration_share) + ", expected 0 to less than 1");
  }
  if (!(options.hold_share > 0 && options.hold_share < 1)) {
    throw Error(ErrorCode::kInvalidArgument,
                "fit: hold_share is " + text_of(options.hold_share) + ", expected between 0 and 1");
  }
  if (options.levels.empty() || options.levels.size() > kMaxLevels) {
    throw Error(ErrorCode::kInvalidArgument, "fit: expected 1 to " + std::to_string(kMaxLevels) + " levels, found " +
                                                 std::to_string(options.levels.size()));
  }
  check_names(table);
  check_features(table);
  check_finite(table.y, table.target);
  check_finite(predictions, table.prediction);
  if (trains) {
    check_sizes(table.y, table.target);
    check_sizes(predictions, table.prediction);
  }
  internal::OutcomesOutside outside(options.range);
  outside.add(table.y, 0);
  outside.require_none("fit");
}

/// All workers fit the same columns with the same options, and none is without rows. What differs is an error on all.
void check_team(const Team& team, const FitTable& table, const FitOptions& options) {
  std::string columns;
  for (const auto& name : table.features) columns += name + ", ";
  columns += "target " + table.target;
  if (!table.prediction.empty()) {
    columns += (table.cv_predictions.empty() ? ", prediction " : ", cross-validated prediction ") + table.prediction;
  }
  const std::vector<std::string> all_columns = gather_texts(team, columns);
  const std::vector<std::string> all_settings = gather_texts(team, options.text());
  std::vector<double> rows(team.workers(), 0.0);
  rows[team.rank()] = static_cast<double>(table.x.rows());
  team.sum(rows);
  for (std::size_t worker = 0; worker < team.workers(); ++worker) {
    const std::string name = "fit: worker " + std::to_string(worker);
    if (rows[worker] == 0) {
      throw Error(ErrorCode::kTooFewRows, name + " has no rows; use fewer workers");
    }
    if (all_columns[worker] != all_columns.front()) {
      throw Error(ErrorCode::kShapeMismatch, name + " has other columns than worker 0: " + all_columns[worker] +
                                                 "; expected " + all_columns.front());
    }
    if (all_settings[worker] != all_settings.front()) {
      throw Error(ErrorCode::kInvalidArgument,
                  name + " was started with other options than worker 0; start all with the same but their rank");
    }
  }
}

void check_rows(double rows, bool trains) {
  const double least = trains ? 20 : 2;
  if (rows >= least) return;
  throw Error(ErrorCode::kTooFewRows, "fit: " + text_of(rows) + " rows; at least " + text_of(least) + " are needed" +
                                          (trains ? ", or 2 with the transform identity" : ""));
}

/// Rows of the hold-out that reports are made from: all, or of a large team a sample.
constexpr std::size_t kReportRows = 20'000;

/// The fitting rows, in units, and what is made of them for each goal.
class Fitting {
 public:
  Fitting(const Rows& rows, std::span<const double> y, std::span<const double> predictions, double unit,
          const FitOptions& options, const LocalizerTrainer* trainer, const ProgressCallback& progress,
          const Dealer& dealer, const Team* team)
      : options_(options), trainer_(trainer), progress_(progress), all_(rows.all()), unit_(unit) {
    for (std::size_t i = 0; i < y.size(); ++i) residuals_.push_back((y[i] - predictions[i]) / unit);
    const auto [hold, train] = dealer.split(options.hold_share, 1, stream_seed(options.seed, Stream::kHold));
    hold_x_ = matrix_of(hold);
    train_x_ = matrix_of(train);
    hold_residuals_ = taken(residuals_, hold);
    train_residuals_ = taken(residuals_, train);
    all_hold_rows_ = static_cast<std::size_t>(internal::total(team, static_cast<double>(hold.size())));
    if (all_hold_rows_ == 0) throw Error(ErrorCode::kTooFewRows, "fit: no row is left to hold out; give more rows");
    if (team == nullptr) {
      report_on_own(rows, y, hold);
    } else {
      report_on_all(*team, y, hold, dealer.of(hold).numbers());
    }
  }

  /// Over all workers.
  [[nodiscard]] std::size_t hold_rows() const { return all_hold_rows_; }

  /// Train for a plan without the hold-out, and say what it gives there.
  [[nodiscard]] std::pair<GoalReport, Trained> try_out(const GoalPlan& plan) const {
    Trained trained;
    const std::size_t columns = all_.columns();
    const std::size_t n = report_outcomes_.size();
    const ConformalRule rule = plan.rule;
    std::vector<double> parameters(n * rule.parameter_count());
    if (plan.objective != nullptr) {
      trained = trainer_->train({{train_x_.data(), train_residuals_.size(), columns}, {train_residuals_, {}}},
                                {{hold_x_.data(), hold_residuals_.size(), columns}, {hold_residuals_, {}}},
                                *plan.objective, progress_);
      trained.function->evaluate(report_x_, {parameters.data(), n, rule.parameter_count()});
    }
    const internal::HoldOut hold{{report_predictions_, {parameters.data(), n, rule.parameter_count()}},
                                 report_outcomes_,
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
  /// Reports are made from the own hold-out.
  void report_on_own(const Rows& rows, std::span<const double> y, std::span<const std::size_t> hold) {
    const std::vector<double> features = standardised(rows.features());
    const std::size_t columns = rows.features().columns();
    for (const std::size_t row : hold) {
      slab_features_.insert(slab_features_.end(), features.data() + row * columns,
                            features.data() + (row + 1) * columns);
    }
    report_x_ = {hold_x_.data(), hold.size(), columns + 1};
    set_report_outcomes(taken(y, hold));
  }

  /// They are made from rows of all workers, the same on each.
  void report_on_all(const Team& team, std::span<const double> y, std::span<const std::size_t> hold,
                     std::span<const std::uint64_t> numbers) {
    const std::size_t columns = all_.columns();
    std::vector<double> own;  // the outcome after the columns of x
    for (const std::size_t row : hold) {
      own.insert(own.end(), all_.row(row).begin(), all_.row(row).end());
      own.push_back(y[row]);
    }
    sample_ = internal::sample_of_all(team, own, columns + 1, numbers, kReportRows);
    const std::size_t n = sample_.size() / (columns + 1);
    slab_features_ = standardised({sample_.data(), n, columns - 1, columns + 1});
    report_x_ = {sample_.data(), n, columns, columns + 1};
    std::vector<double> outcomes;
    for (std::size_t i = 0; i < n; ++i) outcomes.push_back(sample_[i * (columns + 1) + columns]);
    set_report_outcomes(outcomes);
  }

  void set_report_outcomes(std::span<const double> outcomes) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      report_predictions_.push_back(report_x_(i, report_x_.columns() - 1) / unit_);
      report_outcomes_.push_back(outcomes[i] / unit_);
    }
  }

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
  double unit_;
  std::vector<double> residuals_;
  std::vector<double> train_x_;
  std::vector<double> train_residuals_;
  std::vector<double> hold_x_;
  std::vector<double> hold_residuals_;
  std::size_t all_hold_rows_ = 0;
  // Rows that reports are made from: the hold-out, or a sample of all workers'.
  std::vector<double> sample_;
  MatrixView report_x_;
  std::vector<double> report_predictions_;
  std::vector<double> report_outcomes_;
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

std::vector<std::uint64_t> row_numbers_of(const FitTable& table) {
  if (!table.row_numbers.empty()) return {table.row_numbers.begin(), table.row_numbers.end()};
  std::vector<std::uint64_t> numbers(table.x.rows());
  std::iota(numbers.begin(), numbers.end(), table.first_row);
  return numbers;
}

std::size_t checked_folds(const FitOptions& options) {
  if (options.folds >= 2) return options.folds;
  throw Error(ErrorCode::kInvalidArgument, "fit: expected at least 2 folds, found " + std::to_string(options.folds));
}

/// Residuals of this process or, in a team, a sample of everybody's.
std::vector<double> of_all(const Team* team, const std::vector<double>& residuals, const Dealer& dealer) {
  if (team == nullptr) return residuals;
  constexpr std::size_t kMost = 100'000;
  return internal::sample_of_all(*team, residuals, 1, dealer.numbers(), kMost);
}

Calibration merged(const Team& team, const Calibration& own) {
  Calibration all(own.options());
  for (const auto& bytes : gather(team, own.serialise())) all.merge(Calibration::deserialise(bytes));
  return all;
}

/// The sketch of rows x with outcomes y, over all workers.
RowSketch sketch_of(const FitTable& table, MatrixView x, std::span<const double> y, const Team* team) {
  RowSketch own;
  own.add(RowHasher(table.features), x, y);
  if (team == nullptr) return own;
  RowSketch all;
  for (const auto& bytes : gather(*team, own.serialise())) all.merge(RowSketch::deserialise(bytes));
  return all;
}

std::map<std::string, std::string> notes_of(const GoalPlan& plan, const FitTable& table, const BaseTrainer* base,
                                            const LocalizerTrainer* localizer, const FitOptions& options,
                                            const Team* team) {
  const auto window = window_for(plan.goal, options);
  std::map<std::string, std::string> notes{{"goal", plan.goal.text()}, {"seed", std::to_string(options.seed)}};
  if (team != nullptr) notes["workers"] = std::to_string(team->workers());
  if (base != nullptr) {
    notes["base"] = std::string(base->name());
    notes["base_engine"] = base->engine();
    notes["folds"] = std::to_string(options.folds);
  } else {
    notes[kTrainedWith] = table.cv_predictions.empty() ? "predictions of the deployed model" : kCrossValidated;
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

std::string FitOptions::text() const {
  std::string all = "transform " + transform;
  const auto add = [&](const char* name, const std::string& value) { all += std::string(", ") + name + " " + value; };
  if (goal) add("goal", goal->text());
  if (sides) add("sides", *sides == Sides::kTwo ? "two" : "one");
  if (window) add("window", window->lower.text() + " " + window->upper.text() + " " + text_of(window->outside));
  for (const Level& level : levels) add("level", level.text());
  if (!guarantee.is_marginal()) add("guarantee", guarantee.text());
  add("calibration", text_of(calibration_share));
  add("folds", std::to_string(folds));
  add("hold", text_of(hold_share));
  add("range", text_of(range.low) + " " + text_of(range.high));
  if (may_be_exact) add("predictions", "may be exact");
  if (compare) add("other goals", "compared");
  add("seed", std::to_string(seed));
  return all;
}

namespace {

/// The mean error is 0. Throw unless that is true, and the predictions may be exact.
void check_exact(std::span<const double> residuals, const FitTable& table, bool has_base, const FitOptions& options,
                 const Team* team) {
  const auto errors = std::ranges::count_if(residuals, [](double residual) { return residual != 0; });
  if (internal::total(team, static_cast<double>(errors)) > 0) {
    throw Error(ErrorCode::kBadData,
                "fit: the mean error is too small for floating point; multiply the outcomes and predictions by a power "
                "of ten");
  }
  if (options.may_be_exact) return;
  const std::span<const double> y = table.y;
  const bool is_constant = std::ranges::all_of(y, [&](double outcome) { return outcome == y.front(); });
  if (is_constant && has_base) {
    throw Error(ErrorCode::kBadData, "fit: every outcome of '" + table.target + "' is " + text_of(y.front()) +
                                         ", so there is nothing to predict; check the target column");
  }
  throw Error(ErrorCode::kBadData,
              has_base ? "fit: the base model predicts every outcome exactly, so there are no errors to make intervals "
                         "from; check whether a feature contains the outcome"
                       : "fit: every prediction equals the outcome; give predictions of a model that has not seen the "
                         "outcomes");
}

}  // namespace

FitResult fit(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
              const FitOptions& options, const ProgressCallback& progress, const Team* team) {
  const Sides sides = options.sides.value_or(Sides::kOne);
  GoalPlan plan = plan_with(options, options.goal, options.transform, sides);
  const auto check = [&] { check_table(table, base, options, base != nullptr || plan.objective != nullptr); };
  if (team == nullptr) {
    check();
  } else {
    all_or_none(*team, check);
    check_team(*team, table, options);
    if (plan.objective != nullptr && plan.rule.transform().affine_form() == nullptr) {
      throw Error(ErrorCode::kInvalidArgument, "fit: the transform " + std::string(plan.rule.transform().name()) +
                                                   " has to see all rows at once; fit it in one process");
    }
  }
  check_rows(internal::total(team, static_cast<double>(table.x.rows())), plan.objective != nullptr);
  if (plan.objective != nullptr && localizer == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "fit: the transform " + std::string(plan.rule.transform().name()) +
                                                 " needs a trainer for its localizer");
  }
  const std::span<const double> given = given_predictions(table);
  if (!given.empty()) base = nullptr;

  // Calibration rows are put aside before anything is fitted. Rows that the deployed model did not predict are none.
  const Dealer dealer(row_numbers_of(table), team);
  const double calibration_share = table.cv_predictions.empty() ? options.calibration_share : 0;
  const auto [calibration_part, fit_part] =
      dealer.split(calibration_share, 0, stream_seed(options.seed, Stream::kSplit));
  const Dealer fit_dealer = dealer.of(fit_part);

  Rows rows(table.x, fit_part);
  const std::vector<double> y = taken(table.y, fit_part);
  std::vector<double> predictions(fit_part.size());
  std::shared_ptr<const RowFunction> base_model;
  if (base != nullptr) {
    const std::uint64_t seed = stream_seed(options.seed, Stream::kFolds);
    if (team == nullptr) {
      cross_fit(*base, rows.features(), y, options.folds, seed, predictions, progress);
    } else {
      std::vector<std::size_t> order(y.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      internal::cross_fit_dealt(*base, rows.features(), y, order, fit_dealer.folds(checked_folds(options), seed),
                                options.folds, predictions, progress);
    }
    base_model = base->train(rows.features(), y, "base model", progress);
  } else {
    predictions = taken(given, fit_part);
  }
  rows.set_last(predictions);

  FitReport report;
  const auto total_count = [&](std::size_t own) {
    return static_cast<std::uint64_t>(internal::total(team, static_cast<double>(own)));
  };
  report.fit_rows = total_count(fit_part.size());
  report.calibration_rows = total_count(calibration_part.size());
  std::vector<double> residuals;
  double absolute = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    residuals.push_back(y[i] - predictions[i]);
    absolute += std::abs(residuals.back()) / static_cast<double>(report.fit_rows);
  }
  report.base_error = internal::total(team, absolute);
  if (report.base_error == 0) {
    check_exact(residuals, table, base != nullptr, options, team);
    plan = plan_with(options, options.goal, "identity", sides);
    report.warnings.emplace_back("every prediction equals the outcome, so there is no error to learn from");
  }
  const double unit = unit_near(report.base_error);

  const Fitting fitting(rows, y, predictions, unit, options, localizer, progress, fit_dealer, team);
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

  const Model uncalibrated(
      ModelParts{.features = table.features,
                 .target = table.target,
                 .prediction = base_model != nullptr ? "" : table.prediction,
                 .base = base_model,
                 .localizer = fitting.finish(plan, trained),
                 .rule = plan.rule,
                 .unit = unit,
                 .range = options.range,
                 .levels = options.levels,
                 .calibration = {},
                 .guarantee = options.guarantee,
                 .fit_residuals = internal::residual_quantiles(of_all(team, residuals, fit_dealer)),
                 .fit_rows = report.fit_rows,
                 .fit_sketch = sketch_of(table, rows.features(), y, team),
                 .notes = notes_of(plan, table, base, localizer, options, team)});

  const Rows calibration_x(table.x, calibration_part);
  const Dealer calibration_dealer = dealer.of(calibration_part);
  const std::vector<double> calibration_y = taken(table.y, calibration_part);
  std::vector<double> calibration_predictions(calibration_part.size());
  if (base_model == nullptr) calibration_predictions = taken(given, calibration_part);
  const ModelRows model_rows{calibration_x.features(),
                             base_model != nullptr ? std::span<const double>() : calibration_predictions};
  std::vector<double> scores(calibration_part.size());
  uncalibrated.scores(model_rows, calibration_y, scores);
  if (base_model != nullptr) uncalibrated.predictions(model_rows, calibration_predictions);
  Calibration calibration(Calibration::Options{.seed = options.seed});
  std::vector<double> fresh_residuals;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    calibration.add(calibration_dealer.numbers()[i],
                    {.score = scores[i], .above = calibration_y[i] > calibration_predictions[i]});
    fresh_residuals.push_back(calibration_y[i] - calibration_predictions[i]);
  }
  if (team != nullptr) calibration = merged(*team, calibration);
  fresh_residuals = of_all(team, fresh_residuals, calibration_dealer);
  if (check_in_sample(uncalibrated, fresh_residuals).suspicious()) {
    report.warnings.emplace_back(
        "the residuals of the fitting rows are smaller than those of the calibration rows by more than chance allows: "
        "were the predictions made by a model that had seen some of these rows? Intervals stay valid, but narrower and "
        "more even ones are possible with out-of-sample predictions");
  }
  return {uncalibrated.with_calibration(std::move(calibration),
                                        sketch_of(table, calibration_x.features(), calibration_y, team)),
          std::move(report)};
}

}  // namespace widthwise
