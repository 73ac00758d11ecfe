#include <widthwise/train/options.hpp>

#include <algorithm>
#include <limits>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "train/option_fields.hpp"

namespace widthwise {

std::string internal::NumberRange::to_string() const {
  const bool has_low = low > -std::numeric_limits<double>::infinity();
  const bool has_high = high < std::numeric_limits<double>::infinity();
  std::string text = "a number";
  if (has_low && has_high && !includes_low && !includes_high) {
    return text + " strictly between " + text_of(low) + " and " + text_of(high);
  }
  if (has_low) text += (includes_low ? " of at least " : " above ") + text_of(low);
  if (has_low && has_high) text += " and";
  if (has_high) text += (includes_high ? " at most " : " below ") + text_of(high);
  return text;
}

OptionValues parse_option_values(std::string_view text) {
  OptionValues values;
  std::string* last = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t sign = piece.find('=');
    if (sign != std::string_view::npos && sign > 0) {
      const auto [at, added] = values.insert_or_assign(std::string(piece.substr(0, sign)), piece.substr(sign + 1));
      last = &at->second;
    } else if (last != nullptr) {
      last->append(",").append(piece);
    } else {
      throw Error(ErrorCode::kInvalidArgument,
                  "'" + internal::printable(piece) + "' is not of the form NAME=VALUE, as in learning_rate=0.1");
    }
  }
  return values;
}

std::string to_string(const OptionValues& values) {
  std::vector<std::string> words;
  for (const auto& [name, value] : values) words.push_back(fmt::format("{}={}", name, value));
  return internal::joined(words, ",");
}

bool succeeds(const std::function<bool()>& read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    return false;
  }
}

void throw_invalid_option(std::string_view shown_name, std::string_view text, const OptionInfo& info) {
  constexpr std::size_t kMaxShown = 60;
  const std::string shown = internal::printable(text.substr(0, kMaxShown)) + (text.size() > kMaxShown ? "..." : "");
  throw internal::make_error(ErrorCode::kInvalidArgument, "{} is '{}'; expected {}{}", shown_name, shown, info.expected,
                             info.hint ? info.hint(text) : "");
}

void throw_unknown_option(std::string_view name, std::span<const OptionInfo> known) {
  std::vector<std::string> names;
  for (const OptionInfo& info : known) names.push_back(info.name);
  const std::string near = internal::nearest_name(name, names);
  throw Error(ErrorCode::kInvalidArgument,
              "unknown option '" + internal::printable(name) + "'; " +
                  (near.empty() ? "expected " + internal::listed(names) : "did you mean '" + near + "'?"));
}

}  // namespace widthwise
