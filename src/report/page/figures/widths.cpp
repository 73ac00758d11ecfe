#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "evaluation/diagnostics/rows.hpp"
#include "report/page/figures.hpp"

namespace widthwise::internal {
namespace {

/// Finite widths, ascending.
struct FiniteWidths {
  std::vector<double> values;
  std::size_t rows = 0;  // with the infinite ones

  [[nodiscard]] double quantile(double share) const {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  }

  /// The end of the last bar: the largest width, unless a few rows are much wider than all others.
  [[nodiscard]] double end() const {
    constexpr double kTail = 0.995;
    constexpr double kMuch = 1.5;
    const double tail = quantile(kTail);
    return values.back() > kMuch * tail && tail > 0 ? tail : values.back();
  }

  [[nodiscard]] std::string share(std::size_t part) const {
    return percent(static_cast<double>(part) / static_cast<double>(rows));
  }
};

/// The smallest width around the predictions that covers as many outcomes as the intervals.
std::optional<double> one_width(const IntervalRows& rows) {
  std::vector<double> errors;
  std::size_t covered = 0;
  for (std::size_t row = 0; row < rows.outcomes.size(); ++row) {
    if (is_covered(rows, row)) ++covered;
    errors.push_back(std::abs(rows.outcomes[row] - rows.predictions[row]));
  }
  if (covered == 0) return std::nullopt;
  std::ranges::nth_element(errors, errors.begin() + static_cast<std::ptrdiff_t>(covered - 1));
  return 2 * errors[covered - 1];
}

/// Equal bars from the smallest width to the end of the last bar; one bar if all widths are equal up to rounding.
void add_bars(WidthsFigure& figure, const FiniteWidths& widths) {
  const double end = widths.end();
  const double start = widths.values.front();
  const auto n = static_cast<double>(widths.values.size());
  const auto rows = static_cast<double>(widths.rows);
  if (end - start <= 1e-9 * end) {
    const double reach = end > 0 ? 0.05 * end : 0.5;
    figure.edges = {end - reach, end + reach};
    figure.shares = {n / rows};
    return;
  }
  const auto bars = static_cast<std::size_t>(std::clamp(std::round(std::sqrt(n)), 8.0, 40.0));
  const double step = (end - start) / static_cast<double>(bars);
  for (std::size_t i = 0; i < bars; ++i) figure.edges.push_back(start + step * static_cast<double>(i));
  figure.edges.push_back(end);
  figure.shares.assign(bars, 0);
  for (const double width : widths.values) {
    const auto bar = static_cast<std::size_t>((std::min(width, end) - start) / step);
    figure.shares[std::min(bar, bars - 1)] += 1 / rows;
  }
}

std::string compared(double mean, double one_width) {
  constexpr double kRounded = 0.005;
  const double change = mean / one_width - 1;
  return " One width with the same coverage would be " + significant(one_width) + ": these intervals are " +
         (std::abs(change) < kRounded ? std::string("as wide")
                                      : percent(std::abs(change), 0) + (change < 0 ? " narrower" : " wider")) +
         " on average.";
}

void add_finite(WidthsFigure& figure, const FiniteWidths& widths) {
  add_bars(figure, widths);
  figure.caption = "Half of the intervals are narrower than " + significant(widths.quantile(0.5)) +
                   ", a tenth is wider than " + significant(widths.quantile(0.9)) + ".";
  const double end = widths.end();
  const double widest = widths.values.back();
  if (end >= widest) return;
  const auto beyond = static_cast<std::size_t>(widths.values.end() - std::ranges::upper_bound(widths.values, end));
  const std::string wider = "wider than " + significant(end) + ", up to " + significant(widest);
  figure.notes = {widths.share(beyond) + " " + wider};
  figure.caption += " The last bar has " + widths.share(beyond) + " that are " + wider + ".";
}

}  // namespace

std::string width_name(const std::string& target) { return "interval width (units of " + target + ")"; }

WidthsFigure widths_figure(std::span<const double> lower, std::span<const double> upper,
                           std::span<const double> outcomes, std::span<const double> predictions,
                           const std::string& target) {
  check_size(upper.size(), lower.size(), "upper bounds", "widths");
  const bool comparable = !outcomes.empty() && !predictions.empty();
  if (comparable) check_rows({lower, upper, outcomes, predictions}, "widths");
  FiniteWidths widths{.values = {}, .rows = lower.size()};
  CompensatedSum sum;
  for (std::size_t row = 0; row < lower.size(); ++row) {
    const double width = upper[row] - lower[row];
    if (!std::isfinite(width)) continue;
    widths.values.push_back(width);
    sum.add(width);
  }
  std::ranges::sort(widths.values);
  WidthsFigure figure;
  figure.heading = "Interval widths";
  figure.x_name = width_name(target);
  figure.y_name = "share of rows";
  figure.infinite = widths.rows - widths.values.size();
  const std::string rows = count(widths.rows);
  if (widths.values.empty()) {
    figure.caption = "All " + rows + " intervals are infinite.";
    figure.notes = {figure.caption.substr(0, figure.caption.size() - 1)};
    return figure;
  }
  figure.mean = sum.value() / static_cast<double>(widths.values.size());
  add_finite(figure, widths);
  if (figure.infinite > 0) {
    figure.notes.push_back(count(figure.infinite) + " of " + rows + " are infinite");
    figure.caption += " " + figure.notes.back() + " and not in the picture.";
  } else if (comparable) {
    figure.one_width = one_width({lower, upper, outcomes, predictions});
    if (figure.one_width && *figure.one_width > 0) figure.caption += compared(figure.mean, *figure.one_width);
  }
  figure.legend = {"rows", "mean " + significant(figure.mean)};
  if (figure.one_width) figure.legend.push_back("one width for all " + significant(*figure.one_width));
  figure.x_low = std::min(figure.edges.front(), figure.one_width.value_or(figure.edges.front()));
  figure.x_high = std::max(figure.edges.back(), figure.one_width.value_or(figure.edges.back()));
  return figure;
}

}  // namespace widthwise::internal
