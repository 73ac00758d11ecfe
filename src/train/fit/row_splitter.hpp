#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "train/fit/folds.hpp"
#include "train/workers/workers.hpp"

namespace widthwise::internal {

/// Splits the rows of a table at random. A process alone makes splits of exact sizes. With several workers, the split
/// of a row follows from its number alone, so that it does not depend on which worker holds the row.
class RowSplitter {
 public:
  /// `numbers` (n) are the numbers of the rows; a process alone does not look at them. `workers` has to outlive this.
  RowSplitter(std::vector<std::uint64_t> numbers, const Workers& workers)
      : numbers_(std::move(numbers)), workers_(&workers) {}

  /// A share of the rows, and the others, as positions from 0 to n - 1.
  struct Split {
    std::vector<std::size_t> share;
    std::vector<std::size_t> rest;
  };
  /// A process alone puts at least `min_rows` rows into the share and leaves as many.
  [[nodiscard]] Split split(double share, std::size_t min_rows, std::uint64_t seed) const;

  /// Assign each row to one of `count` folds. Throws kInvalidArgument for fewer than 2 folds, and kTooFewRows in a
  /// process alone when there are more folds than rows.
  [[nodiscard]] Folds folds(std::size_t count, std::uint64_t seed) const;

  /// The splitter of some of the rows.
  [[nodiscard]] RowSplitter of(std::span<const std::size_t> rows) const;

  [[nodiscard]] std::span<const std::uint64_t> numbers() const { return numbers_; }

 private:
  std::vector<std::uint64_t> numbers_;
  const Workers* workers_;
};

}  // namespace widthwise::internal
