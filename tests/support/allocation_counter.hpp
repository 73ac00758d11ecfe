#pragma once

#include <cstddef>
#include <new>

namespace widthwise {

/// False under the sanitizers that bring their own allocator.
bool counts_allocations();

/// How often the test program has called operator new so far.
std::size_t allocation_count();

/// Pieces of memory that operator new gave and nobody has freed.
std::size_t allocations_alive();

/// Let the n-th call of operator new from now on throw std::bad_alloc, and all after it; 0 for none.
void fail_allocations_from(std::size_t n);

/// Run `act` with the first, the second, ... allocation failing, and all after it, until it ends without a failure. It
/// must throw std::bad_alloc each time and leak nothing; `check` then looks at what it left. Returns the failures.
template <class Act, class Check>
std::size_t fail_each_allocation(const Act& act, const Check& check) {
  for (std::size_t n = 1;; ++n) {
    fail_allocations_from(n);
    try {
      act();
      fail_allocations_from(0);
      return n - 1;
    } catch (const std::bad_alloc&) {
      fail_allocations_from(0);
    }
    check();
  }
}

}  // namespace widthwise
