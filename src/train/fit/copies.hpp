#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <widthwise/train/fit.hpp>

#include "train/workers/workers.hpp"

namespace widthwise::internal {

/// The copies among the rows of a table.
struct RowCopies {
  /// The first row of the table with the same content (n); empty if rows are separate observations.
  std::vector<std::int64_t> first = {};
  std::string warning = {};  ///< if copies were found and `duplicates` was not given; else empty
};

/// Find the copies that FitOptions::duplicates is about. Copies have equal features, outcomes, groups, weights,
/// clusters and times. Throws kBadData for copies in the tables of several workers, which cannot keep copies together.
[[nodiscard]] RowCopies find_copies(const FitTable& table, Duplicates duplicates, const Workers& workers);

/// The rows of a table without further copies, ascending.
[[nodiscard]] std::vector<std::size_t> distinct_rows(std::span<const std::int64_t> copies);

/// Of some rows, the first one of each content, in their order; all without `copies` (n).
[[nodiscard]] std::vector<std::size_t> distinct_rows(std::vector<std::size_t> rows,
                                                     std::span<const std::int64_t> copies);

}  // namespace widthwise::internal
