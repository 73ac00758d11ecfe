#include <utility>

#include <widthwise/model_file.hpp>
#include <widthwise/row_checks.hpp>

#include "train/fit/steps.hpp"

#include "train/fit/base_model.hpp"
#include "train/fit/rows.hpp"

namespace widthwise::internal {
namespace {

/// The rows that calibrate, scored; those of this worker.
CalibrationShard scored_rows(const Model& fitted, const FitTable& table, const TablePart& part, std::uint64_t seed) {
  const WideRows x(table.rows.x, part.rows);
  const std::vector<double> y = taken(table.y, part.rows);
  const bool predicts = fitted.parts().base != nullptr;
  const std::vector<double> predicted =
      predicts ? std::vector<double>() : taken(given_predictions(table), part.rows, prediction_columns(table));
  const RoleColumns columns(table.rows, part.rows);
  Rows rows{.x = x.features(), .predictions = predicted, .labels = table.rows.labels};
  columns.set(rows);
  CalibrationShard shard{.calibration = Calibration({.seed = seed})};
  shard.add(fitted, rows, y, part.splitter.numbers());
  return shard;
}

/// The rows of all workers.
CalibrationShard merged(CalibrationShard own, const Workers& workers) {
  const CalibrationShard empty{.calibration = Calibration(own.calibration.options())};
  own.calibration = workers.merged(std::move(own.calibration), empty.calibration);
  own.residuals = workers.merged(std::move(own.residuals), empty.residuals);
  own.sketch = workers.merged(std::move(own.sketch), empty.sketch);
  return own;
}

}  // namespace

Model calibrate(const Model& fitted, const FitTable& table, const Splits& splits, const Workers& workers,
                std::uint64_t seed, std::vector<std::string>& warnings) {
  CalibrationShard rows = merged(scored_rows(fitted, table, splits.calibration(), seed), workers);
  const InSampleCheck check = check_in_sample(fitted, rows.residuals);
  if (check.calibration_suspicious()) {
    warnings.emplace_back(
        "the residuals of the calibration rows are smaller than those of the fitting rows by more than chance allows: "
        "if the predictions were made by a model that had seen the calibration rows, intervals are too narrow for new "
        "rows. Pass predictions of rows that the model was not trained on");
  }
  if (check.suspicious()) {
    const std::string cause =
        table.rows.times.empty()
            ? "were the predictions made by a model that had seen some of these rows? Intervals stay valid, "
              "but narrower and more even ones are possible with out-of-sample predictions"
            : "errors grow with time, or the predictions were made by a model that had seen the fitting "
              "rows. If errors keep growing, the coverage of later rows is below the level";
    warnings.push_back(
        "the residuals of the fitting rows are smaller than those of the calibration rows by more than chance "
        "allows: " +
        cause);
  }
  return fitted.with_calibration(std::move(rows.calibration), std::move(rows.sketch));
}

}  // namespace widthwise::internal
