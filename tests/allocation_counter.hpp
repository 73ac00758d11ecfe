#pragma once

#include <cstddef>

namespace widthwise {

/// False under the sanitizers that bring their own allocator.
bool counts_allocations();

/// How often the test program has called operator new so far.
std::size_t allocation_count();

}  // namespace widthwise
