#include <widthwise/evaluation.hpp>

#include "text.hpp"

namespace widthwise {
namespace {

using internal::count;
using internal::count_of;
using internal::percent;
using internal::percent_range;

constexpr std::size_t kLeastSearchRows = 100;  // fewer say nothing

std::string say(Verdict verdict, std::uint64_t least_rows, const Proportion& coverage, const CoverageSpread& expected) {
  if (verdict == Verdict::kInfinite) {
    return "Nothing to judge: intervals are infinite until there are " + count_of(least_rows, "calibration row") +
           "; the model has " + count(expected.rows) + ".";
  }
  const std::string measured = "Coverage of " + percent(coverage.share);
  const std::string promise = "what " + count_of(expected.rows, "calibration row") + " promise for a test of " +
                              count_of(coverage.trials, "row") + " (" + percent_range(expected.low, expected.high) +
                              ", in " + percent(kVerdictConfidence, 0) + " of cases)";
  if (verdict == Verdict::kTooLow) {
    return "Not valid here. " + measured + " is below " + promise +
           ". These rows are harder than those of the calibration: calibrate again with rows like them.";
  }
  if (verdict == Verdict::kTooHigh) {
    return "Valid, but wider than need be. " + measured + " is above " + promise +
           ". These rows are easier than those of the calibration.";
  }
  return "Valid. " + measured + " is " + promise + ".";
}

Verdict judge(std::uint64_t least_rows, const Proportion& coverage, const CoverageSpread& expected) {
  if (expected.rows < least_rows) return Verdict::kInfinite;
  if (coverage.share < expected.low) return Verdict::kTooLow;
  if (coverage.share > expected.high) return Verdict::kTooHigh;
  return Verdict::kValid;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kValid:
      return "valid";
    case Verdict::kTooLow:
      return "too low";
    case Verdict::kTooHigh:
      return "too high";
    case Verdict::kInfinite:
      return "infinite";
  }
  return "";
}

bool Evaluation::has_weak_range() const {
  return weakest && weakest->coverage.trials > 0 && weakest->coverage.high < level.value();
}

Evaluation evaluate(const IntervalRows& rows, const Level& level, std::uint64_t calibration_rows,
                    const SearchRows& search, const Guarantee& guarantee) {
  Evaluation result{.level = level,
                    .summary = summarise(rows, level),
                    .expected = {},
                    .in_words = {},
                    .slab = {},
                    .weakest = {},
                    .by_width = coverage_by_width(rows)};
  const Proportion& coverage = result.summary.coverage;
  result.expected = measured_coverage_spread(level, calibration_rows, coverage.trials, kVerdictConfidence, guarantee);
  const std::uint64_t least_rows = guarantee.least_rows(level);
  result.verdict = judge(least_rows, coverage, result.expected);
  result.in_words = say(result.verdict, least_rows, coverage, result.expected);

  const std::size_t m = search.rows.size();
  if (search.features.columns() == 0 || m < kLeastSearchRows) return result;
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> outcomes;
  for (const std::size_t row : search.rows) {
    lower.push_back(rows.lower[row]);
    upper.push_back(rows.upper[row]);
    outcomes.push_back(rows.outcomes[row]);
  }
  const IntervalRows sampled{lower, upper, outcomes};
  const std::vector<double> features = standardised(search.features);
  result.slab = worst_slab(sampled, {features.data(), m, search.features.columns()});
  result.weakest = weakest_slab(sampled, search.features);
  return result;
}

std::string in_words(const FeatureSlab& slab, std::string_view name) {
  using internal::significant;
  const std::string subject = std::string(name) + " is ";
  if (slab.low == slab.high) return subject + significant(slab.low);
  if (slab.reaches_least && slab.reaches_greatest) return subject + "anything";
  if (slab.reaches_greatest) return subject + "at least " + significant(slab.low);
  if (slab.reaches_least) return subject + "at most " + significant(slab.high);
  return subject + significant(slab.low) + " to " + significant(slab.high);
}

}  // namespace widthwise
