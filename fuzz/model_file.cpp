// Read bytes as a model file: an error, or a usable model. Aborts otherwise.
#include "sealed.hpp"
#include "support/model_examples.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& bytes : widthwise::fuzz::as_given_and_sealed({data, size})) {
    (void)widthwise::examples::check_model_bytes(bytes);
  }
  return 0;
}
