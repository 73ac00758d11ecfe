#include "train/fit/steps.hpp"

#include <algorithm>
#include <utility>

#include "base/message.hpp"
#include "base/text.hpp"
#include "train/fit/splits.hpp"

namespace widthwise::internal {
namespace {

/// Fewer fitting rows train no localizer.
constexpr double kMinRowsToTrain = 20;

/// The rows of `rows` that fit: those that do not calibrate, of the whole fit or of a fold.
double fitting_rows(double rows, const FitTable& table, const FitOptions& options) {
  if (options.calibration == CalibrationMethod::kCross) {
    const std::size_t folds = options.folds.value_or(kFoldsOfFewRows);
    return rows - rows / (folds == kFoldPerRow ? rows : std::min(static_cast<double>(folds), rows));
  }
  if (!table.cv_predictions.empty()) return rows;
  return rows - (options.calibration_size < 1 ? options.calibration_size * rows : options.calibration_size);
}

}  // namespace

OptionsForRows::OptionsForRows(FitOptions given, const FitTable& table, const Workers& workers, std::size_t most)
    : options(std::move(given)) {
  if (options.score_transform != "auto") return;
  const double rows = workers.total(static_cast<double>(table.rows.x.rows()));
  const double fitting = std::min(fitting_rows(rows, table, options), static_cast<double>(most));
  if (rows < 1 || fitting >= kMinRowsToTrain) return;
  options.score_transform = "identity";
  warning = fmt::format("{} are too few to learn how errors depend on the row: all intervals have one width",
                        count_of(static_cast<std::uint64_t>(rows), "row"));
}

}  // namespace widthwise::internal
