#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include <widthwise/train/fit.hpp>

#include "train/workers/workers.hpp"

namespace widthwise::internal {

/// The options of a fit of few rows: without a choice of the transform, all intervals have one width if fewer rows fit
/// than a localizer is trained on.
struct OptionsForRows {
  FitOptions options;
  std::string warning = {};  ///< if the rows are too few; else empty

  /// `most`: if known, the largest number of rows that fit.
  OptionsForRows(FitOptions given, const FitTable& table, const Workers& workers,
                 std::size_t most = std::numeric_limits<std::size_t>::max());
};

}  // namespace widthwise::internal
