// Read bytes as a calibration shard: an error, or a shard that is written with the same bytes.
#include <widthwise/model_file.hpp>

#include "sealed.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& bytes : widthwise::fuzz::as_given_and_sealed({data, size})) {
    (void)widthwise::fuzz::accepted([&] {
      const widthwise::CalibrationShard shard = widthwise::deserialise_shard(bytes);
      const std::vector<std::byte> written = widthwise::serialise_shard(shard);
      widthwise::fuzz::require(widthwise::serialise_shard(widthwise::deserialise_shard(written)) == written,
                               "what is written reads back");
    });
  }
  return 0;
}
