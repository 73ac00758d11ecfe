#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <widthwise/diagnostics.hpp>

/// coverage_by_group, coverage_by_label, coverage_by_width and coverage_by_feature, with the rows of each bin.
namespace widthwise::internal {

struct BinRows {
  Bin bin;
  std::vector<std::size_t> rows;  ///< numbers of the bin's rows
};

[[nodiscard]] std::vector<BinRows> bins_by_group(const IntervalRows& rows, std::span<const std::int64_t> groups);
[[nodiscard]] std::vector<BinRows> bins_by_label(const IntervalRows& rows, std::span<const double> numbers,
                                                 const Labels& labels, std::size_t min_rows);
[[nodiscard]] std::vector<BinRows> bins_by_width(const IntervalRows& rows, std::size_t bins);
[[nodiscard]] std::vector<BinRows> bins_by_feature(const IntervalRows& rows, std::span<const double> feature,
                                                   std::size_t bins);

/// The bins alone.
[[nodiscard]] std::vector<Bin> without_rows(const std::vector<BinRows>& bins);

}  // namespace widthwise::internal
