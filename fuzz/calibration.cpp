// Read bytes as a calibration: an error, or a calibration that gives quantiles.
#include <optional>

#include <widthwise/calibration.hpp>

#include "sealed.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using widthwise::Calibration;
  widthwise::fuzz::read_words<Calibration>(data, size, [](const Calibration& calibration) {
    const widthwise::SortedScores scores(calibration);
    const std::optional<double> weight = scores.needs_test_weight() ? std::optional(1.0) : std::nullopt;
    for (const std::int64_t group : scores.groups()) {
      const double q = scores.quantile(0.9, group, weight);
      widthwise::fuzz::require(q == q, "a quantile is a number");
    }
    Calibration twice = calibration;
    (void)widthwise::fuzz::accepted([&] { twice.merge(calibration); },
                                    {widthwise::ErrorCode::kDuplicateRows, widthwise::ErrorCode::kInvalidArgument});
  });
  return 0;
}
