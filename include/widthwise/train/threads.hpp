#pragma once

#include <cstddef>

namespace widthwise {

/// Processors that this process may use: those of its CPU affinity, at most the CPU quota of its cgroups (v1 and v2,
/// every level of the hierarchy, rounded up), and at most OMP_NUM_THREADS where that is set. At least 1.
[[nodiscard]] std::size_t available_processors();

/// Threads to train on a table of rows x columns numbers. `requested` is returned unless it is 0, which means
/// automatic: one thread for every 16,384 numbers, at least one and at most available_processors(). Smaller shares cost
/// more to hand out than they save. Always 1 in a process that was forked, without exec, from one that had threads and
/// an OpenMP runtime: OpenMP would wait for the threads of the parent indefinitely.
[[nodiscard]] std::size_t training_threads(std::size_t requested, std::size_t rows, std::size_t columns);

}  // namespace widthwise
