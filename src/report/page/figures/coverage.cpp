#include <algorithm>
#include <cmath>
#include <numeric>

#include <widthwise/error.hpp>
#include <widthwise/model.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "report/page/figures.hpp"
#include "report/sentences.hpp"

namespace widthwise::internal {
namespace {

std::string comparison(const CoverageFigure& figure, const MeasuredCoverage& measured) {
  const auto n = static_cast<std::ptrdiff_t>(figure.levels.size());
  const auto low = n - std::ranges::count(figure.below, 0);
  std::vector<std::size_t> order(figure.levels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t i = *std::ranges::min_element(order, {}, [&](std::size_t at) {
    return std::pair(low > 0 && figure.below[at] == 0, figure.coverage[at] - figure.levels[at]);
  });
  const std::string worst = written(LevelName{figure.levels[i]}) + ", where it is " + percent(figure.coverage[i]) + ".";
  if (!measured.calibration_rows || figure.low.empty()) {
    return "Coverage on " + count_of(measured.rows, "row") + " is lowest compared with the level at " + worst;
  }
  const auto of_levels = [&](std::ptrdiff_t some) {
    return count(static_cast<std::uint64_t>(some)) + " of " + count_of(static_cast<std::uint64_t>(n), "level");
  };
  const std::string band = "the band for " + count_of(*measured.calibration_rows, "calibration row") + " and " +
                           count_of(measured.rows, "test row");
  if (low > 0) {
    return "Coverage is too low, compared with " + band + ", at " + of_levels(low) + "; most at the level " + worst;
  }
  std::ptrdiff_t above = 0;
  for (std::size_t j = 0; j < figure.levels.size(); ++j) {
    if (figure.coverage[j] > figure.high[j]) ++above;
  }
  if (above > 0) {
    return "Coverage is never below " + band + "; at " + of_levels(above) +
           " it is above: these rows are easier than the calibration rows, or scores are tied.";
  }
  return "Coverage stays inside " + band + " at " +
         (n == 1 ? "the level " + written(LevelName{figure.levels.front()})
                 : "all " + count_of(static_cast<std::uint64_t>(n), "level")) +
         ".";
}

}  // namespace

MeasuredCoverage measured_coverage(std::vector<Level> levels, std::vector<std::uint64_t> covered, std::uint64_t rows,
                                   std::optional<std::uint64_t> calibration_rows, const Guarantee& guarantee) {
  MeasuredCoverage measured{
      .levels = std::move(levels), .covered = std::move(covered), .rows = rows, .calibration_rows = calibration_rows};
  if (!calibration_rows) return measured;
  const double confidence = 1 - (1 - kVerdictConfidence) / static_cast<double>(measured.levels.size());
  for (const Level& level : measured.levels) {
    measured.expected.push_back(measured_coverage_spread(level, *calibration_rows, rows, confidence, guarantee));
  }
  measured.greatest_level = guarantee.max_level(*calibration_rows);
  return measured;
}

MeasuredCoverage measured_coverage(const EvaluationPage& page) {
  const Model& model = page.model;
  MeasuredCoverage measured{.levels = page.levels,
                            .covered = page.covered,
                            .rows = page.predictions.size(),
                            .calibration_rows = model.calibration_rows(),
                            .expected = page.expected};
  if (model.scheme().spread_is_exact()) {
    measured.greatest_level = model.parts().guarantee.max_level(*measured.calibration_rows);
  }
  // The band of all these levels is wider than the range of those that are evaluated.
  for (const LevelEvaluation& level : page.report.levels) {
    if (level.verdict == Verdict::kTooLow) measured.too_low.push_back(level.level);
  }
  return measured;
}

CoverageFigure coverage_figure(const MeasuredCoverage& measured) {
  if (measured.covered.size() != measured.levels.size()) {
    throw make_error(ErrorCode::kShapeMismatch, "coverage: {}, but {} numbers of covered rows",
                     count_of(measured.levels.size(), "level"), measured.covered.size());
  }
  std::vector<std::size_t> order(measured.levels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return measured.levels[i].value(); });
  CoverageFigure figure;
  figure.heading = "Coverage at every level";
  figure.x_name = "level";
  figure.y_name = "coverage minus level, in points";
  figure.legend = {"expected, in 99% of cases", "level", "measured", "too low"};
  constexpr double kMinReach = 0.01;
  figure.reach = kMinReach;
  for (const std::size_t i : order) {
    const Level& level = measured.levels[i];
    const double coverage = static_cast<double>(measured.covered[i]) / static_cast<double>(measured.rows);
    std::vector<double> ends = {coverage};
    bool below = std::ranges::find(measured.too_low, level) != measured.too_low.end();
    if (!measured.expected.empty()) {
      const CoverageSpread& expected = measured.expected[i];
      if (expected.mean >= 1) continue;  // infinite intervals
      figure.low.push_back(expected.low);
      figure.high.push_back(expected.high);
      ends.insert(ends.end(), {expected.low, expected.high});
      below = below || coverage < expected.low;
    }
    figure.levels.push_back(level.value());
    figure.coverage.push_back(coverage);
    figure.below.push_back(below ? 1 : 0);
    for (const double end : ends) figure.reach = std::max(figure.reach, 1.05 * std::abs(end - level.value()));
  }
  if (figure.levels.empty()) {
    figure.caption = "There are too few calibration rows for any level.";
  } else {
    figure.caption = comparison(figure, measured);
  }
  if (figure.levels.size() == measured.levels.size()) return figure;
  figure.greatest_level = measured.greatest_level.value_or(figure.levels.empty() ? 0 : figure.levels.back());
  const std::string greatest = significant(100 * figure.greatest_level) + "%";
  figure.notes = {"infinite above " + greatest};
  figure.caption += " Intervals of levels above " + greatest + " are infinite.";
  return figure;
}

}  // namespace widthwise::internal
