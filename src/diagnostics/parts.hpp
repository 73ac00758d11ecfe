#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <widthwise/diagnostics.hpp>

/// coverage_by_group, coverage_by_width and coverage_by_feature, with the rows of each part.
namespace widthwise::internal {

struct PartRows {
  Part part;
  std::vector<std::size_t> rows;  ///< numbers of the part's rows
};

[[nodiscard]] std::vector<PartRows> parts_by_group(const IntervalRows& rows, std::span<const std::int64_t> groups);
[[nodiscard]] std::vector<PartRows> parts_by_width(const IntervalRows& rows, std::size_t parts);
[[nodiscard]] std::vector<PartRows> parts_by_feature(const IntervalRows& rows, std::span<const double> feature,
                                                     std::size_t parts);

}  // namespace widthwise::internal
