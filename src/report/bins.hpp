#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <widthwise/diagnostics.hpp>

/// Bins in reports.
namespace widthwise::internal {

/// "north", "3 to 5", "missing".
[[nodiscard]] std::string name_of_bin(const Bin& bin);

/// The numbers of at most `max` bins, ascending: the weak ones, then those with the lowest coverage.
[[nodiscard]] std::vector<std::size_t> lowest_bins(std::span<const Bin> bins, std::size_t max);

}  // namespace widthwise::internal
