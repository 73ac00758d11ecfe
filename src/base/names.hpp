#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace widthwise::internal {

/// A value of an enumeration and its name.
template <class Value>
struct Named {
  Value value;
  std::string_view name;
};

/// Return the name of a value; empty when it has none.
template <class Value, std::size_t N>
[[nodiscard]] constexpr std::string_view name_in(const std::array<Named<Value>, N>& names, Value value) {
  for (const Named<Value>& each : names) {
    if (each.value == value) return each.name;
  }
  return {};
}

/// Return the value of a name, if there is one.
template <class Value, std::size_t N>
[[nodiscard]] constexpr std::optional<Value> value_in(const std::array<Named<Value>, N>& names, std::string_view name) {
  for (const Named<Value>& each : names) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

}  // namespace widthwise::internal
