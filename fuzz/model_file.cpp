// Read bytes as a model file: an error, or a usable model. Aborts otherwise.
#include "model_examples.hpp"
#include "sealed.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& bytes : widthwise::fuzz::as_given_and_sealed({data, size})) {
    (void)widthwise::examples::check_model_bytes(bytes);
  }
  return 0;
}
