#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <ranges>
#include <string>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"
#include "conformal/calibration/checks.hpp"

namespace widthwise {
namespace {

using internal::kInfinity;

/// Quickselect for several ranks: partition, then continue only in the partitions that contain a rank.
/// Expected O(n log k) for k ranks, O(n log n) at worst.
class MultiSelection {
 public:
  explicit MultiSelection(std::span<double> values) : values_(values), random_(values.size()) {}

  /// Move the values of these ranks (ascending, distinct, from 0) to their sorted positions.
  void select(std::span<const std::size_t> ranks) {
    select(0, values_.size(), -kInfinity, ranks, 4 * static_cast<int>(std::bit_width(values_.size())));
  }

 private:
  // Below these sizes the standard library is faster than choosing a pivot carefully.
  static constexpr std::size_t kSelectedWhole = 2048;
  static constexpr std::size_t kSortedWhole = 64;
  static constexpr std::size_t kGreatestSample = 512;

  // No value in [first, last) is less than `floor`.
  void select(std::size_t first, std::size_t last, double floor, std::span<const std::size_t> ranks, int rounds) {
    while (!ranks.empty()) {
      if (ranks.size() == 1 && last - first <= kSelectedWhole) {
        std::nth_element(values_.data() + first, values_.data() + ranks[0], values_.data() + last);
        return;
      }
      if (last - first <= kSortedWhole || rounds-- == 0) {
        std::sort(values_.data() + first, values_.data() + last);
        return;
      }
      const double pivot = choose_pivot(first, last, ranks);
      // "Less than" would never separate values tied with the floor; remove all of them at once.
      const bool tied = pivot == floor;
      const std::size_t middle = tied ? partition(first, last, [pivot](double value) { return value <= pivot; })
                                      : partition(first, last, [pivot](double value) { return value < pivot; });
      const auto split = static_cast<std::size_t>(std::ranges::lower_bound(ranks, middle) - ranks.begin());
      if (!tied) select(first, middle, floor, ranks.first(split), rounds);
      first = middle;
      floor = pivot;
      ranks = ranks.subspan(split);
    }
  }

  // Without unpredictable branches on the values, which makes it several times faster than std::partition.
  template <class Predicate>
  std::size_t partition(std::size_t first, std::size_t last, Predicate goes_left) {
    double* store = values_.data() + first;
    double* const end = values_.data() + last;
    for (double* next = store; next != end; ++next) {
      const double value = *next;
      *next = *store;
      *store = value;
      store += goes_left(value) ? 1 : 0;
    }
    return static_cast<std::size_t>(store - values_.data());
  }

  double choose_pivot(std::size_t first, std::size_t last, std::span<const std::size_t> ranks) {
    const std::size_t n = last - first;
    std::array<double, kGreatestSample> sample;
    const std::size_t size = std::min(kGreatestSample, n / 16);
    for (std::size_t i = 0; i < size; ++i) {
      sample[i] = values_[first + static_cast<std::size_t>(random_.uniform() * static_cast<double>(n))];
    }
    const double share = (static_cast<double>(ranks[ranks.size() / 2] - first) + 0.5) / static_cast<double>(n);
    double position = share * static_cast<double>(size);
    if (ranks.size() == 1) {
      // Choose a pivot slightly beyond the rank, so that the larger side almost surely needs no further work.
      const double spread = 1.5 * std::sqrt(share * (1 - share) * static_cast<double>(size));
      position += share > 0.5 ? -spread : spread;
    }
    const auto chosen = static_cast<std::size_t>(std::clamp(position, 0.0, static_cast<double>(size - 1)));
    std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(chosen),
                     sample.begin() + static_cast<std::ptrdiff_t>(size));
    return sample[chosen];
  }

  std::span<double> values_;
  Random random_;
};

}  // namespace

void conformal_quantiles(std::span<double> scores, std::span<const Level> levels, std::span<double> out,
                         WhenTooFew when_too_few, const Guarantee& guarantee) {
  if (out.size() != levels.size()) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "conformal_quantiles: {} levels but {} output quantiles",
                               levels.size(), out.size());
  }
  if (const std::size_t position = internal::find_nan(scores); position != scores.size()) {
    throw internal::make_error(ErrorCode::kNotFinite, "conformal_quantiles: score {} is NaN", position);
  }
  std::vector<std::size_t> ranks;
  ranks.reserve(levels.size());
  for (const Level& level : levels) {
    const std::uint64_t rank = guarantee.rank(level, scores.size());
    if (rank <= scores.size()) {
      ranks.push_back(rank - 1);
    } else if (when_too_few == WhenTooFew::kError) {
      throw internal::make_error(ErrorCode::kTooFewRows, "conformal_quantiles: level {} needs {}, found {}",
                                 level.to_string(), internal::rows_text(guarantee.min_rows(level)), scores.size());
    }
  }
  std::ranges::sort(ranks);
  ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
  MultiSelection(scores).select(ranks);
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const std::uint64_t rank = guarantee.rank(levels[j], scores.size());
    out[j] = rank <= scores.size() ? internal::without_negative_zero(scores[rank - 1]) : kInfinity;
  }
}

}  // namespace widthwise
