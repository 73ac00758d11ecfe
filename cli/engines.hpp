#pragma once

namespace widthwise::cli {

/// Register the engines that this program was built with (widthwise/train/registry.hpp).
void register_engines();

}  // namespace widthwise::cli
