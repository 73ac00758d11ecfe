#pragma once

#include <cstddef>
#include <new>

namespace widthwise {

/// False under the address and thread sanitizers, which have their own allocators.
bool counts_allocations();

/// Number of calls of operator new so far.
std::size_t allocation_count();

/// Number of allocations that have not been freed.
std::size_t allocations_alive();

/// Make the n-th call of operator new from now on, and all later calls, throw std::bad_alloc; 0 for none.
void fail_allocations_from(std::size_t n);

/// Run `act` with all allocations failing from the first, the second, ... on, until it succeeds. It must throw
/// std::bad_alloc each time and leak nothing; `check` then verifies the state. Returns the number of failures.
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
