#include <utility>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "conformal/schemes/wrapped.hpp"

namespace widthwise::internal {
namespace {

/// Calibration rows are later than those that fitted the model, and count as in the inner scheme. The law of the
/// covered count is that of rows that are exchangeable although they are ordered, which the verdict on later rows
/// tests.
class TimeOrder final : public WrappedScheme {
 public:
  TimeOrder(SchemePointer inner, const Calibration& calibration) : WrappedScheme(std::move(inner), calibration) {}

  [[nodiscard]] GuaranteeStatement guarantee(const Level& level) const override {
    GuaranteeStatement statement = inner().guarantee(level);
    statement.text += fmt::format(
        ". The rows are ordered by the time '{}', and later rows are rarely exchangeable with earlier ones: coverage "
        "of later rows is not guaranteed unless they are",
        printable(options().columns[Role::kTime]));
    return statement;
  }
};

}  // namespace

SchemePointer make_time_order(SchemePointer inner, const Calibration& calibration) {
  return std::make_shared<const TimeOrder>(std::move(inner), calibration);
}

}  // namespace widthwise::internal
