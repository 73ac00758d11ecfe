// Read text as a level, a guarantee, a range or a number: an error, or a value that survives a round trip to text.
#include <cmath>
#include <limits>

#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>

#include "base/text.hpp"
#include "target.hpp"

namespace {

using widthwise::ErrorCode;
using widthwise::Guarantee;
using widthwise::Level;
using widthwise::fuzz::accepted;
using widthwise::fuzz::require;

void check_level(std::string_view text) {
  const Level level = Level::parse(text);
  require(Level::parse(level.to_string()) == level, "a level reads back");
  require(level.numerator() > 0 && level.numerator() < level.denominator(), "a level lies between 0 and 1");
  require(level.complement().complement() == level, "the complement of the complement is the level");
  const std::uint64_t minimum = level.min_rows();
  require(level.rank(minimum) <= minimum, "the smallest number of rows suffices");
  require(minimum == 0 || level.rank(minimum - 1) == minimum, "one row fewer does not");
}

void check_guarantee(std::string_view text) {
  const Guarantee guarantee = Guarantee::parse(std::string(text));
  require(Guarantee::parse(guarantee.to_string()).to_string() == guarantee.to_string(), "a guarantee reads back");
}

void check_number(std::string_view text) {
  if (const auto number = widthwise::internal::read_whole<double>(text); number && std::isfinite(*number)) {
    require(widthwise::internal::read_whole<double>(widthwise::internal::text_of(*number)) == *number,
            "a number reads back");
    require(!widthwise::internal::significant(*number).empty(), "a number has a text");
  }
  (void)widthwise::internal::read_whole<std::uint64_t>(text);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = widthwise::fuzz::text_of({data, size});
  (void)accepted([&] { check_level(text); }, {ErrorCode::kInvalidArgument});
  (void)accepted([&] { check_guarantee(text); }, {ErrorCode::kInvalidArgument});
  check_number(text);
  return 0;
}
