#include "base/word_list.hpp"

namespace widthwise::internal {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(',');
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string joined(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != words.data()) text.append(separator);
    text.append(word);
  }
  return text;
}

std::string listed(std::span<const std::string> words) {
  if (words.size() < 2) return joined(words, "");
  return joined(words.first(words.size() - 1), ", ") + " or " + words.back();
}

}  // namespace widthwise::internal
