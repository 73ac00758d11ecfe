#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <widthwise/train/team.hpp>

namespace widthwise::internal {

/// Deals the rows of a table at random. A process alone deals exact shares. In a team what becomes of a row follows
/// from its number alone, so that it does not depend on who holds which row.
class Dealer {
 public:
  /// `numbers` (n) are those of the rows; a process alone does not look at them. `team` may be null.
  Dealer(std::vector<std::uint64_t> numbers, const Team* team) : numbers_(std::move(numbers)), team_(team) {}

  /// A share of the rows, and the others, as positions from 0 to n - 1.
  struct Split {
    std::vector<std::size_t> share;
    std::vector<std::size_t> rest;
  };
  /// A process alone puts at least `least` rows into the share and leaves as many.
  [[nodiscard]] Split split(double share, std::size_t least, std::uint64_t seed) const;

  /// The fold of each row (n), of `count`; in a team.
  [[nodiscard]] std::vector<std::size_t> folds(std::size_t count, std::uint64_t seed) const;

  /// The dealer of some of the rows.
  [[nodiscard]] Dealer of(std::span<const std::size_t> rows) const;

  [[nodiscard]] std::span<const std::uint64_t> numbers() const { return numbers_; }

 private:
  std::vector<std::uint64_t> numbers_;
  const Team* team_;
};

/// Sum of a number over the team; the number itself in a process alone.
[[nodiscard]] double total(const Team* team, double own);

/// Rows of all workers, in the order of their numbers: all, or about `most` of them that their numbers choose.
/// rows (n x columns) are the own ones; the result is m x columns, the same on every worker.
[[nodiscard]] std::vector<double> sample_of_all(const Team& team, std::span<const double> rows, std::size_t columns,
                                                std::span<const std::uint64_t> numbers, std::size_t most);

}  // namespace widthwise::internal
