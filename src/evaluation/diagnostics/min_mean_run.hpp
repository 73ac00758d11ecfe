#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace widthwise::internal
