#pragma once

#include <cstdint>

#include <widthwise/row_sketch.hpp>

namespace widthwise {

/// The number of rows of one table that repeat other rows, and a test whether this is more than chance.
///
/// Rows of discrete columns coincide by chance, but then some contents occur once, some twice, some three times: if
/// rows are drawn independently from any distribution, contents with k rows are bounded by those with k - 1 and k + 1
/// rows. A join that multiplies rows, oversampling by a factor or a table that was appended twice leave gaps in these
/// numbers. docs/mathematics.md has the proof.
///
/// Resampling at random (the bootstrap) leaves no gap: the table is then like one of discrete columns.
struct RowRepeats {
  std::uint64_t rows = 0;      ///< number of rows that are counted
  std::uint64_t copies = 0;    ///< number of these that repeat another counted row: rows less distinct rows
  double log_probability = 0;  ///< bound on the log-probability of such repeats by chance

  /// Share of the rows that repeat another row; 0 if there are no rows.
  [[nodiscard]] double share() const;
  /// Whether rows repeat more regularly than by chance, with a false-alarm rate below 1e-9.
  [[nodiscard]] bool found() const;
};

/// Count the rows of a table that repeat others. The cost depends on the capacity, not on the number of rows.
[[nodiscard]] RowRepeats repeats(const RowSketch& table);

}  // namespace widthwise
