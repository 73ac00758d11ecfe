// Bytes from anywhere as a model file: refused, or a model that works. Ends the program when neither holds.
#include <cstddef>
#include <cstdint>
#include <span>

#include "model_examples.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {  // NOLINT: libFuzzer's name for it
  (void)widthwise::examples::check_model_bytes(std::as_bytes(std::span(data, size)));
  return 0;
}
