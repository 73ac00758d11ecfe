#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <widthwise/matrix_view.hpp>

#include "diagnostics/min_mean_run.hpp"

namespace widthwise::internal {

/// The rows x with low <= <direction, x> <= high, by the projection below.
struct Slab {
  std::vector<double> direction;
  double low = 0;
  double high = 0;
};

/// Features (n x d, or some of their rows) beside what was covered.
struct CoveredRows {
  MatrixView features;                    ///< n x d; NaN counts as 0
  std::span<const std::uint8_t> covered;  ///< n, each 0 or 1
  std::span<const std::size_t> chosen;    ///< the numbers of the rows to look at
};

[[nodiscard]] Tally tally_inside(const Slab& slab, const CoveredRows& rows);

/// Return the slab of least coverage among those that hold at least `min_rows` of the chosen rows, over the rows of
/// `directions` (k x d); the first direction wins a tie. Features are at most 1e30 and directions at most of length 1,
/// so that projections in float are finite.
[[nodiscard]] Slab find_worst_slab(const CoveredRows& rows, MatrixView directions, std::size_t min_rows);

}  // namespace widthwise::internal
