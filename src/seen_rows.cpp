#include <widthwise/seen_rows.hpp>

#include <cmath>
#include <string>

#include <widthwise/error.hpp>

#include "text.hpp"

namespace widthwise {
namespace {

/// A share as "1.3%": two significant digits below 10%, else whole percent.
std::string percent(double share) {
  const double percents = 100 * share;
  const double digits = percents >= 10 ? 1 : std::pow(10, 1 - std::floor(std::log10(percents)));
  return internal::text_of(std::round(percents * digits) / digits) + "%";
}

}  // namespace

std::string SeenRows::shares() const {
  std::string which;
  if (fitted.found()) which = percent(fitted.share()) + " of these rows fitted the model";
  if (calibrated.found()) {
    const std::string share = percent(calibrated.share());
    which += which.empty() ? share + " of these rows calibrated the model" : ", " + share + " of them calibrated it";
  }
  return which;
}

std::string SeenRows::to_string() const {
  if (!any()) return "";
  return shares() +
         ". Coverage here does not measure coverage of new rows. Evaluate with rows that neither fitted nor "
         "calibrated the model";
}

SeenRows seen_rows(const Model& model, const RowSketch& rows) {
  return {overlap(model.parts().fit_sketch, rows), overlap(model.parts().calibration_sketch, rows)};
}

void require_new_rows(const Model& model, const RowSketch& rows, const RowSketch& calibrated,
                      std::string_view replace) {
  if (const RowOverlap fitted = overlap(model.parts().fit_sketch, rows); fitted.found()) {
    throw Error(ErrorCode::kBadData, percent(fitted.share()) +
                                         " of these rows fitted the model; its errors there are smaller than on new "
                                         "rows, so intervals would be too narrow. Drop the rows that fitted the model");
  }
  if (const RowOverlap twice = overlap(calibrated, rows); twice.found()) {
    throw Error(ErrorCode::kDuplicateRows, percent(twice.share()) +
                                               " of these rows are already in the calibration set; counted twice "
                                               "they would make intervals too narrow. Drop them, or use " +
                                               std::string(replace) + " to calibrate with these rows alone");
  }
}

}  // namespace widthwise
