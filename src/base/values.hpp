#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

/// Values of sentences, formatted as in base/text.hpp: fmt::format("{} of {}", Count{n}, Percent{share}).
namespace widthwise::internal {

/// Of a thing, if one is named.
struct Count {
  std::uint64_t n;
  std::string_view thing = {};
};

struct Percent {
  double share;
  int decimals = 1;
};

struct PercentRange {
  double low;
  double high;
};

struct Significant {
  double x;
  int digits = 4;
};

struct Printable {
  std::string_view text;
};

[[nodiscard]] inline std::string written(const Count& value) {
  return value.thing.empty() ? count(value.n) : count_of(value.n, value.thing);
}
[[nodiscard]] inline std::string written(const Percent& value) { return percent(value.share, value.decimals); }
[[nodiscard]] inline std::string written(const PercentRange& value) { return percent_range(value.low, value.high); }
[[nodiscard]] inline std::string written(const Significant& value) { return significant(value.x, value.digits); }
[[nodiscard]] inline std::string written(const Printable& value) { return printable(value.text); }

template <class Value>
concept Written = requires(const Value& value) {
  { written(value) } -> std::same_as<std::string>;
};

}  // namespace widthwise::internal

FMT_BEGIN_NAMESPACE
template <widthwise::internal::Written Value>
struct formatter<Value, char, void> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  auto format(const Value& value, format_context& context) const {
    const std::string text = written(value);
    return std::ranges::copy(text, context.out()).out;
  }
};
FMT_END_NAMESPACE
