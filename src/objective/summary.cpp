#include "objective/summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace widthwise::internal {
namespace {

// Numbers sent in one evaluation: the bins of both sides, those of the window, and a few sums.
static_assert((4 * BinGrid::kBins + BinGrid::kBins + 16) * sizeof(double) <= 65536);

/// Weight and first moment of a bin.
struct Moments {
  double weight;
  double moment;
};

std::span<double> numbers(std::span<Moments> moments) { return {&moments.data()->weight, 2 * moments.size()}; }

/// std::clamp without its check of the bounds, which takes a tenth of an evaluation.
double held_between(double low, double value, double high) { return std::min(std::max(value, low), high); }

/// A function of s in [0, 1] inside one bin: the quadratic with these end values and this mean, clipped to the end
/// values. The functions here are counts, which are monotone.
double quadratic(double left, double right, double mean, double s) {
  const double value = left + (right - left) * s + 6 * (mean - 0.5 * (left + right)) * s * (1 - s);
  return held_between(std::min(left, right), value, std::max(left, right));
}

/// Its integral from s to 1, for left >= right; clipped to the range of integrals of functions between the end values.
double quadratic_rest(double left, double right, double mean, double s) {
  const double rest = 1 - s;
  const double value =
      rest * (left + 0.5 * (right - left) * (1 + s)) + (mean - 0.5 * (left + right)) * rest * rest * (1 + 2 * s);
  return held_between(right * rest, value, left * rest);
}

/// Add the weights and first moments of rows to their bins. This and the look-ups are separate functions, because the
/// compiler generates slower code for them next to loops with checked indices.
[[gnu::noinline]] void add_moments(const BinGrid& grid, std::span<const double> rows, std::span<const double> weights,
                                   Moments* bins) {
  const double* const row = rows.data();
  const double* const weights_of_rows = weights.empty() ? nullptr : weights.data();
  const std::size_t n = rows.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double x = grid.coordinate(row[i]);
    const double weight = weights_of_rows == nullptr ? 1.0 : weights_of_rows[i];
    Moments& bin = bins[BinGrid::bin_of(x)];
    bin.weight += weight;
    bin.moment += weight * x;
  }
}

/// The data of a bin for look-ups, stored contiguously.
struct Bin {
  double edge, width, per_width, above, next_above, mean_above, next_excess, below, next_below, mean_below;
};

/// The bin of a coordinate, and its position in the bin, from 0 to 1.
struct BinPlace {
  const Bin& bin;
  double share;
};

inline BinPlace place_in(const Bin* bins, double x) {
  const Bin& bin = bins[BinGrid::bin_of(x)];
  return {bin, held_between(0.0, (x - bin.edge) * bin.per_width, 1.0)};
}

[[gnu::noinline]] void look_thresholds_up(const BinGrid& grid, std::span<const double> thresholds, const Bin* bins,
                                          double* weight_above, double* excess) {
  const double* const threshold = thresholds.data();
  const std::size_t n = thresholds.size();
  for (std::size_t i = 0; i < n; ++i) {
    const auto [bin, s] = place_in(bins, grid.coordinate(threshold[i]));
    weight_above[i] = quadratic(bin.above, bin.next_above, bin.mean_above, s);
    excess[i] =
        grid.spread() * (bin.next_excess + bin.width * quadratic_rest(bin.above, bin.next_above, bin.mean_above, s));
  }
}

[[gnu::noinline]] void look_values_up(const BinGrid& grid, std::span<const double> values, const Bin* bins,
                                      double* weight_below) {
  const double* const value = values.data();
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) {
    const auto [bin, s] = place_in(bins, grid.coordinate(value[i]));
    weight_below[i] = quadratic(bin.below, bin.next_below, bin.mean_below, s);
  }
}

}  // namespace

BinGrid::BinGrid(double centre, double spread) : centre_(centre), spread_(spread), inverse_spread_(1 / spread) {}

BinGrid BinGrid::around(double centre, double mean_root) {
  const double spread = mean_root * mean_root * mean_root * mean_root;
  return {centre, spread > 0 && std::isfinite(spread) ? spread : 1.0};
}

BinGrid choose_grid(const PairRows& rows, const Reducer& reducer) {
  // A sample is enough: the grid only determines the resolution of the bins.
  constexpr std::size_t kSample = 1 << 16;
  const std::size_t threshold_step = std::max<std::size_t>(1, rows.thresholds.size() / kSample);
  std::array<double, 2> sums{};
  for (std::size_t i = 0; i < rows.thresholds.size(); i += threshold_step) {
    sums[0] += rows.thresholds[i];
    ++sums[1];
  }
  reducer.sum(sums);
  const double centre = sums[0] / sums[1];

  const std::size_t value_step = std::max<std::size_t>(1, rows.values.size() / kSample);
  std::array<double, 2> roots{};
  for (std::size_t i = 0; i < rows.values.size(); i += value_step) {
    const double weight = rows.value_weights.empty() ? 1.0 : rows.value_weights[i];
    roots[0] += weight * std::sqrt(std::sqrt(std::abs(rows.values[i] - centre)));
    roots[1] += weight;
  }
  reducer.sum(roots);
  return BinGrid::around(centre, roots[1] > 0 ? roots[0] / roots[1] : 1.0);
}

double summary_pair_sums(const PairRows& rows, const PairSums& out, const BinGrid& grid, const Reducer& reducer) {
  constexpr std::size_t kBins = BinGrid::kBins;
  std::vector<Moments> both(2 * kBins, Moments{0, 0});
  Moments* const values = both.data();
  Moments* const thresholds = both.data() + kBins;
  add_moments(grid, rows.values, rows.value_weights, values);
  add_moments(grid, rows.thresholds, rows.threshold_weights, thresholds);
  reducer.sum(numbers(both));

  // At the lower edge of every bin: the weight of the values above it and their excess over it; the weight of the
  // thresholds below it. The end bins are closed at the mean of their contents.
  std::vector<double> edges(kBins + 1);
  for (std::size_t j = 1; j < kBins; ++j) edges[j] = BinGrid::edge(j);
  const auto outermost = [&](std::size_t bin, double inner, double sign) {
    double far = inner;
    for (const Moments& side : {values[bin], thresholds[bin]}) {
      if (side.weight > 0) far = sign * std::max(sign * far, sign * side.moment / side.weight);
    }
    return inner + 2 * (far - inner) + sign;
  };
  edges[0] = outermost(0, edges[1], -1);
  edges[kBins] = outermost(kBins - 1, edges[kBins - 1], 1);

  std::vector<double> above(kBins + 1, 0.0);
  std::vector<double> excess(kBins + 1, 0.0);
  for (std::size_t j = kBins; j-- > 0;) {
    above[j] = above[j + 1] + values[j].weight;
    excess[j] = excess[j + 1] + above[j + 1] * (edges[j + 1] - edges[j]) +
                std::max(values[j].moment - values[j].weight * edges[j], 0.0);
  }
  std::vector<double> below(kBins + 1, 0.0);
  for (std::size_t j = 0; j < kBins; ++j) below[j + 1] = below[j] + thresholds[j].weight;

  double total = 0;
  double inside = 0;
  for (std::size_t j = 0; j < kBins; ++j) {
    const double width = edges[j + 1] - edges[j];
    total += thresholds[j].weight * excess[j + 1];
    if (thresholds[j].weight > 0) {
      total += above[j + 1] * std::max(thresholds[j].weight * edges[j + 1] - thresholds[j].moment, 0.0);
    }
    inside += thresholds[j].weight * values[j].weight * width;
  }

  std::vector<Bin> bins(kBins);
  for (std::size_t j = 0; j < kBins; ++j) {
    const double width = edges[j + 1] - edges[j];
    // Over the bin, the weight below t averages to what it is at the edge plus each threshold's share of the bin above
    // it.
    const double mean_below = below[j] + (thresholds[j].weight * edges[j + 1] - thresholds[j].moment) / width;
    bins[j] = {edges[j],      width,    1 / width,    above[j],  above[j + 1], (excess[j] - excess[j + 1]) / width,
               excess[j + 1], below[j], below[j + 1], mean_below};
  }
  look_thresholds_up(grid, rows.thresholds, bins.data(), out.weight_above.data(), out.excess.data());
  look_values_up(grid, rows.values, bins.data(), out.weight_below.data());
  return inside / total;
}

WindowEnds summary_window_ends(const LevelWindow& window, std::span<const double> values,
                               std::span<const double> weights, const BinGrid& grid, const Reducer& reducer) {
  std::vector<double> bins(BinGrid::kBins + 1, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    bins[BinGrid::bin_of(grid.coordinate(values[i]))] += weights.empty() ? 1.0 : weights[i];
  }
  bins.back() = static_cast<double>(values.size());
  reducer.sum(bins);
  const double rows = bins.back();
  bins.pop_back();
  double total = 0;
  for (const double bin : bins) total += bin;

  const auto value_at = [&](const Level& level) {
    const double target = std::min(level.value() * (1 + 1 / rows), 1.0) * total;
    double reached = 0;
    for (std::size_t j = 0; j < bins.size(); ++j) {
      if (bins[j] > 0 && reached + bins[j] >= target) {
        const double left = std::max(BinGrid::edge(j), BinGrid::edge(1));
        const double right = std::min(BinGrid::edge(j + 1), BinGrid::edge(BinGrid::kBins - 1));
        return grid.value(left + (right - left) * (target - reached) / bins[j]);
      }
      reached += bins[j];
    }
    return std::numeric_limits<double>::infinity();
  };
  return {value_at(window.lower), value_at(window.upper), window.outside};
}

}  // namespace widthwise::internal
