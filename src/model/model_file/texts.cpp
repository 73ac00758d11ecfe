#include "model/model_file/texts.hpp"

#include <cmath>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/safetensors_sax.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

[[noreturn]] void refuse(const std::string& what, const char* expected, std::string_view found) {
  throw make_error(ErrorCode::kBadData, "{}: expected {}, found '{}'", what, expected, found);
}

constexpr std::size_t kMaxNames = 1'000'000;

class NamesSax final : public StrictSax {
 public:
  explicit NamesSax(std::vector<std::string>& names) : names_(names) {}

  bool start_array(std::size_t /*elements*/) override { return !std::exchange(opened_, true); }
  bool end_array() override { return true; }
  bool string(std::string& value) override {
    names_.push_back(std::move(value));
    return opened_ && names_.size() <= kMaxNames;
  }

 private:
  std::vector<std::string>& names_;
  bool opened_ = false;
};

constexpr std::size_t kMaxMessage = 500;

}  // namespace

std::string harmless(std::string message) {
  if (message.size() > kMaxMessage) message = message.substr(0, kMaxMessage) + "...";
  return printable(message);
}

double number_of(std::string_view text, const std::string& what) {
  const auto number = read_whole<double>(text);
  if (!number || std::isnan(*number)) refuse(what, "a number", text);
  return *number;
}

std::uint64_t count_of(std::string_view text, const std::string& what) {
  const auto count = read_whole<std::uint64_t>(text);
  if (!count) refuse(what, "a whole number", text);
  return *count;
}

std::string text_of_names(std::span<const std::string> names) {
  try {
    // Name by name, because destroying a JSON array needs memory, which may have run out.
    std::string text(1, '[');
    for (const std::string& name : names) {
      if (text.size() > 1) text += ',';
      text += nlohmann::json(name).dump();
    }
    return text += ']';
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument, std::string("a name is not UTF-8: ") + error.what());
  }
}

std::vector<std::string> names_of(std::string_view text, const std::string& what) {
  std::vector<std::string> names;
  const bool accepted = NamesSax(names).accepts(text);
  if (names.size() > kMaxNames) {
    throw make_error(ErrorCode::kBadData, "{}: expected at most {} names, found more", what, count(kMaxNames));
  }
  if (!accepted) refuse(what, "a JSON array of strings", text);
  return names;
}

std::string text_of_levels(std::span<const Level> levels) {
  std::string text;
  for (const Level& level : levels) {
    if (!text.empty()) text += ',';
    text += level.to_string();
  }
  return text;
}

std::vector<Level> levels_of(std::string_view text) {
  std::vector<Level> levels;
  while (true) {
    const std::size_t comma = text.find(',');
    levels.push_back(Level::parse(text.substr(0, comma)));
    if (comma == std::string_view::npos) return levels;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace widthwise::internal
