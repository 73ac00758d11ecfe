#pragma once

#include <string>

#include <widthwise/guarantee.hpp>

namespace widthwise::internal {

/// " with guarantee 0.95" after "intervals of level 0.9"; nothing for the marginal guarantee.
[[nodiscard]] std::string with_guarantee(const Guarantee& guarantee);

}  // namespace widthwise::internal
