// Bytes from anywhere as a model file: refused, or a model that works. Ends the program when neither holds.
#include "model_examples.hpp"
#include "sealed.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& bytes : widthwise::fuzz::as_given_and_sealed({data, size})) {
    (void)widthwise::examples::check_model_bytes(bytes);
  }
  return 0;
}
