#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <widthwise/matrix_view.hpp>

#include "evaluation/diagnostics/min_mean_run.hpp"

namespace widthwise::internal {

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
