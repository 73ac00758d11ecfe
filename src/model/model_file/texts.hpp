#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/level.hpp>

/// Values as texts of a model file. Reading throws kBadData with `what`, the name of the value.
namespace widthwise::internal {

/// A message that quotes untrusted bytes, made short and printable for a terminal.
[[nodiscard]] std::string harmless(std::string message);

/// Any double except NaN.
[[nodiscard]] double number_of(std::string_view text, const std::string& what);

[[nodiscard]] std::uint64_t count_of(std::string_view text, const std::string& what);

/// A JSON array of strings.
[[nodiscard]] std::string text_of_names(std::span<const std::string> names);
[[nodiscard]] std::vector<std::string> names_of(std::string_view text, const std::string& what);

/// Decimals separated by commas.
[[nodiscard]] std::string text_of_levels(std::span<const Level> levels);
[[nodiscard]] std::vector<Level> levels_of(std::string_view text);

}  // namespace widthwise::internal
