#pragma once

#include <string>
#include <vector>

#include "report/page/figures.hpp"
#include "report/page/svg.hpp"

/// The figures of the report on an evaluation as SVG.
namespace widthwise::internal {

[[nodiscard]] Picture picture_of(const IntervalsFigure& figure);
[[nodiscard]] Picture picture_of(const CoverageFigure& figure);
[[nodiscard]] Picture picture_of(const WidthsFigure& figure);

/// `with_widths`: the mean width of each bin is at the right.
[[nodiscard]] Picture picture_of(const BinsFigure& figure, const std::vector<Bin>& bins, const Level& level,
                                 bool with_widths);

}  // namespace widthwise::internal
