#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace widthwise::internal {

/// Rows first..last-1.
struct Chunk {
  std::size_t number;
  std::size_t first;
  std::size_t last;
};

/// The rows of a training in chunks of one size, for loops with several threads. What is added up chunk by chunk does
/// not depend on the number of threads.
class Chunks {
 public:
  static constexpr std::size_t kRows = 16'384;  ///< starting a thread costs about as much as a loop over 1,000 rows

  Chunks(std::size_t rows, std::size_t threads) : rows_(rows), threads_(std::min(threads, count())) {}

  [[nodiscard]] std::size_t count() const { return (rows_ + kRows - 1) / kRows; }

  /// Call visit(chunk) for every chunk. Throws what the first failing call throws.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::atomic<std::size_t> next{0};
    std::once_flag failed;
    std::exception_ptr failure;
    const auto work = [&] {
      try {
        for (std::size_t chunk = next++; chunk < count(); chunk = next++) {
          visit(Chunk{chunk, chunk * kRows, std::min((chunk + 1) * kRows, rows_)});
        }
      } catch (...) {
        next = count();
        std::call_once(failed, [&] { failure = std::current_exception(); });
      }
    };
    std::vector<std::thread> others;
    for (bool started = true; started && others.size() + 1 < threads_;) {
      try {
        others.emplace_back(work);
      } catch (const std::system_error&) {
        started = false;  // those that there are do the work
      }
    }
    work();
    for (std::thread& other : others) other.join();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  std::size_t rows_;
  std::size_t threads_;
};

}  // namespace widthwise::internal
