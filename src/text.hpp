#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace widthwise::internal {

/// The shortest text that reads back as x, whatever the locale.
[[nodiscard]] std::string text_of(double x);

/// The number that the whole text is, or nothing.
[[nodiscard]] std::optional<double> number_of(std::string_view text);

/// The candidate that `name` is likely a misspelling of: the one that the fewest letters added, left out, replaced or
/// swapped with their neighbour lead to, at most one in three; upper and lower case do not count. Empty when there is
/// none; the first of several.
[[nodiscard]] std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace widthwise::internal
