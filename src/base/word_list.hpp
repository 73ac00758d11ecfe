#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace widthwise::internal {

/// The parts of a text between commas.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text);
[[nodiscard]] std::string joined(std::span<const std::string> words, std::string_view separator);
/// "one, two or three".
[[nodiscard]] std::string listed(std::span<const std::string> words);

}  // namespace widthwise::internal
