#include "train/option_fields.hpp"

namespace widthwise::internal {

std::string NumberRange::to_string() const {
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

}  // namespace widthwise::internal
