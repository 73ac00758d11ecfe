#include "support/allocation_counter.hpp"

#include <atomic>
#include <cstdlib>

namespace {
std::atomic<std::size_t> count = 0;
std::atomic<std::size_t> alive = 0;
std::atomic<std::size_t> fail_from = 0;  // a value of count; 0 for none
}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool widthwise::counts_allocations() { return false; }
#else
bool widthwise::counts_allocations() { return true; }

// Replaced for the whole test program.
void* operator new(std::size_t size) {
  const std::size_t number = ++count;
  if (fail_from != 0 && number >= fail_from) throw std::bad_alloc();
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  ++alive;
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory != nullptr) --alive;
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }
#endif

std::size_t widthwise::allocation_count() { return count; }

std::size_t widthwise::allocations_alive() { return alive; }

void widthwise::fail_allocations_from(std::size_t n) { fail_from = n == 0 ? 0 : count + n; }
