#include "train/fit/steps.hpp"

#include "train/fit/base_model.hpp"
#include "train/fit/rows.hpp"

namespace widthwise::internal {
namespace {

/// The rows that calibrate, with predictions of the deployed model.
struct CalibrationRows {
  WideRows x;
  std::vector<double> y;
  std::vector<double> predictions;
  std::vector<double> scores;
  std::vector<double> weights;
};

CalibrationRows scored_rows(const Model& fitted, const FitTable& table, const TablePart& part) {
  const bool predicts = fitted.parts().base != nullptr;
  CalibrationRows rows{.x = WideRows(table.rows.x, part.rows),
                       .y = taken(table.y, part.rows),
                       .predictions = std::vector<double>(part.rows.size()),
                       .scores = std::vector<double>(part.rows.size()),
                       .weights = std::vector<double>(part.rows.size())};
  const std::vector<double> predicted =
      predicts ? std::vector<double>() : taken(given_predictions(table), part.rows, prediction_columns(table));
  const RoleColumns columns(table.rows, part.rows);
  Rows model_rows{.x = rows.x.features(), .predictions = predicted};
  columns.set(model_rows);
  fitted.weights(model_rows, rows.weights);
  fitted.scores(model_rows, rows.y, rows.scores);
  fitted.predictions(model_rows, rows.predictions);
  return rows;
}

}  // namespace

Model calibrate(const Model& fitted, const FitTable& table, const Splits& splits, const Workers& workers,
                std::uint64_t seed, std::vector<std::string>& warnings) {
  const TablePart& part = splits.calibration();
  const CalibrationRows rows = scored_rows(fitted, table, part);
  Calibration own(Calibration::Options{.seed = seed});
  std::vector<double> residuals;
  for (std::size_t i = 0; i < rows.scores.size(); ++i) {
    CalibrationRow row{.score = rows.scores[i], .above = rows.y[i] > rows.predictions[i], .weight = rows.weights[i]};
    if (!table.rows.groups.empty()) row.group = table.rows.groups[part.rows[i]];
    if (!table.rows.clusters.empty()) row.cluster = table.rows.clusters[part.rows[i]];
    own.add(part.splitter.numbers()[i], row);
    residuals.push_back(rows.y[i] - rows.predictions[i]);
  }
  if (table.rows.labels != nullptr) own.name_groups(*table.rows.labels);
  const Calibration::Options calibration_options = own.options();
  Calibration calibration = workers.merged(std::move(own), Calibration(calibration_options));
  const InSampleCheck check = check_in_sample(fitted, sampled_residuals(residuals, part, workers));
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
  return fitted.with_calibration(std::move(calibration), sketch_of(table, rows.x.features(), rows.y, workers));
}

}  // namespace widthwise::internal
