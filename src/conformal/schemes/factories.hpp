#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <widthwise/error.hpp>
#include <widthwise/schemes.hpp>

/// The schemes. Each function returns the one of its source.
namespace widthwise::internal {

using SchemePointer = std::shared_ptr<const CalibrationScheme>;

[[nodiscard]] SchemePointer make_plain_rows(SchemeOptions options, const Calibration& calibration);
/// `in_groups`: whether each group is calibrated by its clusters.
[[nodiscard]] SchemePointer make_clusters(SchemeOptions options, const Calibration& calibration, bool in_groups);
[[nodiscard]] SchemePointer make_folds(SchemeOptions options, const Calibration& calibration);
/// The rows of `inner`, each group on its own.
[[nodiscard]] SchemePointer make_groups(SchemePointer inner, const Calibration& calibration);
/// The rows of `inner`, with weights.
[[nodiscard]] SchemePointer make_weights(SchemePointer inner, const Calibration& calibration);
/// The rows of `inner`, split by time.
[[nodiscard]] SchemePointer make_time_order(SchemePointer inner, const Calibration& calibration);

/// What a marginal guarantee averages over.
inline constexpr const char* kOnAverage = "on average over calibration sets and new rows";

[[noreturn]] inline void refuse_parts(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "Model: " + what);
}

}  // namespace widthwise::internal
