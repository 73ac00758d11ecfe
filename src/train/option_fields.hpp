#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <widthwise/train/options.hpp>

#include "base/text.hpp"

/// Makers of option table fields, one per member type.
namespace widthwise::internal {

/// The numbers an option accepts.
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool includes_low = true;
  bool includes_high = true;
  bool includes_infinity = false;

  [[nodiscard]] static NumberRange positive() { return {.low = 0, .includes_low = false}; }
  [[nodiscard]] static NumberRange at_least(double low) { return {.low = low}; }
  /// Above 0 and at most 1.
  [[nodiscard]] static NumberRange share() { return {.low = 0, .high = 1, .includes_low = false}; }
  /// Strictly between 0 and 1.
  [[nodiscard]] static NumberRange fraction() {
    return {.low = 0, .high = 1, .includes_low = false, .includes_high = false};
  }

  /// False for NaN.
  [[nodiscard]] bool contains(double x) const {
    if (std::isinf(x) && !includes_infinity) return false;
    return (includes_low ? x >= low : x > low) && (includes_high ? x <= high : x < high);
  }
  /// "a number above 0 and at most 1".
  [[nodiscard]] std::string to_string() const;
};

/// A number.
template <class Options>
auto number_field(const std::string& name, double Options::* member, const NumberRange& range,
                  const std::string& help) {
  return typename OptionTable<Options>::Field{{.name = name, .form = "X", .expected = range.to_string(), .help = help},
                                              [=](Options& options, std::string_view text) {
                                                const auto value = read_whole<double>(text);
                                                if (!value || !range.contains(*value)) return false;
                                                options.*member = *value;
                                                return true;
                                              },
                                              [=](const Options& options) { return text_of(options.*member); }};
}

/// A whole number from min to max.
template <class Options, class Count>
auto count_field(const std::string& name, Count Options::* member, std::type_identity_t<Count> min,
                 const std::string& help, std::type_identity_t<Count> max = std::numeric_limits<Count>::max()) {
  const std::string range = max == std::numeric_limits<Count>::max()
                                ? "of at least " + std::to_string(min)
                                : "from " + std::to_string(min) + " to " + std::to_string(max);
  return typename OptionTable<Options>::Field{
      {.name = name, .form = "N", .expected = "a whole number " + range, .help = help},
      [=](Options& options, std::string_view text) {
        const auto value = read_whole<Count>(text);
        if (!value || *value < min || *value > max) return false;
        options.*member = *value;
        return true;
      },
      [=](const Options& options) { return std::to_string(options.*member); }};
}

/// true or false.
template <class Options>
auto flag_field(const std::string& name, bool Options::* member, const std::string& help) {
  return typename OptionTable<Options>::Field{
      {.name = name, .form = "true|false", .expected = "true or false", .help = help},
      [=](Options& options, std::string_view text) {
        if (text != "true" && text != "false") return false;
        options.*member = text == "true";
        return true;
      },
      [=](const Options& options) { return std::string(options.*member ? "true" : "false"); }};
}

/// Append fields under one heading.
template <class Field>
void add_group(std::vector<Field>& all, const std::string& group, std::vector<Field> fields) {
  for (Field& field : fields) {
    field.info.group = group;
    all.push_back(std::move(field));
  }
}

/// The number of training threads, which does not change the result of a fit.
template <class Options>
auto threads_field(std::size_t Options::* member) {
  auto field = count_field("threads", member, 0, "training threads; 0 is automatic", 4096);
  field.info.in_key = false;
  return field;
}

template <class Options>
auto seed_field(std::uint64_t Options::* member) {
  return count_field("seed", member, 0, "random seed");
}

}  // namespace widthwise::internal
