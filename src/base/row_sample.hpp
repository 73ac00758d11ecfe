#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <widthwise/random.hpp>

namespace widthwise::internal {

/// A uniform sample of rows whose number becomes known only at the end (reservoir sampling). Every row is offered in
/// turn and told its index in the sample, from which it drops an earlier row.
class RowSample {
 public:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  RowSample(std::size_t capacity, std::uint64_t seed) : capacity_(capacity), random_(seed) {}

  /// The index of the next row, below the capacity, or kNowhere.
  [[nodiscard]] std::size_t place_of_next() {
    ++seen_;
    const std::uint64_t place = seen_ <= capacity_ ? seen_ - 1 : random_.below(seen_);
    return place < capacity_ ? static_cast<std::size_t>(place) : kNowhere;
  }

  /// Number of rows in the sample.
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(std::min<std::uint64_t>(seen_, capacity_)); }

 private:
  std::size_t capacity_;
  std::uint64_t seen_ = 0;
  Random random_;
};

}  // namespace widthwise::internal
