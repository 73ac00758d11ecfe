#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace widthwise::internal {

/// Throw kBadData if these are not the first bytes of a safetensors file: "not KIND: found text, such as a CSV table".
/// `kind` is what the file should be: "a model file".
void require_safetensors(std::span<const std::byte> bytes, std::string_view kind);

/// The same for the first bytes of a file. Throws kFile if the file cannot be read.
void require_safetensors_file(const std::filesystem::path& file, std::string_view kind);

}  // namespace widthwise::internal
