#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace widthwise {

/// The characters of a text as bytes.
[[nodiscard]] inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace widthwise
