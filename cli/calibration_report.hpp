#pragma once

#include <cstdint>
#include <string>

#include <widthwise/model.hpp>

namespace widthwise::cli {

/// A model that was calibrated and written.
struct CalibrationReport {
  const Model& before;
  const Model& after;
  const std::string& written;
  std::uint64_t rows_added;
  bool replaced;  ///< the calibration there was is forgotten
};

/// Print how many rows there are now, and what each level will cover.
void report_calibration(const CalibrationReport& report, bool json);

}  // namespace widthwise::cli
