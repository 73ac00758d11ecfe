#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/fit.hpp>
#include "train/fit/cross_fit.hpp"

#include "support/errors.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

/// A trainer of one tree on the first feature, whose leaves hold the mean outcome of a few neighbouring rows.
class StepTrainer final : public BaseTrainer {
 public:
  explicit StepTrainer(std::size_t rows_per_leaf = 16) : rows_per_leaf_(rows_per_leaf) {}
  [[nodiscard]] std::string_view name() const override { return "steps"; }
  [[nodiscard]] std::string engine() const override { return "none"; }
  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& inputs, std::span<const double> y,
                                                         std::string_view /*stage*/,
                                                         const ProgressCallback& /*progress*/) const override {
    std::vector<std::size_t> rows(y.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::ranges::sort(rows, {}, [&](std::size_t row) { return inputs.x(row, 0); });
    TreeArrays arrays;
    arrays.inputs = static_cast<std::uint32_t>(inputs.x.columns());
    arrays.base = {0};
    arrays.roots = arrays.output_of = {0};
    grow(arrays, inputs.x, y, rows);
    return std::make_shared<const Trees>(std::move(arrays));
  }

 private:
  /// Add the nodes of these rows, which are in the order of the feature.
  void grow(TreeArrays& arrays, const MatrixView& x, std::span<const double> y,
            std::span<const std::size_t> rows) const {
    const std::size_t node = arrays.feature.size();
    const bool leaf = rows.size() <= rows_per_leaf_;
    const std::size_t half = rows.size() / 2;
    double value = leaf ? 0 : x(rows[half], 0);
    for (const std::size_t row : leaf ? rows : rows.first(0)) value += y[row] / static_cast<double>(rows.size());
    arrays.feature.push_back(leaf ? -1 : 0);
    arrays.value.push_back(static_cast<float>(value));
    arrays.left.push_back(0);
    arrays.right.push_back(0);
    arrays.missing_left.push_back(0);
    if (leaf) return;
    arrays.left[node] = static_cast<std::uint32_t>(arrays.feature.size());
    grow(arrays, x, y, rows.first(half));
    arrays.right[node] = static_cast<std::uint32_t>(arrays.feature.size());
    grow(arrays, x, y, rows.subspan(half));
  }

  std::size_t rows_per_leaf_;
};

/// A trainer of steps that records the outcomes it was trained on. Outcomes are distinct, so they identify rows.
class WatchedBase final : public BaseTrainer {
 public:
  [[nodiscard]] std::string_view name() const override { return "watched"; }
  [[nodiscard]] std::string engine() const override { return "none"; }
  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& x, std::span<const double> y,
                                                         std::string_view stage,
                                                         const ProgressCallback& progress) const override {
    seen.insert(y.begin(), y.end());
    return StepTrainer().train(x, y, stage, progress);
  }

  mutable std::set<double> seen;
};

/// A constant localizer from a trainer that records the residuals it was trained on. Its loss is lower by `gain_of_two`
/// for two sides of a transform with two parameters.
class WatchedLocalizer final : public LocalizerTrainer {
 public:
  explicit WatchedLocalizer(double gain_of_two = 0) : gain_of_two_(gain_of_two) {}
  [[nodiscard]] std::string_view name() const override { return "constant"; }
  [[nodiscard]] std::string engine() const override { return "none"; }
  [[nodiscard]] Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& objective,
                              const ProgressCallback& /*progress*/) const override {
    watch(rows);
    watch(holdout);
    return constant(rows, objective);
  }
  [[nodiscard]] Trained retrain(const TrainingRows& rows, const Objective& objective, std::size_t /*length*/,
                                const ProgressCallback& /*progress*/) const override {
    watch(rows);
    return constant(rows, objective);
  }

  mutable std::set<double> seen_features;

 private:
  void watch(const TrainingRows& rows) const {
    for (std::size_t i = 0; i < rows.x.rows(); ++i) seen_features.insert(rows.x(i, 0));
  }
  [[nodiscard]] Trained constant(const TrainingRows& rows, const Objective& objective) const {
    TreeArrays arrays;
    arrays.inputs = static_cast<std::uint32_t>(rows.x.columns());
    arrays.base.assign(objective.parameter_count(), 0.0F);
    return {std::make_shared<const Trees>(arrays), 1, objective.parameter_count() == 4 ? -gain_of_two_ : 0.0};
  }

  double gain_of_two_;
};

class TrainerWithoutMemory final : public BaseTrainer {
 public:
  [[nodiscard]] std::string_view name() const override { return "without memory"; }
  [[nodiscard]] std::string engine() const override { return "none"; }
  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& /*x*/, std::span<const double> /*y*/,
                                                         std::string_view /*stage*/,
                                                         const ProgressCallback& /*progress*/) const override {
    throw std::bad_alloc();
  }
};

struct NoisyTable {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> predictions;

  explicit NoisyTable(std::size_t n, std::uint64_t seed = 1) {
    Random random(seed);
    for (std::size_t i = 0; i < n; ++i) {
      x.push_back(static_cast<double>(i) / static_cast<double>(n));
      x.push_back(random.normal());
      predictions.push_back(10 * x[2 * i]);
      y.push_back(predictions[i] + (1 + x[2 * i]) * random.normal());
    }
  }

  [[nodiscard]] FitTable with_predictions() const {
    return {.rows = {.x = {x.data(), y.size(), 2}, .predictions = predictions},
            .y = y,
            .features = {"a", "b"},
            .target = "y",
            .prediction = "f",
            .first_row = 1000};
  }
  [[nodiscard]] FitTable without_predictions() const {
    return {.rows = {.x = {x.data(), y.size(), 2}}, .y = y, .features = {"a", "b"}, .target = "y", .first_row = 1000};
  }
};

// --- cross-fitting
// ---------------------------------------------------------------------------------------------------------

TEST(CrossFit, PredictsEveryRowByAModelThatHasNotSeenIt) {
  // Outcomes are pure noise: only a model that was trained on a row can predict its outcome.
  NoisyTable table(300);
  std::vector<double> out(300, std::nan(""));
  cross_fit(StepTrainer(1), MatrixView(table.x.data(), 300, 2), table.y, 5, 3, out);
  for (std::size_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(std::isfinite(out[i]));
    EXPECT_NE(out[i], static_cast<float>(table.y[i])) << "row " << i;
    EXPECT_TRUE(std::ranges::any_of(table.y, [&](double y) { return static_cast<float>(y) == out[i]; }))
        << "not the outcome of one neighbour";
  }
}

/// A constant per step: the model of `count` steps predicts `count`. The loss is smallest after three.
class CountTrainer final : public BaseTrainer, public TrainingSteps {
 public:
  explicit CountTrainer(std::size_t count, std::vector<std::size_t>* trained) : count_(count), trained_(trained) {}
  [[nodiscard]] std::string_view name() const override { return "count"; }
  [[nodiscard]] std::string engine() const override { return "none"; }
  [[nodiscard]] const TrainingSteps* steps() const override { return this; }
  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& rows, std::span<const double> /*y*/,
                                                         std::string_view /*stage*/,
                                                         const ProgressCallback& /*progress*/) const override {
    trained_->push_back(count_);
    TreeArrays arrays;
    arrays.inputs = static_cast<std::uint32_t>(rows.x.columns());
    arrays.base = {static_cast<float>(count_)};
    return std::make_shared<const Trees>(std::move(arrays));
  }
  [[nodiscard]] std::vector<double> losses(const RowFunction& /*model*/, const InputRows& rows,
                                           std::span<const double> y) const override {
    EXPECT_EQ(rows.x.rows(), y.size());
    std::vector<double> losses;
    for (std::size_t step = 1; step <= trained_->back(); ++step)
      losses.push_back(std::abs(3 - static_cast<double>(step)));
    return losses;
  }
  [[nodiscard]] std::shared_ptr<const RowFunction> shortened(const RowFunction& model,
                                                             std::size_t steps) const override {
    TreeArrays arrays = dynamic_cast<const Trees&>(model).arrays();
    arrays.base = {static_cast<float>(steps)};
    return std::make_shared<const Trees>(std::move(arrays));
  }
  [[nodiscard]] std::unique_ptr<const BaseTrainer> trainer(std::size_t steps) const override {
    return std::make_unique<CountTrainer>(steps, trained_);
  }

 private:
  std::size_t count_;
  std::vector<std::size_t>* trained_;
};

TEST(CrossFit, ChoosesTheStepsWithTheSmallestLossAndTrainsLaterFoldsNotMuchLonger) {
  NoisyTable table(30);
  std::vector<std::size_t> trained;
  std::vector<double> out(30);
  const auto best = cross_fit(CountTrainer(100, &trained), MatrixView(table.x.data(), 30, 2), table.y, 4, 3, out);
  EXPECT_EQ(trained, (std::vector<std::size_t>{100, 5, 5, 5}));
  EXPECT_EQ(out, std::vector<double>(30, 3));
  static_cast<void>(best->train(MatrixView(table.x.data(), 30, 2), table.y, "", {}));
  EXPECT_EQ(trained.back(), 3U);
}

TEST(CrossFit, RefusesMoreFoldsThanRows) {
  NoisyTable table(3);
  std::vector<double> out(3);
  EXPECT_NE(message_of([&] { cross_fit(StepTrainer(), MatrixView(table.x.data(), 3, 2), table.y, 4, 3, out); },
                       ErrorCode::kTooFewRows)
                .find("4 folds for 3 rows"),
            std::string::npos);
}

// --- fit
// -------------------------------------------------------------------------------------------------------------------

TEST(Fit, NeverShowsACalibrationRowToAnyTrainer) {
  const NoisyTable table(400);
  const WatchedBase base;
  const WatchedLocalizer localizer;
  const FitResult result = fit(table.without_predictions(), &base, &localizer, {});
  EXPECT_EQ(result.report.calibration_rows, 100U);
  EXPECT_EQ(result.model.parts().calibration.rows_seen(), 100U);
  EXPECT_EQ(result.report.fit_rows, 300U);

  // Training used exactly the other rows, and the calibration scores are those of the rows not used.
  EXPECT_EQ(base.seen.size(), 300U);
  EXPECT_EQ(localizer.seen_features.size(), 300U);
  Calibration expected(result.model.parts().calibration.options());
  for (std::size_t i = 0; i < 400; ++i) {
    EXPECT_EQ(base.seen.contains(table.y[i]), localizer.seen_features.contains(table.x[2 * i]));
    if (base.seen.contains(table.y[i])) continue;
    result.model.calibrate(expected, {{table.x.data() + 2 * i, 1, 2}}, {&table.y[i], 1}, 1000 + i);
  }
  EXPECT_TRUE(expected == result.model.parts().calibration);
}

TEST(Fit, CoverageIsWithinItsExpectedRange) {
  const WatchedLocalizer localizer;
  std::uint64_t covered = 0;
  std::uint64_t rows = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const NoisyTable table(400, seed);
    const NoisyTable fresh(400, 1000 + seed);
    const FitResult result = fit(table.with_predictions(), nullptr, &localizer, {.seed = seed});
    // One row of each calibration: rows that share one are not independent.
    for (std::size_t i = 7; i < 400; i += 400) {
      const Interval interval = result.model.interval({fresh.x.data() + 2 * i, 2}, 0.9, fresh.predictions[i]);
      covered += interval.lower <= fresh.y[i] && fresh.y[i] <= interval.upper ? 1U : 0U;
      ++rows;
    }
  }
  EXPECT_GE(covered, binomial_lower_bound(rows, 0.9, 1e-6));
}

TEST(Fit, DividesByAPowerOfTwoWithoutRounding) {
  NoisyTable table(200);
  for (auto* values : {&table.y, &table.predictions}) {
    for (double& value : *values) value *= 1e6;
  }
  const WatchedLocalizer localizer;
  const FitResult result = fit(table.with_predictions(), nullptr, &localizer, {});
  const double unit = result.model.parts().unit;
  EXPECT_EQ(std::exp2(std::round(std::log2(unit))), unit);
  EXPECT_GT(unit, result.report.base_error / 2);
  EXPECT_LT(unit, result.report.base_error * 2);
}

TEST(Fit, ReportsTheGoalAndTheOppositeGoal) {
  const NoisyTable table(4000);
  const WatchedLocalizer localizer;
  const FitReport report = fit(table.with_predictions(), nullptr, &localizer, {.compare = true}).report;
  EXPECT_EQ(report.chosen.goal, "balanced");
  EXPECT_EQ(report.chosen.score_transform, "shortest");
  ASSERT_TRUE(report.other.has_value());
  EXPECT_EQ(report.other->goal, "narrow");
  EXPECT_EQ(report.other->score_transform, "affine");
  EXPECT_EQ(report.holdout_rows, 600U);
  EXPECT_TRUE(report.warnings.empty());
  // This localizer is constant, so all three have constant width.
  EXPECT_NEAR(report.chosen.mean_width, report.fixed.mean_width, 1e-9);
  EXPECT_NEAR(report.other->mean_width, report.fixed.mean_width, 1e-9);
  EXPECT_GE(report.fixed.coverage, 0.85);
  // A tenth of half of the hold-out is 30 rows, too few to report.
  EXPECT_FALSE(report.fixed.worst_slab.has_value());
  EXPECT_EQ(report.summary().find("where coverage is worst"), std::string::npos);
}

TEST(Fit, ReportsTheWorstSlabWithItsIntervalWhereRowsSuffice) {
  const NoisyTable table(12'000);
  const WatchedLocalizer localizer;
  const FitReport report = fit(table.with_predictions(), nullptr, &localizer, {.compare = true}).report;
  ASSERT_TRUE(report.chosen.worst_slab && report.other->worst_slab && report.fixed.worst_slab);
  const Proportion& slab = *report.fixed.worst_slab;
  EXPECT_GE(slab.trials, kMinSlabRows);
  EXPECT_LT(slab.share, report.fixed.coverage);
  EXPECT_LT(slab.low, slab.share);
  EXPECT_GT(slab.high, slab.share);
}

TEST(Fit, NeedsNoTrainerForOneWidth) {
  const NoisyTable table(200);
  const FitResult result = fit(table.with_predictions(), nullptr, nullptr, {.score_transform = "identity"});
  EXPECT_EQ(result.model.parts().localizer, nullptr);
  EXPECT_FALSE(result.report.other.has_value());
}

TEST(Fit, TakesTwoSidesForNarrowWhereTheHoldOutSaysSo) {
  const NoisyTable table(400);  // 60 rows are held out: the loss must fall by 0.045
  const auto sides = [&](double gain, const FitOptions& options) {
    const WatchedLocalizer localizer(gain);
    return fit(table.with_predictions(), nullptr, &localizer, options).model.parts().rule.sides();
  };
  const FitOptions narrow{.goal = Goal::narrow()};
  EXPECT_EQ(sides(0.05, narrow), Sides::kTwo);
  EXPECT_EQ(sides(0.04, narrow), Sides::kOne);
  EXPECT_EQ(sides(-0.05, narrow), Sides::kOne);
  EXPECT_EQ(sides(0.05, {.goal = Goal::narrow(), .sides = Sides::kOne}), Sides::kOne);
  EXPECT_EQ(sides(-0.05, {.goal = Goal::narrow(), .sides = Sides::kTwo}), Sides::kTwo);
  EXPECT_EQ(sides(0.05, {.goal = Goal::evenness(1)}), Sides::kOne);
  EXPECT_EQ(sides(0.05, {.goal = Goal::even()}), Sides::kTwo);  // a distribution
}

TEST(Fit, NotesTheLevelsItTrainedFor) {
  const NoisyTable table(400);
  const auto notes = [&](const FitOptions& options) {
    const WatchedLocalizer localizer;
    return fit(table.with_predictions(), nullptr, &localizer, options).model.parts().notes;
  };
  const auto narrow = notes({.goal = Goal::narrow(), .levels = {0.95, 0.8}});
  EXPECT_EQ(narrow.at("level_window"), "0.7..0.995");
  EXPECT_EQ(narrow.at("outside_level_window"), "0.4");
  EXPECT_EQ(notes({.goal = Goal::evenness(1)}).count("level_window"), 0U);
  EXPECT_EQ(notes({.goal = Goal::even()}).at("level_window"), "0.8..0.99");
  EXPECT_EQ(notes({.goal = Goal::narrow(), .level_window = LevelWindow::all()}).count("level_window"), 0U);
  EXPECT_EQ(notes({.goal = Goal::narrow(), .level_window = LevelWindow{0.8, 0.9}}).count("outside_level_window"), 0U);
}

TEST(Fit, LeavesTheCalibrationEmptyWhenAskedTo) {
  const NoisyTable table(200);
  const FitResult result =
      fit(table.with_predictions(), nullptr, nullptr, {.score_transform = "identity", .calibration_size = 0});
  const Interval interval = result.model.interval({table.x.data(), 2}, 0.9, 0.0);
  EXPECT_TRUE(std::isinf(interval.lower) && std::isinf(interval.upper));
}

TEST(Fit, KeepsOnlyCategoriesOfFittingRows) {
  const NoisyTable table(200);
  FitTable given = table.with_predictions();
  std::vector<double> x;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < 200; ++i) {  // every row has its own category
    x.insert(x.end(), {static_cast<double>(i), table.x[2 * i + 1]});
    labels.push_back(std::to_string(1000 + i));
  }
  given.rows.x = {x.data(), 200, 2};
  given.categories = {Labels(labels), Labels()};
  const FitResult result = fit(given, nullptr, nullptr, {.score_transform = "identity", .calibration_size = 50});
  const Labels& kept = result.model.categories_of(0);
  EXPECT_EQ(kept.size(), 150U);
  EXPECT_TRUE(std::ranges::is_sorted(kept.all()));
  // The sketch of the fitting rows is that of rows with kept categories, as the model numbers them.
  std::vector<double> fitting;
  std::vector<double> y;
  for (std::size_t i = 0; i < 200; ++i) {
    const auto number = kept.find(labels[i]);
    if (!number) continue;
    fitting.insert(fitting.end(), {static_cast<double>(*number), x[2 * i + 1]});
    y.push_back(table.y[i]);
  }
  RowSketch rows;
  rows.add(RowHasher(given.features), {fitting.data(), 150, 2}, y);
  EXPECT_EQ(rows, result.model.parts().fit_sketch);
}

TEST(Fit, TakesANumberOfCalibrationRows) {
  const NoisyTable table(200);
  const auto calibrated = [&](double size) {
    return fit(table.with_predictions(), nullptr, nullptr, {.score_transform = "identity", .calibration_size = size});
  };
  EXPECT_EQ(calibrated(60).report.calibration_rows, 60U);
  expect_error(ErrorCode::kInvalidArgument,
               "fit: calibration_size is 200; expected a share below 1, or fewer rows than the 200 of the table",
               [&] { (void)calibrated(200); });
}

TEST(Fit, KeepsSketchesOfTheRowsThatTrainedAndCalibrated) {
  const NoisyTable table(800);
  const Model model =
      fit(table.with_predictions(), nullptr, nullptr, {.score_transform = "identity", .calibration_size = 0.25}).model;
  const ModelParts& parts = model.parts();
  EXPECT_EQ(parts.fit_sketch.rows(), 600U);
  EXPECT_EQ(parts.calibration_sketch.rows(), 200U);
  RowSketch all;
  all.add(RowHasher(parts.features), {table.x.data(), 800, 2}, table.y);
  RowSketch merged = parts.fit_sketch;
  merged.merge(parts.calibration_sketch);
  EXPECT_EQ(merged, all);
  EXPECT_TRUE(overlap(parts.fit_sketch, all).found());
  EXPECT_FALSE(overlap(parts.fit_sketch, parts.calibration_sketch).found());
}

TEST(Fit, TrainsWithCrossValidatedPredictionsOnAllRowsAndCalibratesNothing) {
  const NoisyTable table(400);
  FitTable cross_validated = table.with_predictions();
  EXPECT_EQ(fit(cross_validated, nullptr, nullptr, {.score_transform = "identity"}).model.uncalibrated(), "");
  std::swap(cross_validated.cv_predictions, cross_validated.rows.predictions);
  const WatchedLocalizer localizer;
  const FitResult result = fit(cross_validated, nullptr, &localizer, {});
  EXPECT_EQ(localizer.seen_features.size(), 400U);
  EXPECT_EQ(result.report.fit_rows, 400U);
  EXPECT_EQ(result.report.calibration_rows, 0U);
  EXPECT_EQ(result.model.parts().calibration.rows_seen(), 0U);
  EXPECT_EQ(result.model.parts().prediction, "f");
  EXPECT_EQ(result.model.parts().notes.at("trained_with"), "cross-validated predictions");
  EXPECT_NE(result.model.uncalibrated().find("predicted by the deployed model"), std::string::npos);
  EXPECT_EQ(result.model.interval({table.x.data(), 2}, 0.5, 1.0).upper, kInfinity);

  cross_validated.rows.predictions = table.predictions;
  EXPECT_NE(message_of([&] { (void)fit(cross_validated, nullptr, &localizer, {}); }, ErrorCode::kInvalidArgument)
                .find("found both predictions and cv_predictions"),
            std::string::npos);
}

TEST(Fit, RefusesAFeatureThatEqualsTheOutcomeWhateverItsName) {
  const NoisyTable table(200);
  FitTable given = table.with_predictions();
  std::vector<double> x = table.x;
  for (std::size_t i = 0; i < 200; ++i) x[2 * i + 1] = i % 10 == 0 ? kNaN : static_cast<float>(table.y[i]);
  given.rows.x = {x.data(), 200, 2};
  const auto fitted = [&] { (void)fit(given, nullptr, nullptr, {.score_transform = "identity"}); };
  EXPECT_EQ(message_of(fitted, ErrorCode::kBadData), "fit: the features contain the outcomes: column '" +
                                                         given.features[1] +
                                                         "' equals the outcome in every row; drop it");
  x[3] += 1;
  EXPECT_NO_THROW(fitted());
  given.features[1] = given.target;  // the name alone is no reason
  EXPECT_NO_THROW(fitted());
  // Few distinct outcomes may be those of a feature by chance.
  std::vector<double> y;
  for (std::size_t i = 0; i < 200; ++i) {
    y.push_back(static_cast<double>(i % 2));
    x[2 * i + 1] = y[i];
  }
  given.y = y;
  EXPECT_NO_THROW(fitted());
}

TEST(Fit, RefusesOutcomesOutsideTheRangeAndSoDoesTheModel) {
  NoisyTable table(400);
  for (double& y : table.y) y *= 1024;
  for (double& f : table.predictions) f *= 1024;
  const auto [low, high] = std::minmax_element(table.y.begin(), table.y.end());
  const OutcomeSpace range{*low, *high};
  const Model model =
      fit(table.with_predictions(), nullptr, nullptr, {.score_transform = "identity", .outcome_space = range}).model;
  EXPECT_GT(model.parts().unit, 2);

  table.y[3] = range.high + 5;
  table.y[50] = range.low - 1;
  const std::string expected = "2 of 400 outcomes lie outside the outcome range (";
  const auto says = [&](const std::string& message, const std::string& row) {
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    EXPECT_NE(message.find("): row " + row + " is "), std::string::npos) << message;
  };
  says(message_of(
           [&] {
             (void)fit(table.with_predictions(), nullptr, nullptr,
                       {.score_transform = "identity", .outcome_space = range});
           },
           ErrorCode::kBadData),
       "4");
  Calibration calibration;
  const Rows rows{.x = {table.x.data(), 400, 2}, .predictions = table.predictions};
  says(message_of([&] { model.calibrate(calibration, rows, table.y, 100); }, ErrorCode::kBadData), "4");
  EXPECT_EQ(calibration.rows_seen(), 0U);
  says(message_of([&] { model.check_outcomes(table.y); }, ErrorCode::kBadData), "4");
  table.y[3] = range.high;
  table.y[50] = std::nan("");
  EXPECT_NO_THROW(model.check_outcomes(table.y));
}

TEST(Fit, RefusesInvalidTablesAndOptions) {
  const NoisyTable table(200);
  const auto message = [&](const FitTable& t, const FitOptions& options, ErrorCode code) {
    const WatchedLocalizer localizer;
    return message_of([&] { static_cast<void>(fit(t, nullptr, &localizer, options)); }, code);
  };
  EXPECT_NE(message(table.without_predictions(), {}, ErrorCode::kInvalidArgument).find("found neither"),
            std::string::npos);
  EXPECT_NE(message(table.with_predictions(), {.goal = Goal::even(), .score_transform = "affine"},
                    ErrorCode::kInvalidArgument)
                .find("affine is for the goal narrow"),
            std::string::npos);
  NoisyTable bad = table;
  bad.y[17] = std::nan("");
  EXPECT_NE(message(bad.with_predictions(), {}, ErrorCode::kNotFinite).find("row 18 of 'y'"), std::string::npos);
  bad = table;
  bad.x[3] = kInfinity;
  EXPECT_NE(message(bad.with_predictions(), {}, ErrorCode::kNotFinite).find("row 2 of '"), std::string::npos);
  bad = table;
  bad.predictions = bad.y;
  EXPECT_NE(message(bad.with_predictions(), {}, ErrorCode::kBadData).find("that was not trained on these rows"),
            std::string::npos);
}

TEST(Fit, WithoutEnoughMemoryIsAnErrorWithTheRemedy) {
  const NoisyTable table(2000);
  const TrainerWithoutMemory base;
  const auto train = [&] {
    static_cast<void>(fit(table.without_predictions(), &base, nullptr, {.score_transform = "identity"}));
  };
  EXPECT_EQ(message_of(train, ErrorCode::kTooLittleMemory),
            "fit: out of memory with 2,000 rows of 2 features; fit to a sample of the rows, or on a larger machine");
}

TEST(Fit, OfFewRowsHasOneWidthOrIsRefused) {
  const NoisyTable table(8);
  const WatchedLocalizer localizer;
  EXPECT_NE(
      message_of(
          [&] { static_cast<void>(fit(table.with_predictions(), nullptr, &localizer, {.score_transform = "exp"})); },
          ErrorCode::kTooFewRows)
          .find("expected at least 20, or 2 with the transform identity"),
      std::string::npos);
  EXPECT_EQ(fit(table.with_predictions(), nullptr, nullptr, {.score_transform = "identity"}).report.calibration_rows,
            2U);
}

TEST(Fit, OfExactPredictionsHasOneWidthIfTheyMayBeExact) {
  NoisyTable table(200);
  table.predictions = table.y;
  const WatchedLocalizer localizer;
  const FitResult result = fit(table.with_predictions(), nullptr, &localizer, {.may_be_exact = true});
  EXPECT_EQ(result.model.parts().rule.transform().name(), "identity");
  ASSERT_EQ(result.report.warnings.size(), 1U);
  const Interval interval = result.model.interval({table.x.data(), 2}, 0.9, 3.0);
  EXPECT_EQ(interval.lower, 3);
  EXPECT_EQ(interval.upper, 3);
}

TEST(FitReport, SummarisesTheTradeOffOfTheGoal) {
  FitReport report;
  report.chosen = {
      .goal = "even", .score_transform = "exp", .mean_width = 83, .coverage = 0.9, .worst_slab = proportion(880, 1000)};
  report.fixed = {.goal = "fixed",
                  .score_transform = "identity",
                  .mean_width = 100,
                  .coverage = 0.9,
                  .worst_slab = proportion(60, 100)};
  report.other =
      GoalReport{.goal = "narrow", .score_transform = "affine", .mean_width = 83, .worst_slab = proportion(70, 100)};
  EXPECT_EQ(
      report.summary(),
      "These intervals are 17% narrower than one width for all rows, on average, and cover 88.0% (85.8% to 89.9%) "
      "where coverage is worst, instead of 60.0% (49.7% to 69.7%). The goal narrow would make them as wide and "
      "cover "
      "70.0% (60.0% to 78.8%) there.");
  report.other->worst_slab.reset();
  report.fixed.worst_slab.reset();
  report.chosen.empty = 0.032;
  report.chosen.infinite = 0.5;
  EXPECT_EQ(
      report.summary(),
      "These intervals are 17% narrower than one width for all rows, on average. 3.2% of the intervals are empty: "
      "no value conforms, and the prediction alone is returned. 50.0% of the intervals are infinite. The goal narrow "
      "would "
      "make them as wide.");
  report.chosen.mean_width = kInfinity;
  report.chosen.empty = 0;
  report.chosen.infinite = 1;
  EXPECT_EQ(report.summary(),
            "The mean width cannot be compared with one width for all rows, because one of them is infinite or 0. "
            "100.0% of the intervals are infinite. The goal narrow would make them 100% narrower.");
  report.fixed.infinite = 1;
  report.holdout_rows = 15;
  EXPECT_EQ(report.summary(), "The hold-out has 15 rows, too few to measure widths at this level.");
  report.chosen.goal = "fixed";
  EXPECT_EQ(report.summary(), "All intervals have one width: no localizer was trained.");
}

TEST(FitReport, ComparesTheFiniteIntervalsOfGoalsWithTheSameInfiniteOnes) {
  FitReport report;
  report.chosen = {
      .goal = "even", .score_transform = "exp", .mean_width = kInfinity, .finite_mean_width = 83, .infinite = 0.02};
  report.fixed = {.goal = "fixed",
                  .score_transform = "identity",
                  .mean_width = kInfinity,
                  .finite_mean_width = 100,
                  .infinite = 0.02};
  EXPECT_EQ(report.summary(),
            "These intervals are 17% narrower than one width for all rows, on average. 2.0% of the intervals are "
            "infinite.");
}

TEST(Goal, IsServedByARuleAndAnObjective) {
  const ResolvedGoal by_default = resolve_goal(std::nullopt, "auto");
  EXPECT_EQ(by_default.goal.to_string(), "balanced");
  EXPECT_EQ(by_default.rule.transform().name(), "exp");
  const ResolvedGoal narrow = resolve_goal(Goal::narrow(), "auto", Sides::kTwo);
  EXPECT_EQ(narrow.rule.transform().name(), "affine");
  EXPECT_EQ(narrow.objective->parameter_count(), 4U);
  EXPECT_EQ(resolve_goal(std::nullopt, "density").goal.to_string(), "narrow");
  EXPECT_EQ(resolve_goal(Goal::even(), "identity").objective, nullptr);
  for (const double typical : {1e-300, 0.3, 1.0, 700.0, 1e300}) {
    int exponent = 0;
    EXPECT_EQ(std::frexp(unit_near(typical), &exponent), 0.5) << typical;
  }
  EXPECT_EQ(unit_near(700), 512);
  EXPECT_EQ(unit_near(0), 1);
}

TEST(Goal, IsReadAsItIsWritten) {
  EXPECT_EQ(Goal::parse("even").evenness(), 1.0);
  EXPECT_TRUE(Goal::parse("narrow").is_narrow());
  EXPECT_EQ(Goal::parse("0.85").evenness(), 0.85);
  EXPECT_EQ(Goal::parse("0.85").to_string(), "0.85");
  for (const char* text : {"wide", "", "1.5", "-0.1", "nan", "0.5x"}) {
    EXPECT_THROW(static_cast<void>(Goal::parse(text)), Error) << text;
  }
}

// --- in-sample residuals
// --------------------------------------------------------------------------------------------------

InSampleCheck check_after(double factor, std::uint64_t seed, bool cross_validated = false) {
  // The training residuals are `factor` times the out-of-sample residuals.
  NoisyTable table(1000, seed);
  for (std::size_t i = 0; i < 1000; ++i) {
    table.predictions[i] = table.y[i] - factor * (table.y[i] - table.predictions[i]);
  }
  FitTable given = table.with_predictions();
  if (cross_validated) std::swap(given.rows.predictions, given.cv_predictions);
  const Model model = fit(given, nullptr, nullptr, {.score_transform = "identity", .calibration_size = 0}).model;
  const NoisyTable fresh(700, 5000 + seed);
  Calibration residuals;
  for (std::size_t i = 0; i < 700; ++i) residuals.add(i, {.score = std::abs(fresh.y[i] - fresh.predictions[i])});
  return check_in_sample(model, residuals, 0.01);
}

TEST(InSample, ResidualsAreDetected) {
  EXPECT_TRUE(check_after(0.5, 1).suspicious());
  EXPECT_GT(check_after(0.5, 1).distance, 0.2);
}

TEST(InSample, OutOfSampleResidualsAreReportedAtMostAtTheStatedRate) {
  std::uint64_t accused = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) accused += check_after(1, seed).warning().empty() ? 0U : 1U;
  EXPECT_LE(accused, binomial_upper_bound(200, 0.01, 1e-6));
}

TEST(InSample, CalibrationResidualsThatAreTooSmallAreDetected) {
  const InSampleCheck check = check_after(2, 1);
  EXPECT_FALSE(check.suspicious());
  EXPECT_TRUE(check.calibration_suspicious());
  EXPECT_GT(check.distance_below, 0.2);
  EXPECT_NE(check.warning().find("calibrate with rows that the base model was not trained on"), std::string::npos);
  EXPECT_NE(check_after(0.5, 1).warning().find("fit received in-sample predictions"), std::string::npos);
}

TEST(InSample, CalibrationResidualsMayBeSmallerThanThoseOfFolds) {
  EXPECT_EQ(check_after(2, 1, true).warning(), "");
  EXPECT_TRUE(check_after(0.5, 1, true).suspicious());
}

}  // namespace
}  // namespace widthwise
