#pragma once

namespace widthwise::internal {

/// Whether this process was forked, without exec, from one that had threads and libgomp. Only the forking thread
/// survives, but libgomp is not aware of this: training with several threads would wait indefinitely for the threads of
/// the parent. Other OpenMP runtimes handle forks themselves.
[[nodiscard]] bool threads_lost_in_fork();

}  // namespace widthwise::internal
