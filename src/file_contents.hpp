#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace widthwise::internal {

/// Throw kBadData if these are not the first bytes of a safetensors file: "not KIND: found text, such as a CSV table".
/// `kind` is what the file should be: "a model file".
void require_safetensors(std::span<const std::byte> bytes, std::string_view kind);

}  // namespace widthwise::internal
