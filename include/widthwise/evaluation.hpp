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
#include <widthwise/labels.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/schemes.hpp>

namespace widthwise {

/// Whether measured coverage is consistent with exchangeable rows, given the sizes of calibration and test set.
enum class Verdict {
  kValid,      ///< consistent with exchangeable rows
  kTooLow,     ///< not valid on these rows
  kTooHigh,    ///< valid, but wider than necessary
  kInfinite,   ///< too few calibration rows for the level: every interval is infinite
  kNotJudged,  ///< no known law of coverage: all finite intervals take the quantile of pooled groups
};

/// "valid", "too low", "too high", "infinite", "not judged".
[[nodiscard]] std::string_view name_of(Verdict verdict);

/// Minimum probability that all verdicts on exchangeable rows are "valid". Levels that are evaluated together share the
/// error rate.
inline constexpr double kVerdictConfidence = 0.99;

/// Maximum probability that any place is called weak, or coverage uneven, if coverage is the same everywhere, over all
/// places and gaps of all levels that are evaluated together. Together with the verdict, an evaluation of exchangeable
/// rows with even coverage says anything else than "valid" with a probability of at most
/// 1 - kVerdictConfidence + kWeakPlaceError.
inline constexpr double kWeakPlaceError = 0.01;

/// Minimum number of test rows for the search of weak places.
inline constexpr std::size_t kMinSearchRows = 100;

/// Minimum number of rows of a tested bin.
inline constexpr std::size_t kMinBinRows = 20;

/// Minimum number of measured rows to report the coverage of a searched slab or range.
inline constexpr std::size_t kMinSlabRows = 50;

/// Number of features whose coverage by bins is kept: those with the smallest p-values. If none of them is categorical,
/// the categorical feature with the smallest p-value is kept as well.
inline constexpr std::size_t kMaxFeaturesKept = 4;

/// The expected coverage of n exchangeable rows with these quantiles. With a bound in place of
/// a law, independent rows fall below `low` with a probability of at most 1 - confidence, and `high` is 1. Rows of
/// pooled groups have no known law: `low` counts them as missed, `high` as covered.
[[nodiscard]] CoverageSpread expected_coverage(const CalibrationRanks& calibration, std::size_t n, double confidence);

/// Rows to search for places of low coverage: all rows, or a random sample of many rows.
struct SearchRows {
  std::span<const std::size_t> rows;         ///< m numbers of rows
  MatrixView features;                       ///< m x d, unscaled; NaN is a missing value
  std::span<const double> predictions = {};  ///< f(x) (m), searched like a feature; or empty
  /// The labels of each feature, none of a number; or empty: all are numbers. Bins of a categorical feature are its
  /// labels; ranges and slabs are searched in numbers only.
  std::span<const Labels> categories = {};
};

/// A column whose values are places to test, such as a region; it need not be a feature.
struct EvaluatedColumn {
  std::string name;                         ///< name of the column, for summaries and reports
  std::span<const double> values;           ///< n; NaN for a missing value
  const Labels* labels = nullptr;           ///< that the values number; null for numbers
  std::optional<std::size_t> feature = {};  ///< index of the feature, if it is one
};

/// Maximum number of bins with one integer each of a column of numbers, and of labels that are all shown, however few
/// rows they have.
inline constexpr std::size_t kMaxSingleValues = 20;

/// Number of rows that the search of `evaluate` processes in about a second; a larger sample adds little.
inline constexpr std::size_t kMaxSearchRows = 50'000;

/// Options of evaluate.
struct EvaluationOptions {
  std::size_t levels = 1;                       ///< number of levels evaluated together, which share the error rates
  std::span<const std::int64_t> clusters = {};  ///< n clusters of the rows, if the calibration has clusters

  /// Test the bins of this column as well: one per label, labels with fewer than kMinBinRows rows together if there are
  /// more than kMaxSingleValues; one per value for a few integers; else ten ranges of numbers. Not with clusters.
  std::optional<EvaluatedColumn> by = {};
};

/// Coverage by clusters of rows.
struct ClusterCoverage {
  /// Number of clusters with at least one evaluated row; with groups, a cluster counts in each of its groups.
  std::uint64_t clusters = 0;
  double mean = 0;                        ///< mean over clusters of the share of covered rows
  double rows = 0;                        ///< share of covered rows
  ClusterForm form = ClusterForm::kRows;  ///< which of the two the verdict is about
  bool differ = false;  ///< whether `mean` and `rows` differ by more than chance: sizes and coverage are related
  std::uint64_t rows_needed = 0;  ///< if rows count: calibration rows that finite intervals need
  std::uint64_t rows_have = 0;    ///< and those of the model

  /// The share that the verdict is about.
  [[nodiscard]] double judged() const { return form == ClusterForm::kRows ? rows : mean; }
};

/// How the rows of a place are defined.
enum class PlaceKind {
  kRange,       ///< the range of one feature where coverage is lowest
  kCategory,    ///< a label of a categorical feature
  kColumn,      ///< one of the bins of EvaluationOptions::by
  kFeature,     ///< one of the bins of a feature of numbers
  kGroup,       ///< a calibration group
  kPrediction,  ///< one of the bins of the prediction
  kWidth,       ///< one of the bins of the interval width
  kSlab,        ///< the slab of several features where coverage is lowest
};

/// "range", "category", "column", "feature", "group", "prediction", "width", "slab".
[[nodiscard]] std::string_view name_of(PlaceKind kind);

/// Rows described by the value of something, with their coverage.
struct Place {
  PlaceKind kind = PlaceKind::kFeature;  ///< determines which of the fields below apply
  std::size_t feature = 0;               ///< for kRange, kCategory and kFeature
  double low = 0;                        ///< NaN for rows with a missing value
  double high = 0;                       ///< as `low`
  bool reaches_min = false;              ///< as in FeatureSlab; false unless `kind` is kRange
  bool reaches_greatest = false;         ///< likewise
  std::string label = {};                ///< for kGroup, kCategory and kColumn; empty without one
  /// Of the rows of the place; of a searched range or slab, on the half not used for the search.
  Proportion coverage = {};
  double p_value = 1;  ///< that coverage is this low or lower, before the correction for the number of places
};

/// A place whose coverage is significantly below the level.
using WeakPlace = Place;

/// Coverage by bins of one feature.
struct FeatureBins {
  std::size_t feature = 0;     ///< index of the feature; the number of features means the prediction
  std::vector<Bin> bins = {};  ///< ascending by value, with missing values last; one per label of a category
};

/// Coverage by bins of the column of EvaluationOptions::by.
struct ColumnBins {
  std::string name = {};       ///< that of EvaluatedColumn
  std::vector<Bin> bins = {};  ///< ascending by value or label, with missing values last
};

/// How far coverage is from the level over the bins of the width, the prediction, a feature, the groups or a column.
struct CoverageGap {
  PlaceKind kind = PlaceKind::kWidth;  ///< kWidth, kPrediction, kFeature, kCategory, kGroup or kColumn
  std::size_t feature = 0;             ///< for kFeature and kCategory
  std::size_t bins = 0;                ///< of at least kMinBinRows rows; others are left out
  double mean = 0;                     ///< mean over the rows of |coverage of the bin - level|
  double by_chance = 0;                ///< about the expected mean if coverage is the same everywhere
  double largest = 0;                  ///< coverage minus level of the bin where it differs most
  /// Of the clearest difference, in either direction, corrected for all tests of places of all levels. Coverage is
  /// called uneven if it is at most kWeakPlaceError.
  double p_value = 1;
  Place highest = {};  ///< the bin whose coverage is most clearly above that of exchangeable rows
  Place lowest = {};   ///< the bin whose coverage is most clearly below
};

/// Maximum number of rows in each list of ListedRows.
inline constexpr std::size_t kMaxListedRows = 5;

/// A row that an evaluation lists, with its interval.
struct ListedRow {
  std::uint64_t row = 0;  ///< its number, from 1
  std::string id;         ///< Rows::ids; empty without one
  double outcome = 0;     ///< measured
  double lower = 0;       ///< bound
  double upper = 0;       ///< bound
};

/// Rows to look at: the widest intervals, and the outcomes that are farthest outside, of equal ones the first rows.
struct ListedRows {
  std::vector<ListedRow> widest = {};  ///< descending by width
  std::vector<ListedRow> missed = {};  ///< descending by the distance of the outcome from its interval
};

/// The rows to list. Rows after the last of the ids have none.
[[nodiscard]] ListedRows list_rows(const IntervalRows& rows, std::span<const std::string> ids);

/// The evaluation of intervals of one level: width, validity, and places with low coverage.
///
/// All statements about places and gaps come from one test with a family-wise error of kWeakPlaceError, so the marks of
/// bins, of the searched range and of the slab agree with `weak_places`, and `uneven` agrees with the p-values of gaps.
/// Rows without a known law of coverage (folds, pooled groups) are compared with each other: given how many of them are
/// covered, every selection of that many rows is equally likely if coverage is the same everywhere.
struct LevelEvaluation {
  Level level;                                   ///< nominal coverage of the intervals
  IntervalSummary intervals;                     ///< measured coverage and width
  CoverageSpread expected;                       ///< expected range of the measured coverage, at `confidence`
  double confidence = kVerdictConfidence;        ///< confidence of the verdict of this level
  Verdict verdict = Verdict::kValid;             ///< on the coverage of all rows, on `judged` or on `clusters`
  std::optional<Proportion> judged = {};         ///< coverage that the verdict is about, if pooled rows are left out
  std::optional<ClusterCoverage> clusters = {};  ///< what the verdict is about, if the calibration has clusters
  std::string summary;                           ///< the verdict, with advice
  std::optional<WorstSlab> slab;             ///< over random directions of standardised features; empty for few rows
  std::optional<FeatureSlab> weakest;        ///< range of one feature; empty for few rows
  bool slab_is_weak = false;                 ///< whether `slab` is weak
  bool range_is_weak = false;                ///< whether `weakest` is weak
  std::vector<Bin> by_width = {};            ///< ascending by width, with about equal counts
  std::vector<Bin> by_group = {};            ///< if rows have groups
  std::vector<FeatureBins> by_feature = {};  ///< by ascending p-value
  std::optional<ColumnBins> by = {};         ///< if a column was given
  std::uint64_t places_tested = 0;           ///< 0 if there are too few rows
  std::vector<WeakPlace> weak_places = {};   ///< the most actionable ones first
  /// By width, prediction, each feature, groups and column, as far as known; if places are tested.
  std::vector<CoverageGap> gaps = {};
  /// The one of `gaps` by which coverage is uneven, if coverage as a whole is not too low or too high.
  std::optional<std::size_t> uneven = {};
  std::optional<Ert> ert = {};  ///< if requested, see train/conditional_coverage.hpp
  ListedRows listed = {};       ///< if rows have ids
};

/// Evaluate n intervals of a calibrated model. Throws like summarise, and kInvalidArgument for rows without clusters
/// and a calibration with clusters, or the reverse.
///
/// With clusters, the verdict compares the share that the form of the model is about (ClusterForm) with the range
/// expected if each cluster were one row: the rows of a cluster may be covered all together. The range is wider than
/// necessary if they are not. If rows count, it is the approximate range of the effective numbers of clusters. Places
/// are not tested, because rows of a cluster are not independent.
[[nodiscard]] LevelEvaluation evaluate(const IntervalRows& rows, const Level& level,
                                       const CalibrationRanks& calibration, const SearchRows& search,
                                       const EvaluationOptions& options = {});

/// Set Bin::weak where coverage lies below the level, with a family-wise error of kWeakPlaceError over these bins
/// (Holm). Coverage is compared with its law for `calibration_rows` rows, or with the level itself if it is empty.
void mark_weak(std::span<Bin> bins, const Level& level, std::optional<std::uint64_t> calibration_rows);

}  // namespace widthwise
