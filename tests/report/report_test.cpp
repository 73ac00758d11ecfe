#include <widthwise/report.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "support/numbers.hpp"

namespace widthwise {
namespace {

/// A valid evaluation of 1,000 rows at one level.
LevelEvaluation level_of(double level) {
  LevelEvaluation result{.level = level, .intervals = {}, .expected = {}, .summary = {}, .slab = {}, .weakest = {}};
  result.intervals.coverage = proportion(900, 1000);
  result.intervals.mean_width = 2.5;
  result.places_tested = 10;
  return result;
}

EvaluationReport report_of(const std::vector<double>& levels) {
  EvaluationReport report{.rows = 1000, .features = {"size", "age"}};
  report.model = EvaluatedModel{.level = levels.front(), .calibration_rows = 30, .goal = "narrow"};
  for (const double level : levels) report.levels.push_back(level_of(level));
  return report;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(EvaluationReport, WritesNumbersThatAreNotFiniteAsNullOrByName) {
  EvaluationReport report = report_of({0.9});
  report.levels[0].intervals.mean_width = kInfinity;
  report.levels[0].intervals.median_width = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(has(to_json(report), "\"mean_width\": null,\n      \"median_width\": null"));
  EXPECT_TRUE(has(to_json(report, NonFinite::kName), "\"mean_width\": Infinity,\n      \"median_width\": NaN"));
  report.levels[0].intervals.finite_mean_width = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(has(to_text(report), "  mean width      infinite\n"));
}

TEST(EvaluationReport, ShowsTheMeansOfFiniteIntervalsAndTheShareOfInfiniteOnes) {
  EvaluationReport report = report_of({0.9});
  IntervalSummary& summary = report.levels[0].intervals;
  summary.mean_width = summary.interval_score = kInfinity;
  summary.finite_mean_width = 2.5;
  summary.finite_interval_score = 3.5;
  summary.infinite = 8;
  report.crps = CrpsSummary{.mean = kInfinity, .finite_mean = 0.25, .infinite = 8, .rows = 1000};
  const std::string text = to_text(report);
  EXPECT_TRUE(has(text, "  mean width      2.5, without infinite intervals\n"));
  EXPECT_TRUE(has(text, "  interval score  3.5, without infinite intervals\n"));
  EXPECT_TRUE(has(text, "  infinite        8 intervals, 0.8%\n"));
  EXPECT_TRUE(has(text, "  CRPS            0.25, without infinite intervals\n"));
  EXPECT_FALSE(has(text, "No action")) << "beside the advice about infinite intervals";
  const std::string json = to_json(report);
  EXPECT_TRUE(has(json, "\"finite_mean_width\": 2.5") && has(json, "\"finite_interval_score\": 3.5"));
  EXPECT_TRUE(has(json, "\"finite_crps\": 0.25") && has(json, "\"crps_infinite\": 8"));
}

/// Coverage by width that falls from 98% to 84.5%.
CoverageGap falling_gap() {
  CoverageGap gap{.kind = PlaceKind::kWidth, .bins = 10, .mean = 0.04, .by_chance = 0.01, .p_value = 0.0002};
  gap.highest = {.kind = PlaceKind::kWidth, .low = 1, .high = 2, .coverage = proportion(196, 200)};
  gap.lowest = {.kind = PlaceKind::kWidth, .low = 8, .high = 9, .coverage = proportion(169, 200)};
  return gap;
}

TEST(EvaluationReport, CallsCoverageUnevenInOneDecisionWithAdvice) {
  EvaluationReport report = report_of({0.9});
  report.levels[0].gaps = {falling_gap()};
  report.levels[0].uneven = 0;
  const std::string sentence = "98.0% where intervals are narrow (1 to 2) and 84.5% where they are wide (8 to 9)";
  const std::string json = to_json(report);
  EXPECT_TRUE(has(json, "The intervals are valid, but uneven: coverage is " + sentence + "."));
  EXPECT_TRUE(has(json, "\"code\": \"uneven\"") && has(json, "\"word\": \"Valid, but uneven\""));
  EXPECT_TRUE(has(json, "Coverage is uneven: " + sentence + " (p < 0.001, corrected for all places tested)."));
  const std::string text = to_text(report);
  EXPECT_TRUE(has(text, "The intervals are valid, but uneven: coverage is 98.0%"));
  EXPECT_TRUE(has(text, "  - Fit again with the goal even"));
  EXPECT_TRUE(has(text, "  - Or keep the model if coverage matters on average only: the goal narrow"));
  EXPECT_FALSE(has(text, "No action") || has(text, "no place was found"));
  // The advice follows the model.
  report.model->goal = "even";
  EXPECT_TRUE(has(to_text(report), "  - Fit again with more rows, or with features"));
  report.model = EvaluatedModel{.level = 0.9, .is_known = false};
  EXPECT_TRUE(has(to_text(report), "  - Use intervals whose width depends on the row"));
  // A gap in the other direction, at the second of two levels.
  report = report_of({0.8, 0.9});
  report.levels[1].gaps = {falling_gap()};
  report.levels[1].uneven = 0;
  std::swap(report.levels[1].gaps[0].highest, report.levels[1].gaps[0].lowest);
  EXPECT_TRUE(has(to_json(report),
                  "The intervals of 80% and 90% are valid, but uneven: at 90%, coverage is 84.5% where "
                  "intervals are wide (8 to 9) and 98.0% where they are narrow (1 to 2)."));
}

TEST(EvaluationReport, HasNoVerdictOnPooledGroupsAlone) {
  EvaluationReport report = report_of({0.9});
  report.levels[0].verdict = Verdict::kNotJudged;
  const std::string json = to_json(report);
  EXPECT_TRUE(has(json, "\"code\": \"not_judged\"") && has(json, "\"word\": \"not judged\""));
  EXPECT_TRUE(has(json, "No verdict on coverage: the intervals are of pooled groups."));
  EXPECT_FALSE(has(json, "valid"));
}

TEST(EvaluationReport, EscapesNamesThatATerminalWouldObey) {
  EvaluationReport report = report_of({0.9});
  report.table = "a\x1b[2Jb.csv";
  EXPECT_TRUE(to_text(report).starts_with("a?[2Jb.csv: 1,000 rows\n"));
  EXPECT_TRUE(has(to_json(report), "\"a\\u001b[2Jb.csv\""));
}

TEST(EvaluationReport, HasAVerdictOnAllLevelsOnlyForAModel) {
  EvaluationReport report = report_of({0.8, 0.9});
  EXPECT_TRUE(
      has(to_text(report), "\nThe intervals of 80% and 90% are valid; no place was found where coverage is\nweak.\n"));
  EXPECT_TRUE(has(to_text(report), "\nWhat to do:\n  - No action needed. Evaluate again when the data change.\n"));
  EXPECT_TRUE(has(to_json(report), "\"code\": \"valid\""));
  report.model.reset();
  EXPECT_FALSE(has(to_text(report), "are valid"));
  EXPECT_TRUE(has(to_json(report), "\"verdict\": null"));
}

TEST(EvaluationReport, NamesTheFirstWeakPlaceAndWhatToDo) {
  EvaluationReport report = report_of({0.9});
  report.levels[0].weak_places = {{.kind = PlaceKind::kRange, .low = 3, .high = 4, .coverage = proportion(70, 100)},
                                  {.kind = PlaceKind::kGroup, .low = 3, .high = 3, .coverage = proportion(80, 100)}};
  std::string text = to_text(report);
  EXPECT_TRUE(has(text, "The intervals are valid; coverage is low, 70%, where size is 3 to 4."));
  EXPECT_TRUE(has(text, "  - Fit again with the goal even"));
  EXPECT_TRUE(has(to_json(report), "In total, 2 places are weak"));
  report.model->goal = "even";
  text = to_text(report);
  EXPECT_TRUE(has(text, "the goal is already even") && has(text, "(Mondrian)"));
  report.levels[0].weak_places[0].kind = PlaceKind::kSlab;
  EXPECT_TRUE(has(to_text(report), "where several features combine."));
}

TEST(EvaluationReport, AdvisesHowManyRowsALevelLacks) {
  EvaluationReport report = report_of({0.99, 0.8});
  report.levels[0].verdict = Verdict::kInfinite;
  const std::string json = to_json(report);
  EXPECT_TRUE(has(json, "The intervals of 80% are valid;") && has(json, "Those of 99% are infinite."));
  EXPECT_TRUE(has(json, "Add at least 69 calibration rows for the level 99%, or use a level of at most 96.77%"));
  report.levels[1].verdict = Verdict::kInfinite;
  EXPECT_TRUE(has(to_json(report), "The intervals are infinite: the level 80% needs 4 calibration rows per group."));
}

TEST(CalibrationPlan, ReportsTheCoverageThatRowsGive) {
  const CalibrationPlan few = CalibrationPlan::for_rows(0.99, 98, 0.95, {});
  EXPECT_EQ(few.summary(),
            "With 98 calibration rows, intervals of level 0.99 are infinite: finite intervals need at least 99 rows.");
  const CalibrationPlan sure = CalibrationPlan::for_rows(0.995, 5000, 0.999, Guarantee::parse("0.95"));
  EXPECT_TRUE(has(sure.summary(), "with 99.9% confidence"));
  EXPECT_TRUE(has(sure.summary(), "In 95% of calibration sets they cover at least 99.5%."));
  const CalibrationPlan enough = CalibrationPlan::for_tolerance(0.9, 0.02, 0.95, {});
  EXPECT_TRUE(has(enough.summary(), "Calibrate with at least 930 rows to keep the coverage of intervals of level 0.9"));
  EXPECT_TRUE(to_json({few, enough}).starts_with("[\n  {\n    \"level\": 0.99,"));
}

}  // namespace
}  // namespace widthwise
