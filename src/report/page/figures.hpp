#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/report.hpp>

/// What the figures of an evaluation show: series, limits and sentences. The report draws them as SVG, the Python
/// package with matplotlib.
namespace widthwise::internal {

/// Sentences of a figure, and names of what it shows.
struct FigureText {
  std::string heading = {};
  std::string caption = {};
  std::string x_name = {};
  std::string y_name = {};
  std::vector<std::string> legend = {};  ///< names of the series, each figure has its own
  std::vector<std::string> notes = {};   ///< what a figure without its caption should state
};

// ---- intervals of rows

inline constexpr std::size_t kRowsShown = 250;

/// How the rows are placed along the x axis.
enum class RowAxis {
  kOrder,  ///< side by side in the order of their predictions, from 0 to 1
  kScale,  ///< at the value of a feature
  kRanks,  ///< side by side in the order of a skewed feature, from 0 to 1
  kSlots,  ///< a slot for each of a few values, at 0, 1, ...
};

/// Intervals and outcomes of a sample of the rows. The legend names intervals, outcomes inside and outcomes outside.
struct IntervalsFigure : FigureText {
  std::vector<std::size_t> shown = {};     ///< numbers of the m rows
  std::vector<double> places = {};         ///< m; of the rows on the x axis
  std::vector<double> lower = {};          ///< m; infinite bounds are at the limits of the y axis
  std::vector<double> upper = {};          ///< m; likewise
  std::vector<double> outcomes = {};       ///< m
  std::vector<std::uint8_t> outside = {};  ///< m; 1 for an outcome outside its interval
  RowAxis axis = RowAxis::kOrder;
  std::vector<std::pair<double, std::string>> ticks = {};  ///< of ranks and slots; others are left to the drawing
  double x_low = 0;
  double x_end = 1;                       ///< of the known values
  std::optional<double> missing_at = {};  ///< centre of the rows with a missing value, between x_end and x_high
  double x_high = 1;
  double y_low = 0;
  double y_high = 1;
};

/// Rows in the order of their predictions.
[[nodiscard]] IntervalsFigure intervals_figure(const IntervalRows& rows, std::span<const double> predictions,
                                               const std::optional<Level>& level, const std::string& target,
                                               std::size_t max_rows = kRowsShown);

/// "prediction of price": the name of the prediction as a feature.
[[nodiscard]] std::string prediction_name(const std::string& target);

/// A feature, or the prediction, of some of the rows.
struct FeatureColumn {
  std::string name;                      ///< or prediction_name
  std::span<const std::size_t> rows;     ///< m numbers of rows; empty for all rows
  std::vector<double> values;            ///< m; NaN for a missing value
  std::vector<std::string> labels = {};  ///< of the values, which are their numbers; empty for a feature of numbers
};

/// Rows over a feature. A few distinct values have a slot each. A skewed feature has a rank axis.
[[nodiscard]] IntervalsFigure feature_figure(const IntervalRows& rows, const FeatureColumn& feature,
                                             const std::optional<Level>& level, const std::string& target,
                                             std::size_t max_rows = kRowsShown);

// ---- coverage at every level

/// Coverage of the same rows at several levels.
struct MeasuredCoverage {
  std::vector<Level> levels;
  std::vector<std::uint64_t> covered;  ///< rows at each level
  std::uint64_t rows = 0;
  std::optional<std::uint64_t> calibration_rows = {};
  std::vector<CoverageSpread> expected = {};  ///< at each level; empty if the calibration rows are not known
  std::optional<double> greatest_level = {};  ///< with finite intervals; by default the greatest of `levels`
  std::vector<Level> too_low = {};            ///< by another test
};

/// With the coverage that calibration rows make expected, of all levels together with kVerdictConfidence.
[[nodiscard]] MeasuredCoverage measured_coverage(std::vector<Level> levels, std::vector<std::uint64_t> covered,
                                                 std::uint64_t rows, std::optional<std::uint64_t> calibration_rows,
                                                 const Guarantee& guarantee);

/// The coverage that a report shows.
[[nodiscard]] MeasuredCoverage measured_coverage(const EvaluationPage& page);

/// Coverage at the levels with finite intervals, ascending. The legend names the band, the level, coverage, and
/// coverage that is too low.
struct CoverageFigure : FigureText {
  std::vector<double> levels = {};
  std::vector<double> coverage = {};
  std::vector<double> low = {};          ///< ends of the band; empty if the calibration rows are not known
  std::vector<double> high = {};         ///< likewise
  std::vector<std::uint8_t> below = {};  ///< 1 for coverage that is too low
  double greatest_level = 1;             ///< intervals of higher levels are infinite
  double reach = 0;                      ///< limit of coverage minus level, in both directions
};

[[nodiscard]] CoverageFigure coverage_figure(const MeasuredCoverage& measured);

// ---- widths

/// "interval width (units of price)".
[[nodiscard]] std::string width_name(const std::string& target);

/// The distribution of finite widths. The legend names the bars, the mean and the one width.
struct WidthsFigure : FigureText {
  std::vector<double> edges = {};   ///< of the bars; none if all widths are infinite
  std::vector<double> shares = {};  ///< of all rows, in each bar
  double mean = 0;                  ///< of the finite widths
  std::uint64_t infinite = 0;
  std::optional<double> one_width = {};  ///< for all rows, that covers as many outcomes; none if any is infinite
  double x_low = 0;
  double x_high = 1;
};

/// Without outcomes or predictions, there is no one width.
[[nodiscard]] WidthsFigure widths_figure(std::span<const double> lower, std::span<const double> upper,
                                         std::span<const double> outcomes, std::span<const double> predictions,
                                         const std::string& target);

// ---- coverage by bins

/// Coverage by bins with 95% confidence intervals. The legend names the confidence intervals, weak bins and the level.
struct BinsFigure : FigureText {
  std::vector<std::string> names = {};   ///< of all bins
  std::vector<std::size_t> shown = {};   ///< bins from the top; if they have labels, the lowest coverage first
  std::vector<std::string> widths = {};  ///< mean widths of all bins, as text
  double x_low = 0;
  double x_high = 1;
};

/// There are bins. `called` follows "Coverage by", `name` is that of the axis.
[[nodiscard]] BinsFigure bins_figure(const std::vector<Bin>& bins, const Level& level, const std::string& called,
                                     const std::string& name);

}  // namespace widthwise::internal
