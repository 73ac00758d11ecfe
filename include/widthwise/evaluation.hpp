#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/diagnostics.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/plan.hpp>

namespace widthwise {

/// Whether measured coverage is what exchangeable rows would show, given the sizes of calibration and test.
enum class Verdict {
  kValid,
  kTooLow,    ///< not valid on these rows
  kTooHigh,   ///< valid, and wider than needed
  kInfinite,  ///< too few calibration rows for the level: every interval is infinite
};

/// "valid", "too low", "too high", "infinite".
[[nodiscard]] std::string_view name_of(Verdict verdict);

/// Probability that the verdicts on exchangeable rows are all "valid", at least. Levels that are evaluated together
/// share the rest.
inline constexpr double kVerdictConfidence = 0.99;

/// Probability that any place is called weak when coverage is the same everywhere, at most, over all places of all
/// levels that are evaluated together.
inline constexpr double kWeakPlaceError = 0.01;

/// Fewer test rows are not searched for weak places.
inline constexpr std::size_t kMinSearchRows = 100;

/// Fewer rows in a bin are not tested.
inline constexpr std::size_t kMinBinRows = 20;

/// The coverage of a searched slab or range is reported when at least this many rows measure it.
inline constexpr std::size_t kMinSlabRows = 50;

/// Features whose coverage by bins is kept: those with the least p-values.
inline constexpr std::size_t kMaxFeaturesKept = 4;

/// The calibration score that bounds the rows of one group: the rank-th smallest of `rows`.
struct GroupRank {
  std::int64_t group = 0;
  std::uint64_t rows = 0;
  std::uint64_t rank = 1;  ///< above `rows` when intervals are infinite
};

/// The calibration behind the intervals of n rows at one level.
struct CalibrationRanks {
  std::vector<GroupRank> groups = {};             ///< each once; rows of any other group have infinite intervals
  std::span<const std::int64_t> row_groups = {};  ///< n, or empty when all rows belong to groups.front()
  std::uint64_t min_rows = 0;                     ///< calibration rows per group that make intervals finite

  /// One quantile of so many scores for all rows.
  [[nodiscard]] static CalibrationRanks of_rows(const Level& level, std::uint64_t rows,
                                                const Guarantee& guarantee = {});

  /// The quantiles that a calibration gives rows of these groups (n, or empty).
  [[nodiscard]] static CalibrationRanks of(const Calibration& calibration, const Level& level,
                                           std::span<const std::int64_t> row_groups = {},
                                           const Guarantee& guarantee = {});
};

/// The coverage that exchangeable rows would show: n of them, bounded by these quantiles.
[[nodiscard]] CoverageSpread expected_coverage(const CalibrationRanks& calibration, std::size_t n, double confidence);

/// Rows to search for places of low coverage: all of them, or a random sample when they are many.
struct SearchRows {
  std::span<const std::size_t> rows;         ///< m numbers of rows
  MatrixView features;                       ///< m x d, as they are; NaN is a missing value
  std::span<const double> predictions = {};  ///< f(x) (m), searched like a feature; or empty
};

/// Rows that the search of `evaluate` takes a second or so over; a sample of more tells no more.
inline constexpr std::size_t kMaxSearchRows = 50'000;

struct EvaluationOptions {
  std::size_t levels = 1;  ///< evaluated together, each with its share of the error rates
};

/// What tells the rows of a place from the others.
enum class PlaceKind {
  kRange,       ///< the range of one feature where coverage is lowest
  kFeature,     ///< one of the bins of a feature
  kGroup,       ///< a calibration group
  kPrediction,  ///< one of the bins of the prediction
  kWidth,       ///< one of the bins of the interval width
  kSlab,        ///< the slab of several features where coverage is lowest
};

/// "range", "feature", "group", "prediction", "width", "slab".
[[nodiscard]] std::string_view name_of(PlaceKind kind);

/// Rows whose coverage lies below the level by more than chance.
struct WeakPlace {
  PlaceKind kind = PlaceKind::kFeature;
  std::size_t feature = 0;  ///< of kRange and kFeature
  double low = 0;           ///< NaN for the rows without a value
  double high = 0;
  bool reaches_min = false;
  bool reaches_greatest = false;
  Proportion coverage = {};
  double p_value = 1;  ///< before the correction for the number of places
};

/// Coverage by bins of one feature.
struct FeatureBins {
  std::size_t feature = 0;  ///< the number of features stands for the prediction
  std::vector<Bin> bins = {};
};

/// Everything about intervals of one level: cost, validity, and places where coverage is lower.
///
/// Every claim about places comes from one test with a family-wise error of kWeakPlaceError: the marks of bins, of the
/// searched range and of the slab, and `weak_places` agree by construction.
struct LevelEvaluation {
  Level level;
  IntervalSummary intervals;
  CoverageSpread expected;                 ///< of the measured coverage, at `confidence`
  double confidence = kVerdictConfidence;  ///< of this level's verdict
  Verdict verdict = Verdict::kValid;
  std::string summary;                 ///< the verdict, with what to do
  std::optional<WorstSlab> slab;       ///< over random directions of standardised features; empty for few rows
  std::optional<FeatureSlab> weakest;  ///< along one feature, for people; empty for few rows
  bool slab_is_weak = false;
  bool range_is_weak = false;  ///< of `weakest`
  std::vector<Bin> by_width = {};
  std::vector<Bin> by_group = {};            ///< when rows have groups
  std::vector<FeatureBins> by_feature = {};  ///< of features with the least p-values first
  std::uint64_t places_tested = 0;           ///< 0 when rows are too few to tell
  std::vector<WeakPlace> weak_places = {};   ///< those that are easiest to act on first
};

/// Evaluate n intervals of a calibrated model. Throws as summarise does.
[[nodiscard]] LevelEvaluation evaluate(const IntervalRows& rows, const Level& level,
                                       const CalibrationRanks& calibration, const SearchRows& search,
                                       const EvaluationOptions& options = {});

/// Set Bin::weak where coverage lies below the level, with a family-wise error of kWeakPlaceError over these bins
/// (Holm). Coverage is compared with what `calibration_rows` rows give, or with the level itself without a number.
void mark_weak(std::span<Bin> bins, const Level& level, std::optional<std::uint64_t> calibration_rows);

/// The range as people say it: "sqft_living is at least 4,000". `name` is the feature's.
[[nodiscard]] std::string summary(const FeatureSlab& slab, std::string_view name);

/// The same for any place: "grade is 10 to 13", "group is 3". The slab is named by the features that weigh most.
[[nodiscard]] std::string summary(const WeakPlace& place, const LevelEvaluation& evaluation,
                                  std::span<const std::string> features);

}  // namespace widthwise
