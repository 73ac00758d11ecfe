#pragma once

#include <memory>
#include <string>

#include <widthwise/row_function.hpp>

#include "safetensors.hpp"

namespace widthwise::internal {

/// Put a function, or none, under a name: its kind as the text <name>, its arrays as <name>.<array>. Throws
/// kInvalidArgument for a kind that files do not hold.
void put_function(SafetensorsWriter& writer, const std::string& name, const RowFunction* function);

/// Take it back; null for none. Throws kBadData, beginning with the name.
[[nodiscard]] std::shared_ptr<const RowFunction> take_function(SafetensorsReader& reader, const std::string& name);

}  // namespace widthwise::internal
