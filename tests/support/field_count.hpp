#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace widthwise {

/// Converts to everything, in unevaluated expressions.
struct AnyValue {
  template <class Value>
    requires(!std::is_same_v<Value, AnyValue>)
  operator Value() const;  // NOLINT(google-explicit-constructor)
};

template <class Struct, std::size_t... indices>
constexpr bool takes_values(std::index_sequence<indices...> /*count*/) {
  return requires { Struct{(static_cast<void>(indices), AnyValue{})...}; };
}

/// The number of fields of an aggregate: the largest number of initialisers it takes.
template <class Struct>
constexpr std::size_t field_count() {
  std::size_t count = 0;
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    ((count = takes_values<Struct>(std::make_index_sequence<n>{}) ? n : count), ...);
  }(std::make_index_sequence<40>{});
  return count;
}

}  // namespace widthwise
