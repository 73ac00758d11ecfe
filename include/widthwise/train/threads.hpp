#pragma once

#include <cstddef>

namespace widthwise {

/// Number of processors that this process may use: those of its CPU affinity, limited by the CPU quota of its container
/// (cgroup version 1 or 2, rounded up) and by OMP_NUM_THREADS if set. At least 1.
[[nodiscard]] std::size_t available_processors();

/// Whether the system lets this process start this many more threads now; limits of processes and of memory may not.
/// Some libraries end the process (libgomp) or wait indefinitely (Arrow) if they cannot start a thread.
[[nodiscard]] bool can_start_threads(std::size_t count);

/// Number of threads to train on a table of rows x columns numbers. Returns `requested` unless it is 0, which means
/// automatic: one thread per 16,384 numbers, at least one and at most available_processors(). Smaller shares cost more
/// to distribute than they save. Always 1 if the system does not let this process start the threads (see
/// can_start_threads), and in a process that was forked, without exec, from one that had threads and libgomp, because
/// libgomp would wait indefinitely for the threads of the parent.
[[nodiscard]] std::size_t training_threads(std::size_t requested, std::size_t rows, std::size_t columns);

}  // namespace widthwise
