#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>

namespace widthwise::internal {

/// A value of UBJSON, in which XGBoost saves models. Numbers of an array are one block, because trees are arrays of
/// numbers, and an object per number would take most of the time.
class SavedValue {
 public:
  /// Throws kBadData for anything else.
  [[nodiscard]] static SavedValue read(std::span<const std::byte> bytes);

  [[nodiscard]] const SavedValue& at(const std::string& key) const {
    const auto found = members_.find(key);
    if (found == members_.end()) refuse("'" + key + "' is missing");
    return found->second;
  }
  [[nodiscard]] bool contains(const std::string& key) const { return members_.contains(key); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<SavedValue>& items() const { return items_; }  ///< of an array, without its numbers
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

  /// A number of an array.
  [[nodiscard]] double number(std::size_t i) const {
    if (i >= numbers_.size()) refuse("an array is too short");
    return numbers_[i];
  }

  template <class Integer>
  [[nodiscard]] Integer whole(std::size_t i) const {
    const double value = number(i);
    const auto low = static_cast<double>(std::numeric_limits<Integer>::lowest());
    const auto high = static_cast<double>(std::numeric_limits<Integer>::max());
    if (!(value >= low && value < high)) refuse("a number is out of range");
    return static_cast<Integer>(value);
  }

  [[noreturn]] static void refuse(const std::string& what) {
    throw Error(ErrorCode::kBadData, "XGBoost: unknown model format: " + what);
  }

 private:
  class Reader;

  std::map<std::string, SavedValue> members_;
  std::vector<SavedValue> items_;
  std::vector<double> numbers_;
  std::string text_;
};

class SavedValue::Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// A text of `bytes` bytes has at most as many numbers, unless it is made to fill the memory.
  Reader(SavedValue& root, std::size_t bytes) : open_{{&root, true}}, left_(bytes) {}

  bool null() override { return true; }
  bool boolean(bool value) override { return add(value ? 1 : 0); }
  bool number_integer(std::int64_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return add(static_cast<double>(value)); }
  bool number_float(double value, const std::string& /*text*/) override { return add(value); }
  bool string(std::string& value) override {
    next().text_ = std::move(value);
    return true;
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return open(false); }
  bool key(std::string& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(true); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    refuse(error.what());
  }

 private:
  struct Open {
    SavedValue* value;
    bool array;
  };

  /// The place of the next value: an array grows by it.
  SavedValue& next() {
    const auto [value, array] = open_.back();
    return array ? value->items_.emplace_back() : value->members_[key_];
  }

  bool add(double number) {
    if (left_-- == 0) refuse("it has more numbers than bytes");
    (open_.back().array ? *open_.back().value : next()).numbers_.push_back(number);
    return true;
  }

  bool open(bool array) {
    open_.push_back({&next(), array});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Open> open_;  // pointers stay valid: only the innermost array grows
  std::size_t left_;
  std::string key_;
};

inline SavedValue SavedValue::read(std::span<const std::byte> bytes) {
  SavedValue outer;  // an array of the one value
  Reader reader(outer, bytes.size());
  // libc++ has no std::char_traits<std::byte>, which nlohmann's reader of iterators needs.
  const char* const begin = reinterpret_cast<const char*>(bytes.data());
  const bool read =
      nlohmann::json::sax_parse(begin, begin + bytes.size(), &reader, nlohmann::json::input_format_t::ubjson);
  if (!read || outer.items_.empty()) refuse("no object");
  return std::move(outer.items_.front());
}

}  // namespace widthwise::internal
