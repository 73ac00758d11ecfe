#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/level.hpp>

/// Values as the texts of a model file. Reading throws kBadData, naming `what` was to be read.
namespace widthwise::internal {

/// A message about bytes that are not trusted, fit for a terminal whatever it cites of them: short, and printable.
[[nodiscard]] std::string harmless(std::string message);

/// Any double but NaN.
[[nodiscard]] double number_of(std::string_view text, const std::string& what);

[[nodiscard]] std::uint64_t count_of(std::string_view text, const std::string& what);

/// A JSON array of strings.
[[nodiscard]] std::string text_of_names(std::span<const std::string> names);
[[nodiscard]] std::vector<std::string> names_of(std::string_view text, const std::string& what);

/// Decimals with commas between them.
[[nodiscard]] std::string text_of_levels(std::span<const Level> levels);
[[nodiscard]] std::vector<Level> levels_of(std::string_view text);

}  // namespace widthwise::internal
