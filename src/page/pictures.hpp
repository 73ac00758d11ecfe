#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/page.hpp>

#include "page/svg.hpp"

/// The pictures of the report on an evaluation.
namespace widthwise::internal {

/// A picture with its heading and a caption that describes it.
struct Figure {
  std::string heading;
  std::string caption;
  Picture picture;
};

/// Intervals and outcomes of a sample of the rows, in the order of their predictions.
[[nodiscard]] Figure intervals_figure(const IntervalRows& rows, std::span<const double> predictions, const Level& level,
                                      const std::string& target);

/// A feature of numbers, or the prediction, of some of the rows.
struct FeatureColumn {
  std::string called;                 ///< in sentences: its name, or "the prediction"
  std::string name;                   ///< of the axis
  std::span<const std::size_t> rows;  ///< m numbers of rows
  std::vector<double> values;         ///< m; NaN for a missing value
};

/// Intervals and outcomes of a sample of these rows over the feature. A few distinct values have a slot each. A skewed
/// feature has a rank axis: rows are side by side in its order. Missing values come last.
[[nodiscard]] Figure feature_figure(const IntervalRows& rows, const FeatureColumn& feature, const Level& level,
                                    const std::string& target);

/// Coverage minus level, with the band that exchangeable rows give. The page has such levels.
[[nodiscard]] Figure levels_figure(const EvaluationPage& page);

/// The distribution of finite widths, compared with one width of equal coverage. There are finite widths.
[[nodiscard]] Figure widths_figure(const IntervalRows& rows, std::span<const double> predictions,
                                   const std::string& target);

/// Coverage by bins, which are not empty, and the mean width of each bin unless the bins are ranges of widths. `called`
/// follows "Coverage by", `name` is that of the axis.
[[nodiscard]] Figure bins_figure(const std::vector<Bin>& all, const Level& level, const std::string& called,
                                 const std::string& name);

inline constexpr const char* kByWidth = "width";  ///< `called` of bins of widths

}  // namespace widthwise::internal
