#include "evaluation/diagnostics/slab_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/vector_math.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kTile = 128;     // rows projected together
constexpr std::size_t kTogether = 16;  // directions per pass over the features

/// A row in one direction, as an integer that sorts by projection: the order-preserving bits of a float, of which the
/// last makes room for whether the row is covered.
///
/// 23 significant bits are enough for the search. They distinguish about ten million positions, so only rows within a
/// millionth of the ends of a slab can fall on the wrong side. The slab found is then measured in double precision.
using Key = std::uint32_t;

constexpr Key kCoveredBit = 1;

Key key_of(float projection, std::uint8_t covered) {
  constexpr Key kSign = 0x80000000U;
  const Key bits = std::bit_cast<Key>(projection);
  const Key ordered = (bits & kSign) != 0 ? ~bits : bits | kSign;
  return (ordered & ~kCoveredBit) | covered;
}

double known(double feature) { return std::isnan(feature) ? 0 : feature; }

double project(std::span<const double> direction, std::span<const double> row) {
  double sum = 0;
  for (std::size_t j = 0; j < direction.size(); ++j) sum += direction[j] * known(row[j]);
  return sum;
}

/// The selected rows, packed for many passes. Features are stored in tiles of kTile rows, each tile column by column,
/// so that a tile stays in the first-level cache for several directions. The last tile is padded with zeros.
struct PackedRows {
  explicit PackedRows(const CoveredRows& rows)
      : columns(rows.features.columns()),
        features((rows.chosen.size() + kTile - 1) / kTile * kTile * columns),
        covered(rows.chosen.size()) {
    for (std::size_t i = 0; i < covered.size(); ++i) {
      const std::span<const double> row = rows.features.row(rows.chosen[i]);
      float* tile = features.data() + i / kTile * kTile * columns;
      for (std::size_t j = 0; j < columns; ++j) tile[j * kTile + i % kTile] = static_cast<float>(known(row[j]));
      covered[i] = rows.covered[rows.chosen[i]];
    }
  }

  std::size_t columns;
  std::vector<float> features;
  std::vector<std::uint8_t> covered;
};

/// Write the keys of the rows of one tile in one direction. The sums start at +0, so none becomes -0, which would have
/// another key. They are local, so the compiler knows that nothing aliases them.
WIDTHWISE_VECTORISED void write_tile_keys(const float* tile, std::span<const float> direction,
                                          std::span<const std::uint8_t> covered, Key* out) {
  std::array<float, kTile> sums{};
  for (std::size_t j = 0; j < direction.size(); ++j) {
    const float weight = direction[j];
    for (std::size_t i = 0; i < kTile; ++i) sums[i] += weight * tile[j * kTile + i];
  }
  for (std::size_t i = 0; i < covered.size(); ++i) out[i] = key_of(sums[i], covered[i]);
}

/// Write the keys of all rows in each direction: directions (k x d), and k vectors with room for every row.
void write_keys(const PackedRows& rows, BasicMatrixView<const float> directions, std::span<std::vector<Key>> keys) {
  const std::span<const std::uint8_t> covered(rows.covered);
  for (std::size_t first = 0; first < covered.size(); first += kTile) {
    const float* tile = rows.features.data() + first * rows.columns;
    const std::size_t count = std::min(kTile, covered.size() - first);
    for (std::size_t k = 0; k < directions.rows(); ++k) {
      write_tile_keys(tile, directions.row(k), covered.subspan(first, count), keys[k].data() + first);
    }
  }
}

/// Radix sort with three passes of 11 bits, least significant first; `scratch` has the same size.
void radix_sort(std::vector<Key>& keys, std::vector<Key>& scratch) {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  constexpr std::size_t kPasses = 3;
  const auto digit = [](Key key, std::size_t pass) { return (key >> (pass * kBits)) & (kBuckets - 1); };

  std::array<std::array<std::uint32_t, kBuckets>, kPasses> places{};
  for (const Key key : keys) {
    for (std::size_t pass = 0; pass < kPasses; ++pass) ++places[pass][digit(key, pass)];
  }
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    std::uint32_t before = 0;
    for (std::uint32_t& place : places[pass]) before += std::exchange(place, before);
    for (const Key key : keys) scratch[places[pass][digit(key, pass)]++] = key;
    keys.swap(scratch);
  }
}

/// Count up to every boundary between two different projections: rows with the same projection are never separated,
/// because a slab contains all of them or none.
void tally_cuts(std::span<const Key> sorted, std::vector<Tally>& cuts) {
  cuts.assign(1, Tally{});
  Tally tally;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    ++tally.rows;
    tally.covered += sorted[i] & kCoveredBit;
    if (i + 1 == sorted.size() || ((sorted[i] ^ sorted[i + 1]) & ~kCoveredBit) != 0) cuts.push_back(tally);
  }
}

/// The narrowest slab around the rows with keys from `first` to `last`; keys[i] is that of rows.chosen[i].
Slab slab_around(const CoveredRows& rows, std::span<const double> direction, std::span<const Key> keys, Key first,
                 Key last) {
  Slab slab{.direction{direction.begin(), direction.end()},
            .low = std::numeric_limits<double>::infinity(),
            .high = -std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] < first || keys[i] > last) continue;
    const double projection = project(direction, rows.features.row(rows.chosen[i]));
    slab.low = std::min(slab.low, projection);
    slab.high = std::max(slab.high, projection);
  }
  return slab;
}

}  // namespace

Tally tally_inside(const Slab& slab, const CoveredRows& rows) {
  Tally tally;
  for (const std::size_t i : rows.chosen) {
    const double projection = project(slab.direction, rows.features.row(i));
    if (projection < slab.low || projection > slab.high) continue;
    ++tally.rows;
    tally.covered += rows.covered[i];
  }
  return tally;
}

Slab find_worst_slab(const CoveredRows& rows, MatrixView directions, std::size_t min_rows) {
  const PackedRows packed(rows);
  const std::size_t m = rows.chosen.size();
  std::vector<float> weights(kTogether * packed.columns);
  std::vector<std::vector<Key>> keys(kTogether, std::vector<Key>(m));
  std::vector<Key> sorted(m);
  std::vector<Key> scratch(m);
  std::vector<Tally> cuts;
  Slab worst;
  Tally worst_tally;
  for (std::size_t first = 0; first < directions.rows(); first += kTogether) {
    const MatrixView block = directions.slice(first, std::min(kTogether, directions.rows() - first));
    const BasicMatrixView<float> rounded(weights.data(), block.rows(), packed.columns);
    for (std::size_t k = 0; k < block.rows(); ++k) {
      std::ranges::transform(block.row(k), rounded.row(k).begin(), [](double x) { return static_cast<float>(x); });
    }
    write_keys(packed, rounded, keys);
    for (std::size_t k = 0; k < block.rows(); ++k) {
      sorted = keys[k];
      radix_sort(sorted, scratch);
      tally_cuts(sorted, cuts);
      const Run run = min_mean_run(cuts, static_cast<std::int64_t>(min_rows));
      const Tally tally = cuts[run.end] - cuts[run.begin];
      if (worst_tally.rows != 0 && !mean_is_less(tally, worst_tally)) continue;
      const Key minimum = sorted[static_cast<std::size_t>(cuts[run.begin].rows)] & ~kCoveredBit;
      const Key maximum = sorted[static_cast<std::size_t>(cuts[run.end].rows) - 1] | kCoveredBit;
      worst = slab_around(rows, block.row(k), keys[k], minimum, maximum);
      worst_tally = tally;
    }
  }
  return worst;
}

// With the cuts as points (rows, covered), the mean of a run is the slope from its begin to its end. For one end, the
// begin with the smallest slope is where the tangent from the end touches the upper hull of the cuts at least
// `min_rows` before it. The hull loses points at its back as new cuts are added. Points removed at its front are never
// needed again: if hull[1] has a smaller slope to this end than hull[0], the edge between them is steeper than that
// slope. A later end for which hull[0] is better lies above the line of the edge, so its slope is larger than one
// already found.
Run min_mean_run(std::span<const Tally> cuts, std::int64_t min_rows) {
  std::vector<std::size_t> hull(cuts.size());
  std::size_t front = 0;
  std::size_t back = 0;  // the hull is hull[front, back)
  std::size_t candidate = 0;
  Run best;
  for (std::size_t end = 1; end < cuts.size(); ++end) {
    for (; cuts[end].rows - cuts[candidate].rows >= min_rows; ++candidate) {
      const Tally& added = cuts[candidate];
      while (back - front >= 2) {
        const Tally& last = cuts[hull[back - 1]];
        if (mean_is_less(added - last, last - cuts[hull[back - 2]])) break;
        --back;
      }
      hull[back++] = candidate;
    }
    if (front == back) continue;
    while (back - front >= 2 && mean_is_less(cuts[end] - cuts[hull[front + 1]], cuts[end] - cuts[hull[front]])) ++front;
    const Run run{hull[front], end};
    if (best.end == 0 || mean_is_less(cuts[run.end] - cuts[run.begin], cuts[best.end] - cuts[best.begin])) best = run;
  }
  return best;
}

}  // namespace widthwise::internal
