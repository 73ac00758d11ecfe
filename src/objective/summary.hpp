#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <widthwise/objective.hpp>

#include "objective/level_window.hpp"
#include "objective/pair_sums.hpp"

namespace widthwise::internal {

/// Bins of constant width near the centre and of 1/32 of the distance far from it, so that few bins cover twelve orders
/// of magnitude. A bin is found from the bits of 1 + |x|, without a logarithm.
class BinGrid {
 public:
  static constexpr std::size_t kPerOctave = 32;
  static constexpr std::size_t kBelow = 17 * kPerOctave;  // thresholds vary less than values
  static constexpr std::size_t kAbove = 33 * kPerOctave;
  static constexpr std::size_t kBins = kBelow + kAbove;

  BinGrid(double centre, double spread);

  /// From the mean fourth root of the distance from the centre.
  static BinGrid around(double centre, double mean_root);

  /// (t - centre) / spread, the coordinate that bins divide.
  [[nodiscard]] double coordinate(double t) const { return (t - centre_) * inverse_spread_; }
  [[nodiscard]] double value(double x) const { return centre_ + x * spread_; }
  [[nodiscard]] double spread() const { return spread_; }

  /// The bin of a coordinate: edge(bin) <= x <= edge(bin + 1). The first and the last bin are unbounded. Without a
  /// branch, which would be mispredicted for every other row.
  [[nodiscard]] static std::size_t bin_of(double x) {
    const std::uint64_t k = (std::bit_cast<std::uint64_t>(1 + std::abs(x)) >> kMantissaShift) - kOneBits;
    const std::size_t above = kBelow + std::min<std::uint64_t>(k, kAbove - 1);
    const std::size_t below = kBelow - 1 - std::min<std::uint64_t>(k, kBelow - 1);
    return x < 0 ? below : above;
  }

  [[nodiscard]] static double edge(std::size_t bin) {
    if (bin == 0) return -std::numeric_limits<double>::infinity();
    if (bin == kBins) return std::numeric_limits<double>::infinity();
    return bin >= kBelow ? magnitude_edge(bin - kBelow) - 1 : 1 - magnitude_edge(kBelow - bin);
  }

 private:
  static constexpr unsigned kMantissaShift = 52 - std::countr_zero(kPerOctave);
  static constexpr std::uint64_t kOneBits = std::bit_cast<std::uint64_t>(1.0) >> kMantissaShift;

  /// 1 + |x| where the k-th bin away from the centre begins.
  static double magnitude_edge(std::size_t k) { return std::bit_cast<double>((kOneBits + k) << kMantissaShift); }

  double centre_;
  double spread_;
  double inverse_spread_;
};

/// Choose centre and spread from sums over all workers: the mean of the thresholds, and the quarter-power mean of the
/// distance of the values from it, which is robust to heavy tails and to many zeros.
BinGrid choose_grid(const PairRows& rows, const Reducer& reducer);

/// Compute the pair sums from the weights and first moments per bin of both sides, summed over workers: 4 x kBins
/// numbers for any N. Sums over other bins are exact; inside a bin the sum is the cubic with the exact values and
/// slopes at both edges, so with bins of width h the error is of order h^4. Returns a bound of the relative error of
/// the loss: the largest share of the loss from pairs within one bin.
double summary_pair_sums(const PairRows& rows, const PairSums& out, const BinGrid& grid, const Reducer& reducer);

/// window_ends from the weights per bin of all workers, linear inside a bin: kBins numbers.
WindowEnds summary_window_ends(const LevelWindow& window, std::span<const double> values,
                               std::span<const double> weights, const BinGrid& grid, const Reducer& reducer);

}  // namespace widthwise::internal
