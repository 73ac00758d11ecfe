#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <widthwise/evaluation.hpp>

#include "diagnostics/bins.hpp"
#include "evaluation_places.hpp"

namespace widthwise::internal {

/// Measures the gaps of one level, and corrects their p-values for all bins.
class CoverageGaps {
 public:
  CoverageGaps(const PlaceTest& test, const Level& level) : test_(test), level_(level) {}

  /// Add the bins of one variable, chosen without regard to outcomes. Nothing if none has kMinBinRows rows.
  void add(PlaceKind kind, std::size_t feature, std::span<const BinRows> bins);

  /// All gaps, in the order in which they were added; the levels evaluated together share the error rate.
  [[nodiscard]] std::vector<CoverageGap> finish(std::size_t levels) &&;

 private:
  const PlaceTest& test_;
  const Level& level_;
  std::vector<CoverageGap> gaps_;
  std::vector<double> p_values_;    // of all bins
  std::vector<std::size_t> owner_;  // index of the gap that each belongs to
};

}  // namespace widthwise::internal
