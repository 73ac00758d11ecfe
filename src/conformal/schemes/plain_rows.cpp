#include <utility>

#include "base/message.hpp"
#include "base/text.hpp"
#include "conformal/schemes/factories.hpp"

namespace widthwise::internal {
namespace {

/// Every calibration row and the new row have weight 1.
class PlainRows final : public CalibrationScheme {
 public:
  PlainRows(SchemeOptions options, const Calibration& calibration)
      : CalibrationScheme(std::move(options), calibration) {}

  [[nodiscard]] GuaranteeStatement guarantee(const Level& /*level*/) const override {
    if (const auto& confidence = options().guarantee.confidence()) {
      return {.kind = "training-conditional",
              .text = fmt::format("coverage of at least the level for {} of calibration sets, on average over new "
                                  "rows, if calibration rows and new rows are independent draws of one distribution",
                                  percent(confidence->value()))};
    }
    return {.kind = "marginal",
            .text = fmt::format("coverage of at least the level, {}, if new rows are exchangeable with the "
                                "calibration rows",
                                kOnAverage)};
  }

  [[nodiscard]] bool spread_is_exact() const override { return true; }
};

}  // namespace

SchemePointer make_plain_rows(SchemeOptions options, const Calibration& calibration) {
  return std::make_shared<const PlainRows>(std::move(options), calibration);
}

}  // namespace widthwise::internal
