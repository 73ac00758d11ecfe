#include <string>
#include <utility>
#include <vector>

#include "base/layout.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/json.hpp"

namespace widthwise {
namespace {

using internal::printable;
using internal::share;

/// Coverage of the rows of the table that were observed; NaN for none.
double table_coverage(const TrackReport& report, std::size_t j) {
  return share(report.after.coverage(j).covered - report.before.coverage(j).covered, report.observed());
}

std::string coverage_table(const TrackReport& report) {
  const OnlineCalibration& online = report.after;
  const bool has_earlier_rows = report.observed() < online.rows();
  internal::TextTable table;
  std::vector<std::string> header = {"level", "coverage of " + count_of(report.observed(), "row")};
  if (has_earlier_rows) header.push_back("of all " + count(online.rows()));
  header.push_back("of the last " + count(online.coverage(0).recent_rows));
  header.emplace_back("fixed calibration");
  table.add(header);
  for (std::size_t j = 0; j < online.levels().size(); ++j) {
    const OnlineCoverage coverage = online.coverage(j);
    std::vector<std::string> line = {online.levels()[j].to_string(), percent(table_coverage(report, j))};
    if (has_earlier_rows) line.push_back(percent(share(coverage.covered, coverage.rows)));
    line.push_back(percent(share(coverage.recent_covered, coverage.recent_rows)));
    line.push_back(percent(share(coverage.covered_fixed, coverage.rows)));
    table.add(line);
  }
  return table.to_string();
}

}  // namespace

std::string to_json(const OnlineCalibration& online, NonFinite non_finite) {
  return internal::dump(json_of(online), non_finite);
}

std::string to_text(const TrackReport& report) {
  const OnlineCalibration& online = report.after;
  std::string text;
  if (report.output.empty()) {
    text = printable(report.table) + ": observed " + count_of(report.observed(), "outcome") +
           " of intervals issued before.\n";
  } else {
    text = printable(report.output) + ": " + count_of(report.rows, "row") + ", with " + internal::list(report.added);
    if (report.observed() > 0) text += "; " + report.order;
    text += ".\n";
  }
  if (!report.saved.empty()) {
    text += printable(report.saved) + ": saved the stream after " + count_of(online.rows(), "row") + " with outcomes";
    if (online.rows_pending() > 0) text += "; " + count_of(online.rows_pending(), "row") + " pending";
    text += ".\n";
  }
  if (online.rows() == 0) return text;
  text.append("\n").append(coverage_table(report));
  if (const auto& monitor = online.exchangeability()) {
    text.append("\n").append(internal::wrapped(monitor->summary())).append("\n");
  }
  return text;
}

std::string to_json(const TrackReport& report) {
  const OnlineCalibration& online = report.after;
  Json stream = json_of(online);
  for (std::size_t j = 0; j < online.levels().size(); ++j) {
    Json& level = stream["levels"][j];
    level["table_coverage"] = table_coverage(report, j);
    if (!report.infinite.empty()) level["infinite"] = report.infinite[j];
  }
  return internal::dump({{"output", internal::or_null(report.output)},
                         {"saved", internal::or_null(report.saved)},
                         {"rows", report.rows},
                         {"observed", report.observed()},
                         {"pending", online.rows_pending()},
                         {"batch", report.issued ? Json(*report.issued) : Json(nullptr)},
                         {"longest_delay", online.longest_delay()},
                         {"added", report.added},
                         {"unknown_categories", json_of(report.unknown_categories)},
                         {"method", stream["method"]},
                         {"window_rows", stream["window_rows"]},
                         {"levels", stream["levels"]},
                         {"exchangeability", stream["exchangeability"]}});
}

}  // namespace widthwise
