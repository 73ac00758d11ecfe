#include "allocation_counter.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> count = 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool widthwise::counts_allocations() { return false; }
#else
bool widthwise::counts_allocations() { return true; }

// Replaced for the whole test program.
void* operator new(std::size_t size) {
  ++count;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
#endif

std::size_t widthwise::allocation_count() { return count; }
