#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <widthwise/train/fit.hpp>

#include "train/fit/splits.hpp"

namespace widthwise::internal {

/// Calibrate a fitted model with the calibration rows. Adds a warning if the training residuals are smaller than the
/// residuals of these rows by more than chance.
[[nodiscard]] Model calibrate(const Model& fitted, const FitTable& table, const Splits& splits, const Workers& workers,
                              std::uint64_t seed, std::vector<std::string>& warnings);

}  // namespace widthwise::internal
