#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/report.hpp>

#include "base/text.hpp"

/// What the reports share: JSON of small values, and phrases.
namespace widthwise::internal {

/// Keys stay in the order they were added.
using Json = nlohmann::ordered_json;

/// part / whole; NaN for 0 / 0.
[[nodiscard]] inline double share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// null for an empty text.
[[nodiscard]] inline Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

[[nodiscard]] Json json_of(const Proportion& proportion);
[[nodiscard]] Json json_of(const Ert& ert);
[[nodiscard]] Json json_of(const CoverageSpread& spread);
[[nodiscard]] Json json_of(const std::vector<Bin>& bins);
[[nodiscard]] Json json_of(const OnlineCalibration& online);
[[nodiscard]] Json json_of(const OnlineCoverage& coverage);
/// null if there is no test.
[[nodiscard]] Json json_of(const std::optional<ExchangeabilityMonitor>& test);
/// One object per feature.
[[nodiscard]] Json json_of(const std::vector<UnknownLabels>& unknown);
/// "marginal", or the confidence as a number.
[[nodiscard]] Json json_of(const Guarantee& guarantee);

/// The calibration rows of each group by label; null without groups.
[[nodiscard]] Json groups_json(const SchemeDescription& description);
/// The number of clusters; null without clusters.
[[nodiscard]] Json cluster_count_json(const SchemeDescription& description);
/// How clusters count: form, sizes and effective number; null without clusters.
[[nodiscard]] Json cluster_rule_json(const SchemeDescription& description);

/// The JSON text, indented by two, in full precision. Characters that a terminal would obey are escaped.
[[nodiscard]] std::string dump(const Json& json, NonFinite non_finite = NonFinite::kNull);

}  // namespace widthwise::internal

namespace widthwise {

// Every report uses these.
using internal::count;
using internal::count_of;
using internal::Json;
using internal::json_of;
using internal::percent;

}  // namespace widthwise
