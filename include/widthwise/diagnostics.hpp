#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise {

/// Intervals of n rows at one level, beside what happened.
struct IntervalRows {
  std::span<const double> lower;     ///< n; -infinity allowed
  std::span<const double> upper;     ///< n; +infinity allowed
  std::span<const double> outcomes;  ///< y (n), finite
  /// f(x) (n) where a conformal set may be empty (ConformalRule::may_be_empty): then the interval is the prediction
  /// alone. Without predictions no interval counts as empty.
  std::span<const double> predictions = {};
};

/// A share of rows, with its Clopper-Pearson interval.
struct Proportion {
  std::uint64_t successes = 0;
  std::uint64_t trials = 0;
  double share = 0;  ///< successes / trials; NaN when there are no trials
  double low = 0;    ///< ends of the interval of the confidence asked for (default 0.95)
  double high = 1;
};

/// confidence strictly between 0 and 1; at most 10^10 trials.
[[nodiscard]] Proportion proportion(std::uint64_t successes, std::uint64_t trials, double confidence = 0.95);

/// Coverage and width of one part of the rows.
struct Bin {
  double low = 0;   ///< the bin's least value, or its group's number (exact to 2^53)
  double high = 0;  ///< and its greatest
  Proportion coverage;
  double mean_width = 0;  ///< +infinity when any interval is infinite
  bool weak = false;      ///< coverage lies below the level by the test of `evaluate`, which sets this
};

/// Everything about n intervals of one level.
struct IntervalSummary {
  Proportion coverage;
  double mean_width = 0;
  double median_width = 0;
  std::uint64_t infinite = 0;  ///< intervals without a finite bound on some side
  std::uint64_t empty = 0;     ///< empty conformal sets, returned as the prediction alone
  std::uint64_t inside = 0;    ///< outcomes inside their interval and on none of its bounds, rounding apart
  double interval_score = 0;   ///< mean of width + (2 / alpha) distance outside (Gneiting and Raftery 2007)
};

[[nodiscard]] IntervalSummary summarise(const IntervalRows& rows, const Level& level);

/// Coverage of each group, ascending by group number.
[[nodiscard]] std::vector<Bin> coverage_by_group(const IntervalRows& rows, std::span<const std::int64_t> groups);

/// Coverage by equal bins of the interval width: even coverage keeps the level in every bin. Equal widths stay in
/// one bin, as do widths that only the rounding of their bounds tells apart, so there may be fewer bins than asked
/// for. Each bin ends at the place between different widths that is nearest to an equal count.
[[nodiscard]] std::vector<Bin> coverage_by_width(const IntervalRows& rows, std::size_t bins = 10);

/// The same by the values of one feature; rows with NaN there form a last part of their own, low and high NaN.
[[nodiscard]] std::vector<Bin> coverage_by_feature(const IntervalRows& rows, std::span<const double> feature,
                                                   std::size_t bins = 10);

struct WorstSlabOptions {
  double min_share = 0.1;  ///< slabs hold at least this share of the rows that choose them, in (0, 1]
  std::size_t directions = 1000;
  std::uint64_t seed = 0;
};

/// A slab {x: low <= <direction, x> <= high} and the coverage in it.
struct WorstSlab {
  Proportion coverage;            ///< on the half of the rows that did not choose the slab; few rows may leave it empty
  double search_coverage = 0;     ///< on the half that did; lower by selection
  std::vector<double> direction;  ///< of length 1, in the units of the features given
  double low = 0;
  double high = 0;
  std::vector<std::size_t> measured = {};  ///< numbers of the rows that `coverage` counts
};

/// The rows that choose slabs and those that measure them: the two halves of n rows in random order.
struct SlabHalves {
  std::vector<std::size_t> search;
  std::vector<std::size_t> measure;
};

/// How worst_slab and weakest_slab split n rows.
[[nodiscard]] SlabHalves slab_halves(std::size_t n, std::uint64_t seed = 0);

/// Find the slab of lowest coverage over random directions on one half of the rows, and measure it on the other
/// (Cauchois, Gupta and Duchi 2021). features (n x d), which the caller standardises. For each direction the
/// search over all slabs of at least the least share is exact but for rows within single precision of a slab's ends, in
/// O(n) after sorting; the slab returned is measured in double. NaN features count as 0; others are at most 1e30.
/// Throws kTooFewRows for a single row.
[[nodiscard]] WorstSlab worst_slab(const IntervalRows& rows, MatrixView features, const WorstSlabOptions& options = {});

/// Give every column mean 0 and deviation 1: the features for worst_slab, which treats columns alike. What is not
/// finite becomes 0, the middle. Row-major, n x d.
[[nodiscard]] std::vector<double> standardised(MatrixView features);

/// A range of one feature, low <= x <= high, and the coverage in it.
struct FeatureSlab {
  std::size_t feature = 0;
  double low = 0;
  double high = 0;
  bool reaches_min = false;                ///< no row that chose the range lies below it
  bool reaches_greatest = false;           ///< and none above
  Proportion coverage = {};                ///< on the half of the rows that did not choose the range
  double search_coverage = 0;              ///< on the half that did; lower by selection
  std::vector<std::size_t> measured = {};  ///< numbers of the rows that `coverage` counts
};

/// The same along one feature at a time, which a person can read: the range of lowest coverage among those of at least
/// options.min_share of the rows. features (n x d) need no standardising; rows without a finite value there are in no
/// range, and options.directions says nothing. Empty when no feature has enough finite values.
[[nodiscard]] std::optional<FeatureSlab> weakest_slab(const IntervalRows& rows, MatrixView features,
                                                      const WorstSlabOptions& options = {});

}  // namespace widthwise
