// Read bytes as the checkpoint of a fit: an error, a checkpoint of another fit, or states of trainings.
#include <widthwise/train/communicator.hpp>

#include "sealed.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const widthwise::fuzz::ScratchFile file(".checkpoint");
  constexpr std::uint64_t kFit = 1;  // as in the corpus
  for (const auto& bytes : widthwise::fuzz::as_given_and_sealed({data, size})) {
    file.fill({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    (void)widthwise::fuzz::accepted([&] {
      widthwise::Checkpoint checkpoint(file.path(), kFit, nullptr);
      for (int training = 0; training < 3; ++training) (void)checkpoint.begin();
    });
  }
  return 0;
}
