// Read bytes as the state of an online calibration: an error, or a state that can continue its stream.
#include <widthwise/online.hpp>

#include "sealed.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using widthwise::OnlineCalibration;
  widthwise::fuzz::read_words<OnlineCalibration>(data, size, [](const OnlineCalibration& state) {
    OnlineCalibration online = state;
    for (const widthwise::PendingBatch& batch : online.pending()) online.drop(batch.number);
    for (const double score : {0.5, -1e300, 1e300, 0.0}) {
      // The row counter of a state may be at its maximum.
      if (!widthwise::fuzz::accepted([&] { online.observe(score); }, {widthwise::ErrorCode::kInvalidArgument})) return;
      for (std::size_t j = 0; j < online.levels().size(); ++j) {
        const double q = online.quantile(j);
        widthwise::fuzz::require(q == q, "a quantile is a number");
      }
    }
  });
  return 0;
}
