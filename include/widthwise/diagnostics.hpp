#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/labels.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise {

/// Intervals of n rows at one level, with the outcomes.
struct IntervalRows {
  std::span<const double> lower;     ///< n; -infinity allowed
  std::span<const double> upper;     ///< n; +infinity allowed
  std::span<const double> outcomes;  ///< y (n), finite
  /// f(x) (n) if conformal sets may be empty (ConformalRule::may_be_empty); the interval of an empty set is the
  /// prediction itself. Without predictions, no interval counts as empty.
  std::span<const double> predictions = {};
};

/// A proportion of rows with its Clopper-Pearson interval.
struct Proportion {
  std::uint64_t successes = 0;  ///< at most `trials`; covered rows if it is a coverage
  std::uint64_t trials = 0;     ///< number of rows counted, at most 10^10
  double share = 0;             ///< successes / trials; NaN if there are no trials
  double low = 0;               ///< bounds of the confidence interval (default confidence 0.95)
  double high = 1;              ///< as `low`; low = 0 and high = 1 if there are no trials
};

/// Compute a proportion. confidence is strictly between 0 and 1; at most 10^10 trials.
[[nodiscard]] Proportion proportion(std::uint64_t successes, std::uint64_t trials, double confidence = 0.95);

/// Coverage and width of one bin of the rows.
struct Bin {
  double low = 0;                ///< smallest value in the bin, or the number of the group (exact up to 2^53)
  double high = 0;               ///< largest value in the bin
  Proportion coverage;           ///< of the rows in the bin
  double mean_width = 0;         ///< +infinity if any interval is infinite
  bool weak = false;             ///< whether the test of `evaluate` finds coverage below the level
  std::string label = {};        ///< label of the group or category; empty for a range of numbers
  std::uint64_t infinite = 0;    ///< intervals with an infinite bound on at least one side
  double finite_mean_width = 0;  ///< mean width of the finite intervals; NaN if there are none
};

/// Summary statistics of n intervals of one level.
struct IntervalSummary {
  Proportion coverage;         ///< share of outcomes within the bounds, which are included
  double mean_width = 0;       ///< in the unit of y; +infinity if any interval is infinite
  double median_width = 0;     ///< in the unit of y; +infinity if at least half of the intervals are infinite
  std::uint64_t infinite = 0;  ///< intervals with an infinite bound on at least one side
  std::uint64_t empty = 0;     ///< empty conformal sets, whose interval is the prediction itself
  std::uint64_t inside = 0;    ///< outcomes strictly inside their interval, up to rounding
  double interval_score = 0;   ///< mean of width + (2 / alpha) distance outside (Gneiting and Raftery 2007)
  // The same of the finite intervals alone.
  double finite_mean_width = 0;      ///< mean_width of the finite intervals; NaN if there are none
  double finite_interval_score = 0;  ///< interval_score of the finite intervals; NaN if there are none
};

/// Summarise n >= 1 intervals of this level. Throws kShapeMismatch, kNotFinite or kInvalidArgument for invalid rows.
[[nodiscard]] IntervalSummary summarise(const IntervalRows& rows, const Level& level);

/// An estimate with its standard error over independent rows.
struct Estimate {
  double value = 0;           ///< mean over the rows
  double standard_error = 0;  ///< standard deviation over the rows / sqrt(n)
};

/// The excess risk of the level for one loss. The parts of rows where coverage is predicted to lie below and above the
/// level add up to the total.
struct ExcessRisk {
  Estimate total;  ///< under + over
  Estimate under;  ///< part of rows with a predicted probability below the level
  Estimate over;   ///< part of rows with a predicted probability above the level
};

/// The excess risk of the target coverage, ERT (Braun, Holzmueller, Jordan and Bach 2025): the risk of predicting that
/// rows are covered with the level as probability, minus the risk of predicting it with a classifier of x. It is a
/// lower bound, in expectation, of the distance of coverage given x from the level, and reaches it for the best
/// classifier. If coverage is the level at every x, the expectation is at most 0, and an estimate is negative by
/// chance.
struct Ert {
  std::uint64_t rows = 0;  ///< rows with a predicted probability, at least 2
  ExcessRisk l1;           ///< of the mean absolute distance
  ExcessRisk brier;        ///< of the mean squared distance
  ExcessRisk kl;  ///< of the mean Kullback-Leibler divergence, in nats; probabilities are clipped to [1e-6, 1 - 1e-6]
};

/// Compute the ERT from whether n rows are covered (0 or 1) and from the probabilities that a classifier gives them
/// (n), which must not have been trained on the rows that it predicts. Throws kTooFewRows for fewer than 2 rows, and
/// kInvalidArgument for a probability outside [0, 1].
[[nodiscard]] Ert excess_risk(std::span<const std::uint8_t> covered, std::span<const double> probabilities,
                              const Level& level);

/// Mean scores of rows, which count with their weights.
struct CrpsSummary {
  double mean = 0;             ///< NaN without rows, +infinity if a quantile of a row with weight is infinite
  double finite_mean = 0;      ///< over the rows whose quantiles are all finite; NaN if there are none
  std::uint64_t infinite = 0;  ///< rows with weight and an infinite quantile
  std::uint64_t rows = 0;      ///< all rows
};

/// The continuous ranked probability score (CRPS) of quantiles at m ascending probabilities t, as the mean over rows of
/// 2 sum_j w_j (1{y < q_j} - t_j) (q_j - y). w_j is the length of the cell of t_j: (0, 1) is divided at the midpoints
/// between neighbouring probabilities. With t_j = (j - 1/2) / m, it is exactly the score of the distribution with mass
/// 1 / m at each quantile (Gneiting and Raftery 2007). In the unit of y; lower is better.
/// Thread safety: none.
class Crps {
 public:
  /// Throws kInvalidArgument if there are no probabilities, or if they do not ascend.
  explicit Crps(std::vector<Level> probabilities = default_probabilities());

  /// (j - 1/2) / 20.
  [[nodiscard]] static std::vector<Level> default_probabilities();

  /// The m ascending probabilities t, one per column of quantiles in `add`.
  [[nodiscard]] const std::vector<Level>& probabilities() const { return probabilities_; }

  /// Add n rows: quantiles (n x m), which may be infinite, outcomes (n), and weights (n, finite and at least 0) or none
  /// if all rows count equally. How rows are divided into calls does not change the score. Throws kNotFinite, with the
  /// row, for NaN, and kInvalidArgument for an invalid weight.
  void add(MatrixView quantiles, std::span<const double> outcomes, std::span<const double> weights = {});

  /// The score of all rows: NaN without rows, +infinity if a quantile is infinite.
  [[nodiscard]] double mean() const { return summary().mean; }

  /// The score of all rows, and that of the rows without infinite quantiles.
  [[nodiscard]] CrpsSummary summary() const;

 private:
  std::vector<Level> probabilities_;
  std::vector<double> cells_;  // the lengths w
  double sum_ = 0;             // over rows with finite quantiles
  double weight_ = 0;          // of these rows
  std::uint64_t infinite_ = 0;
  std::uint64_t rows_ = 0;
};

/// Coverage of each group, ascending by group number.
[[nodiscard]] std::vector<Bin> coverage_by_group(const IntervalRows& rows, std::span<const std::int64_t> groups);

/// Coverage by bins of the interval width with about equal counts; even coverage has the level in every bin. Rows of
/// equal width, or of widths that differ only by rounding, stay in one bin, so there may be fewer bins than requested.
/// Each bin ends at the boundary between different widths that is nearest to an equal count.
[[nodiscard]] std::vector<Bin> coverage_by_width(const IntervalRows& rows, std::size_t bins = 10);

/// Coverage by bins of one feature; rows with NaN form a separate last bin, whose low and high are NaN.
[[nodiscard]] std::vector<Bin> coverage_by_feature(const IntervalRows& rows, std::span<const double> feature,
                                                   std::size_t bins = 10);

/// Label of the bin of all labels with few rows.
inline constexpr const char* kOtherLabels = "(other)";

/// Coverage of each label of a column: integers ascending, then texts. Labels with fewer than `min_rows` rows share the
/// bin kOtherLabels, which comes next; rows without a label form a separate last bin without a label. numbers (n) are
/// those of the labels, NaN for none. low and high are those of an integer, NaN for a text. Throws kInvalidArgument for
/// a number without a label.
[[nodiscard]] std::vector<Bin> coverage_by_label(const IntervalRows& rows, std::span<const double> numbers,
                                                 const Labels& labels, std::size_t min_rows = 0);

/// Options of worst_slab and weakest_slab.
struct WorstSlabOptions {
  double min_share = 0.1;         ///< smallest share of the search rows in a slab, in (0, 1]
  std::size_t directions = 1000;  ///< number of random directions to search, at least 1
  std::uint64_t seed = 0;         ///< of the halves and of the directions
};

/// A slab {x: low <= <direction, x> <= high} and the coverage in it.
struct WorstSlab {
  Proportion coverage;            ///< on the half of the rows not used for the search; may have no trials for few rows
  double search_coverage = 0;     ///< on the search half; biased downwards by selection
  std::vector<double> direction;  ///< unit vector, in the units of the given features
  double low = 0;                 ///< smallest <direction, x> of the slab, included
  double high = 0;                ///< largest <direction, x> of the slab, included
  std::vector<std::size_t> measured = {};  ///< numbers of the rows that `coverage` counts
};

/// The rows for the search of slabs and for their measurement: two random halves of n rows.
struct SlabHalves {
  std::vector<std::size_t> search;   ///< numbers of the first n / 2 rows in random order
  std::vector<std::size_t> measure;  ///< numbers of the others
};

/// Split n rows as worst_slab and weakest_slab do.
[[nodiscard]] SlabHalves slab_halves(std::size_t n, std::uint64_t seed = 0);

/// Find the slab with the lowest coverage over random directions on one half of the rows, and measure it on the other
/// (Cauchois, Gupta and Duchi 2021). The caller standardises the features (n x d). For each direction, the search over
/// all slabs with at least min_share of the rows takes O(n) after sorting. It is exact except for rows within single
/// precision of the ends of a slab; the returned slab is measured in double precision. NaN features count as 0; others
/// are at most 1e30. Throws kTooFewRows for a single row.
[[nodiscard]] WorstSlab worst_slab(const IntervalRows& rows, MatrixView features, const WorstSlabOptions& options = {});

/// Standardise every column to mean 0 and deviation 1, for worst_slab. Values that are not finite become 0, the mean.
/// Row-major, n x d.
[[nodiscard]] std::vector<double> standardised(MatrixView features);

/// A range of one feature, low <= x <= high, and the coverage in it.
struct FeatureSlab {
  std::size_t feature = 0;                 ///< column of `features`, from 0
  double low = 0;                          ///< smallest value of the range, included
  double high = 0;                         ///< largest value of the range, included
  bool reaches_min = false;                ///< no search row lies below the range
  bool reaches_greatest = false;           ///< no search row lies above the range
  Proportion coverage = {};                ///< on the half of the rows not used for the search
  double search_coverage = 0;              ///< on the search half; biased downwards by selection
  std::vector<std::size_t> measured = {};  ///< numbers of the rows that `coverage` counts
};

/// Find the range of a single feature with the lowest coverage, among ranges with at least options.min_share of the
/// rows. Such a range is easier to interpret than a slab. features (n x d) need not be standardised. Rows without a
/// finite value are in no range, and options.directions is ignored. Empty if no feature has enough finite values.
[[nodiscard]] std::optional<FeatureSlab> weakest_slab(const IntervalRows& rows, MatrixView features,
                                                      const WorstSlabOptions& options = {});

}  // namespace widthwise
