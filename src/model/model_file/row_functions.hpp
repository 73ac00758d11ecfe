#pragma once

#include <memory>
#include <string>

#include <widthwise/row_function.hpp>

#include "base/safetensors.hpp"

namespace widthwise::internal {

/// Store a function, or none, under a name: its kind as the text <name>, its arrays as <name>.<array>. Throws
/// kInvalidArgument for a kind that cannot be stored.
void put_function(SafetensorsWriter& writer, const std::string& name, const RowFunction* function);

/// Read a function; null for none. Throws kBadData; the message begins with the name.
[[nodiscard]] std::shared_ptr<const RowFunction> take_function(SafetensorsReader& reader, const std::string& name);

}  // namespace widthwise::internal
