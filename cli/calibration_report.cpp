#include "calibration_report.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include <widthwise/plan.hpp>

#include "message.hpp"
#include "output.hpp"

namespace widthwise::cli {

void report_calibration(const CalibrationReport& report, bool json) {
  const Calibration& calibration = report.after.parts().calibration;
  const Guarantee& guarantee = report.after.parts().guarantee;
  Json levels = Json::array();
  std::string text = fmt::format("{}: calibrated with {}", report.written, count_of(calibration.rows_seen(), "row"));
  if (!report.replaced && report.before.parts().calibration.rows_seen() > 0) {
    text += fmt::format(", {} of them new", count(report.rows_added));
  }
  text += ".\n";
  for (const Level& level : report.after.parts().levels) {
    const CoverageSpread spread = coverage_spread(level, calibration.rows_kept(), kSpreadConfidence, guarantee);
    const std::uint64_t minimum = guarantee.min_rows(level);
    Json entry = {{"level", level.value()}};
    entry.update(to_json(spread));
    levels.push_back(std::move(entry));
    if (calibration.rows_kept() < minimum) {
      text += fmt::format("Intervals of level {}{} are infinite until there are {}.\n", level.to_string(),
                          with_guarantee(guarantee), count_of(minimum, "calibration row"));
    } else {
      text += fmt::format("Intervals of level {}{} will cover {} of new outcomes, with 95 % confidence.\n",
                          level.to_string(), with_guarantee(guarantee), percent_range(spread.low, spread.high));
    }
  }
  if (json) {
    print_json(Json{{"model", report.written},
                    {"rows_added", report.rows_added},
                    {"rows_seen", calibration.rows_seen()},
                    {"rows_kept", calibration.rows_kept()},
                    {"guarantee", to_json(guarantee)},
                    {"levels", levels}});
  } else {
    print(text);
  }
}

}  // namespace widthwise::cli
