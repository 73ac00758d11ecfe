#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <widthwise/matrix_view.hpp>

namespace widthwise::internal {

/// Number of rows and of covered rows. Both stay below 2^31, so that their products do not overflow.
struct Tally {
  std::int64_t rows = 0;
  std::int64_t covered = 0;

  friend Tally operator-(const Tally& a, const Tally& b) { return {a.rows - b.rows, a.covered - b.covered}; }
};

/// Whether the mean of a is below that of b; both have rows.
[[nodiscard]] inline bool mean_is_less(const Tally& a, const Tally& b) {
  return a.covered * b.rows < b.covered * a.rows;
}

/// The rows between two cuts.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Return the cuts between which at least `min_rows` rows have the smallest mean coverage, exactly and in O(cuts). Of
/// equal means, the run that ends first is returned, and of these the one that begins first.
///
/// cuts[i] counts all rows before the i-th position at which a run may begin or end: cuts[0] is {0, 0}, rows increase
/// strictly, and the last cut has at least `min_rows`.
[[nodiscard]] Run min_mean_run(std::span<const Tally> cuts, std::int64_t min_rows);

/// The rows x with low <= <direction, x> <= high, with the projection below.
struct Slab {
  std::vector<double> direction;
  double low = 0;
  double high = 0;
};

/// Features (n x d, or some of their rows), and which rows are covered.
struct CoveredRows {
  MatrixView features;                    ///< n x d; NaN counts as 0
  std::span<const std::uint8_t> covered;  ///< n, each 0 or 1
  std::span<const std::size_t> chosen;    ///< the numbers of the rows to use
};

[[nodiscard]] Tally tally_inside(const Slab& slab, const CoveredRows& rows);

/// Return the slab with the lowest coverage among those with at least `min_rows` of the chosen rows, over the rows of
/// `directions` (k x d); the first of equal directions. Features are at most 1e30 and directions have length at most 1,
/// so that projections in float are finite.
[[nodiscard]] Slab find_worst_slab(const CoveredRows& rows, MatrixView directions, std::size_t min_rows);

}  // namespace widthwise::internal
