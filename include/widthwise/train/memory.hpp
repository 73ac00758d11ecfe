#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace widthwise {

/// Memory that this process can still take, in bytes.
struct FreeMemory {
  /// Without exceeding a limit, after which the process is stopped: memory of its cgroups (containers) and address
  /// space (ulimit -v). UINT64_MAX if there is none.
  std::uint64_t within_limits = UINT64_MAX;
  /// Also without swapping, as the kernel estimates it.
  std::uint64_t without_swapping = UINT64_MAX;
};

/// Measure what is free now.
[[nodiscard]] FreeMemory free_memory();

/// Estimate what fit needs in addition to the table, in bytes: its copies of the rows, and those of XGBoost. Measured
/// with 1e5 to 1e6 rows of 10 to 30 features (docs/performance.md).
[[nodiscard]] std::uint64_t fit_memory(std::size_t rows, std::size_t features);

/// A warning for the user before fit: that it needs more memory than is free. Empty if it does not. Throws
/// Error(kTooLittleMemory) if even three quarters of the estimate exceed a limit, so that the process would be stopped.
[[nodiscard]] std::string fit_memory_warning(std::size_t rows, std::size_t features, const FreeMemory& free);

}  // namespace widthwise
