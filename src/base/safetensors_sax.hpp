#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace widthwise::internal {

/// Parses a JSON text event by event and rejects every event that a derived class does not allow, so that no unexpected
/// value is built and nothing nests deeper than expected.
class StrictSax : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// Whether the class allows the whole text. Derived classes may throw errors.
  [[nodiscard]] bool accepts(std::string_view text) {
    // The parser treats a zero byte as the end of the text.
    return text.find('\0') == std::string_view::npos && nlohmann::json::sax_parse(text, this);
  }

  bool null() override { return false; }
  bool boolean(bool /*value*/) override { return false; }
  bool number_integer(std::int64_t /*value*/) override { return false; }
  bool number_unsigned(std::uint64_t /*value*/) override { return false; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return false; }
  bool string(std::string& /*value*/) override { return false; }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return false; }
  bool key(std::string& /*value*/) override { return false; }
  bool end_object() override { return false; }
  bool start_array(std::size_t /*elements*/) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(std::size_t /*position*/, const std::string& /*last_token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }
};

}  // namespace widthwise::internal
