#pragma once

namespace widthwise::internal {

/// Whether this process was forked, without exec, from one that had threads and an OpenMP runtime. No thread but the
/// one that forks survives, but libgomp does not know: training with several threads would wait for those of the parent
/// indefinitely, whoever had started them.
[[nodiscard]] bool threads_lost_in_fork();

}  // namespace widthwise::internal
