#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace widthwise::internal {

/// Selects the r-th smallest of f(k, s) over all numbers s of K ascending lists, where f increases in s. It evaluates f
/// O(K log^2 n) times instead of n times: the weighted median of the medians of all lists discards at least a quarter
/// of the numbers, and the position of that pivot in every list is found by bisection.
///
/// If f is rounded up from an increasing function, but does not increase in its last bits itself, as the inverse of the
/// mixture, the result is still at least the r-th smallest exact value: numbers before the position of a pivot are
/// exactly below it, and the result is never below a pivot whose smaller numbers were discarded.
/// Thread safety: none; holds temporary numbers, so that many selections need no allocation.
class ListSelection {
 public:
  explicit ListSelection(std::vector<std::span<const double>> lists) : lists_(std::move(lists)) {
    for (const auto& list : lists_) size_ += list.size();
    windows_.reserve(lists_.size());
    medians_.reserve(lists_.size());
    values_.reserve(direct_size());
  }

  /// Numbers in all lists.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// `rank` is from 1 to size().
  template <class Function>
  [[nodiscard]] double select(std::uint64_t rank, const Function& f) {
    windows_.clear();
    for (const auto& list : lists_) windows_.push_back({0, list.size()});
    std::uint64_t left = size_;
    double least = -std::numeric_limits<double>::infinity();
    while (left > direct_size()) {
      const double pivot = weighted_median(left, f);
      const std::uint64_t below = place(f, [&](double value) { return value < pivot; }, &Window::low);
      if (rank <= below) {
        for (Window& window : windows_) window.end = window.low;
        left = below;
        continue;
      }
      const std::uint64_t up_to = place(f, [&](double value) { return value <= pivot; }, &Window::high);
      least = std::max(least, pivot);
      if (rank <= up_to) return least;
      for (Window& window : windows_) window.begin = window.high;
      rank -= up_to;
      left -= up_to;
    }
    values_.clear();
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      for (std::size_t i = windows_[k].begin; i < windows_[k].end; ++i) values_.push_back(f(k, lists_[k][i]));
    }
    const auto found = values_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(values_.begin(), found, values_.end());
    return std::max(least, *found);
  }

 private:
  /// What is left of a list, and the position of the pivot in it.
  struct Window {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t low = 0;   // numbers from here on are not below the pivot
    std::size_t high = 0;  // numbers from here on are above the pivot
  };

  struct Median {
    double value;
    std::size_t weight;
  };

  /// Fewer numbers are compared directly.
  [[nodiscard]] std::size_t direct_size() const { return 4 * lists_.size() + 16; }

  template <class Function>
  double weighted_median(std::uint64_t left, const Function& f) {
    medians_.clear();
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      const auto& [begin, end, low, high] = windows_[k];
      if (begin < end) medians_.push_back({f(k, lists_[k][begin + (end - begin) / 2]), end - begin});
    }
    std::ranges::sort(medians_, {}, &Median::value);
    std::uint64_t weight = 0;
    auto median = medians_.begin();
    while ((weight += median->weight) < left / 2) ++median;
    return median->value;
  }

  /// Write to `end` of every window where `is_before` ends; return how many numbers that is.
  template <class Function, class IsBefore>
  std::uint64_t place(const Function& f, const IsBefore& is_before, std::size_t Window::* end) {
    std::uint64_t count = 0;
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      Window& window = windows_[k];
      // The numbers below the pivot are also up to it.
      const std::size_t first = end == &Window::high ? window.low : window.begin;
      const auto numbers = lists_[k].subspan(first, window.end - first);
      const auto found = std::ranges::partition_point(numbers, [&](double score) { return is_before(f(k, score)); });
      window.*end = first + static_cast<std::size_t>(found - numbers.begin());
      count += window.*end - window.begin;
    }
    return count;
  }

  std::vector<std::span<const double>> lists_;
  std::uint64_t size_ = 0;
  std::vector<Window> windows_;
  std::vector<Median> medians_;
  std::vector<double> values_;
};

}  // namespace widthwise::internal
