#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace widthwise {

/// Several labels as one, such as "AA, JFK": the label of a row in several columns, or the name of these columns.
/// Commas and backslashes within a label are preceded by a backslash, so different lists have different texts. A single
/// label is its own text.
[[nodiscard]] std::string join_labels(std::span<const std::string> labels);

/// The labels that join_labels joined. A text without an unescaped comma and blank is a single label.
[[nodiscard]] std::vector<std::string> split_labels(std::string_view text);

}  // namespace widthwise
