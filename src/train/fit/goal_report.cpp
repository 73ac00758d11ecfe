#include "train/fit/goal_report.hpp"

#include <numeric>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/random.hpp>

namespace widthwise::internal {
GoalReport measure_goal(const ConformalRule& rule, const HoldOut& hold, const Level& level, const OutcomeRange& range,
                        double unit, std::uint64_t seed) {
  const std::size_t n = hold.outcomes.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  random.shuffle(std::span(order));

  std::vector<double> scores(n);
  rule.scores(hold.rows, hold.outcomes, scores);
  std::vector<double> lower(n);
  std::vector<double> upper(n);
  const std::size_t columns = rule.parameter_count();
  for (std::size_t half = 0; half < 2; ++half) {
    Calibration calibration;
    for (std::size_t i = half; i < n; i += 2) {
      calibration.add(i,
                      {.score = scores[order[i]], .above = hold.outcomes[order[i]] > hold.rows.predictions[order[i]]});
    }
    const Predictor predictor(rule, std::move(calibration));
    for (std::size_t i = 1 - half; i < n; i += 2) {
      const std::size_t row = order[i];
      const std::span<const double> parameters =
          columns == 0 ? std::span<const double>() : hold.rows.parameters.row(row);
      const Interval interval = predictor.interval(hold.rows.predictions[row], parameters, level, range);
      lower[row] = interval.lower;
      upper[row] = interval.upper;
    }
  }
  const IntervalRows intervals{lower, upper, hold.outcomes,
                               rule.may_be_empty() ? hold.rows.predictions : std::span<const double>()};
  const IntervalSummary summary = summarise(intervals, level);
  GoalReport report;
  report.mean_width = unit * summary.mean_width;
  report.coverage = summary.coverage.share;
  report.infinite = static_cast<double>(summary.infinite) / static_cast<double>(n);
  report.empty = static_cast<double>(summary.empty) / static_cast<double>(n);
  if (n >= 2) {
    const Proportion slab = worst_slab(intervals, hold.features, {.seed = seed}).coverage;
    if (slab.trials >= kMinSlabRows) report.worst_slab = slab;
  }
  return report;
}

}  // namespace widthwise::internal
