#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/row_checks.hpp>

namespace widthwise {

std::vector<double> residual_quantiles(std::span<const double> residuals) {
  std::vector<double> sorted(residuals.begin(), residuals.end());
  for (double& residual : sorted) residual = std::abs(residual);
  std::ranges::sort(sorted);
  constexpr std::size_t kQuantiles = 1024;
  if (sorted.size() <= kQuantiles) return sorted;
  std::vector<double> quantiles;
  quantiles.reserve(kQuantiles);
  for (std::size_t i = 1; i <= kQuantiles; ++i) quantiles.push_back(sorted[(i * sorted.size() - 1) / kQuantiles]);
  return quantiles;
}

std::string InSampleCheck::warning() const {
  if (suspicious()) {
    return "the model was fitted on smaller errors than those of these rows, by more than chance. Either fit received "
           "in-sample predictions (use predictions of rows that the base model was not trained on), or these rows are "
           "harder. Intervals stay valid, but their widths may fit the rows less well";
  }
  if (calibration_suspicious()) {
    return "the errors of these rows are smaller than those the model was fitted on, by more than chance. If the base "
           "model was trained on these rows, intervals will be too narrow for new rows: calibrate with rows that the "
           "base model was not trained on. If these rows are easier and new rows are like them, intervals are valid";
  }
  return "";
}

InSampleCheck check_in_sample(const Model& model, const Calibration& residuals, double failure) {
  if (!(failure > 0 && failure < 1)) {
    throw Error(ErrorCode::kInvalidArgument, "check_in_sample: failure must be strictly between 0 and 1");
  }
  const auto& fitted = model.parts().fit_residuals;
  InSampleCheck result;
  // The bound assumes independent rows.
  if (fitted.empty() || residuals.rows_kept() == 0 || !model.scheme().has_independent_rows()) return result;
  std::vector<double> fresh;
  for (const CalibrationRow& row : residuals.rows(0)) fresh.push_back(row.score);
  std::ranges::sort(fresh);
  // At least a share of i / size of the training residuals are at most the i-th quantile, and at most `place` of them
  // are below it, so no distance is overstated.
  const auto m = static_cast<double>(fresh.size());
  const auto n = static_cast<double>(model.parts().fit_rows);
  const bool by_folds = model.trained_by_folds();
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    const auto below = std::upper_bound(fresh.begin(), fresh.end(), fitted[i]) - fresh.begin();
    const double distance =
        static_cast<double>(i + 1) / static_cast<double>(fitted.size()) - static_cast<double>(below) / m;
    result.distance = std::max(result.distance, distance);
    if (by_folds) continue;
    const auto smaller = std::lower_bound(fresh.begin(), fresh.end(), fitted[i]) - fresh.begin();
    const double place = std::floor((static_cast<double>(i + 1) * n - 1) / static_cast<double>(fitted.size()));
    result.distance_below = std::max(result.distance_below, static_cast<double>(smaller) / m - place / n);
  }
  // Smirnov's limit, exp(-2 d^2 n m / (n + m)), with the factor 2 that makes it a bound for finite n and m, and half of
  // the failure probability per direction.
  result.bound = std::sqrt(std::log(4 / failure) * (1 / n + 1 / m) / 2);
  return result;
}

}  // namespace widthwise
