#pragma once

#include <cstddef>
#include <span>

#include <widthwise/row_function.hpp>

namespace widthwise::internal {

/// The first `trees` trees of a model that XGBoost saved as UBJSON. Throws kBadData for anything else.
[[nodiscard]] TreeArrays read_tree_arrays(std::span<const std::byte> saved, std::size_t inputs, std::size_t outputs,
                                          std::size_t trees);

}  // namespace widthwise::internal
