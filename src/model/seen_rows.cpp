#include <widthwise/seen_rows.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise {
namespace {

/// A share as "1.3%": two significant digits below 10%, else whole percent.
std::string percent(double share) {
  const double percents = 100 * share;
  const double digits = percents >= 10 ? 1 : std::pow(10, 1 - std::floor(std::log10(percents)));
  return fmt::format("{}%", std::round(percents * digits) / digits);
}

}  // namespace

std::string SeenRows::shares() const {
  std::string which;
  if (fitted.found()) which = percent(fitted.share()) + " of these rows were used to fit the model";
  if (calibrated.found()) {
    const std::string share = percent(calibrated.share());
    which += which.empty() ? share + " of these rows were used to calibrate the model"
                           : fmt::format(", {} to calibrate it", share);
  }
  const std::string of_clusters = fmt::format(" of {}", internal::count_of(clusters, "cluster"));
  const auto add = [&](std::uint64_t found, const char* what) {
    if (found == 0) return;
    which += (which.empty() ? "" : "; ") + internal::count(found) + of_clusters + (found == 1 ? " was" : " were") +
             " used to " + what + " the model";
  };
  add(fitted_clusters, "fit");
  add(calibrated_clusters, "calibrate");
  return which;
}

std::string SeenRows::to_string() const {
  if (!any()) return "";
  return any_rows() ? shares() +
                          ". Their coverage does not estimate the coverage of new rows. Evaluate with rows that were "
                          "used for neither"
                    : shares() +
                          ", so these are not new clusters. Their coverage does not estimate the coverage of new "
                          "clusters. Evaluate with clusters that were used for neither";
}

SeenRows seen_rows(const Model& model, const RowSketch& rows, std::span<const std::int64_t> clusters) {
  std::vector<std::int64_t> distinct(clusters.begin(), clusters.end());
  std::ranges::sort(distinct);
  const auto repeated = std::ranges::unique(distinct);
  distinct.erase(repeated.begin(), repeated.end());
  const Calibration& calibration = model.parts().calibration;
  const auto calibrated =
      std::ranges::count_if(distinct, [&](std::int64_t cluster) { return calibration.has_cluster(cluster); });
  return {.fitted = overlap(model.parts().fit_sketch, rows),
          .calibrated = overlap(model.parts().calibration_sketch, rows),
          .clusters = distinct.size(),
          .fitted_clusters = model.fitted_clusters(distinct),
          .calibrated_clusters = static_cast<std::uint64_t>(calibrated)};
}

void require_new_rows(const Model& model, const RowSketch& rows, const RowSketch& calibrated,
                      std::string_view replace) {
  if (const RowOverlap fitted = overlap(model.parts().fit_sketch, rows); fitted.found()) {
    throw Error(ErrorCode::kBadData, percent(fitted.share()) +
                                         " of these rows were used to fit the model; its errors on them are smaller "
                                         "than on new rows, so intervals would be too narrow. Drop these rows");
  }
  if (const RowOverlap twice = overlap(calibrated, rows); twice.found()) {
    throw internal::make_error(ErrorCode::kDuplicateRows,
                               "{} of these rows are already in the calibration set, and duplicates make intervals too "
                               "narrow. Drop them, or use {} to calibrate with these rows only",
                               percent(twice.share()), replace);
  }
}

}  // namespace widthwise
