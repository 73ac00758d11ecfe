#pragma once

#include <filesystem>

#include <widthwise/train/memory.hpp>

namespace widthwise::internal {

/// free_memory() without the limit of the address space. Files are read below `root`, which is "/" except in tests.
[[nodiscard]] FreeMemory free_memory_below(const std::filesystem::path& root);

}  // namespace widthwise::internal
