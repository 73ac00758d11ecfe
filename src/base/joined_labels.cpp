#include <widthwise/joined_labels.hpp>

#include <utility>

namespace widthwise {

std::string join_labels(std::span<const std::string> labels) {
  if (labels.size() == 1) return labels.front();
  std::string text;
  for (const std::string& label : labels) {
    if (&label != labels.data()) text += ", ";
    for (const char byte : label) {
      if (byte == ',' || byte == '\\') text += '\\';
      text += byte;
    }
  }
  return text;
}

std::vector<std::string> split_labels(std::string_view text) {
  std::vector<std::string> labels;
  std::string label;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      label += text[++at];
    } else if (text.substr(at, 2) == ", ") {
      labels.push_back(std::exchange(label, {}));
      ++at;
    } else {
      label += text[at];
    }
  }
  if (labels.empty()) return {std::string(text)};
  labels.push_back(std::move(label));
  return labels;
}

}  // namespace widthwise
