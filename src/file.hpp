#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace widthwise::internal {

/// All bytes of a file or pipe. Throws kFile with the file's name and the system's reason; directories and devices are
/// refused.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& file);

/// Make `file` hold these bytes, so that it is at every moment the old one or the new one, whole: they are written to
/// ".<name>.<random>.tmp" beside it and flushed to the disk, then that is renamed. A file that was there keeps its
/// permissions; one that may not be written is not replaced. Where `file` is a symbolic link, the link stays and what
/// it points to is replaced. Throws kFile with the file's name and the system's reason, and leaves no temporary file.
void write_file_atomically(const std::filesystem::path& file, std::span<const std::byte> bytes);

}  // namespace widthwise::internal
