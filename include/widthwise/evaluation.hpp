#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/plan.hpp>

namespace widthwise {

/// Whether the coverage of a test is what the calibration promises, by more than the luck of its rows and of the
/// test's.
enum class Verdict {
  kValid,
  kTooLow,    ///< not valid on these rows
  kTooHigh,   ///< valid, and wider than need be
  kInfinite,  ///< too few calibration rows for the level: every interval is infinite, nothing is promised or broken
};

/// "valid", "too low", "too high", "infinite".
[[nodiscard]] std::string_view name_of(Verdict verdict);

/// The share of honest models that are not called dishonest.
inline constexpr double kVerdictConfidence = 0.99;

/// Rows to search for places of low coverage: all of them, or a random sample when they are many.
struct SearchRows {
  std::span<const std::size_t> rows;  ///< m numbers of rows
  MatrixView features;                ///< m x d, as they are; NaN is a missing value
};

/// Rows that the search of `evaluate` takes a second or so over; a sample of more tells no more.
inline constexpr std::size_t kSearchRowsAtMost = 50'000;

/// Everything about intervals of one level: what they cost, whether they keep their promise, and where not.
struct Evaluation {
  Level level;
  IntervalSummary summary;
  CoverageSpread expected;  ///< what is promised of the coverage measured, at kVerdictConfidence
  Verdict verdict = Verdict::kValid;
  std::string in_words;                ///< the verdict, with what to do
  std::optional<WorstSlab> slab;       ///< over random directions of standardised features; empty for few rows
  std::optional<FeatureSlab> weakest;  ///< along one feature, for people; empty for few rows
  std::vector<Part> by_width;

  /// Whether the weakest range is weak for certain: its coverage lies below the level with 95 % confidence.
  [[nodiscard]] bool has_weak_range() const;
};

/// Evaluate n intervals of a model that was calibrated with so many rows, for this guarantee.
[[nodiscard]] Evaluation evaluate(const IntervalRows& rows, const Level& level, std::uint64_t calibration_rows,
                                  const SearchRows& search, const Guarantee& guarantee = {});

/// The range as people say it: "sqft_living is at least 4,000". `name` is the feature's.
[[nodiscard]] std::string in_words(const FeatureSlab& slab, std::string_view name);

}  // namespace widthwise
