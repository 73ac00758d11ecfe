#pragma once

#include <vector>

#include <widthwise/train/fit.hpp>

#include "train/fit/splits.hpp"
#include "train/workers/workers.hpp"

namespace widthwise::internal {

/// The table of a fit with the categories of its fitting rows. A category that only calibration rows have is missing in
/// these rows, like a category that appears after the fit. If it were kept, the model would treat these calibration
/// rows differently from new rows, and the two would not be exchangeable.
class FittingCategories {
 public:
  FittingCategories(const FitTable& table, const Splits& splits, const Workers& workers);
  FittingCategories(const FittingCategories&) = delete;
  FittingCategories& operator=(const FittingCategories&) = delete;
  FittingCategories(FittingCategories&&) = delete;
  FittingCategories& operator=(FittingCategories&&) = delete;
  ~FittingCategories() = default;

  [[nodiscard]] const FitTable& table() const { return table_; }

 private:
  /// Keep the categories of a feature whose count is not 0.
  void keep(std::size_t feature, const std::vector<double>& counts);

  FitTable table_;
  std::vector<double> x_;         // of the table; empty if all categories are kept
  std::vector<double> shift_to_;  // likewise
};

}  // namespace widthwise::internal
