#include "report/page/pictures.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace widthwise::internal {
namespace {

constexpr double kWidestLabel = 170;
constexpr double kRowHeight = 18;

std::string dashed() { return stroke(Tone::kText) + ";stroke-width:1;stroke-dasharray:4 3"; }

Axis row_axis(const IntervalsFigure& figure) {
  Axis x{.low = figure.x_low, .high = figure.x_high, .name = figure.x_name, .missing_at = figure.missing_at};
  if (figure.axis == RowAxis::kOrder) x.ticks = percent_ticks(0, 1);
  if (figure.axis == RowAxis::kScale) x.ticks = number_ticks(figure.x_low, figure.x_end);
  for (const auto& [at, text] : figure.ticks) x.ticks.push_back({at, text});
  return x;
}

/// Ticks at round percentage points with their sign.
std::vector<Tick> point_ticks(double reach) {
  std::vector<Tick> ticks;
  for (const double at : round_numbers(-reach, reach)) {
    std::string text = at > 0 ? "+" : "";
    ticks.push_back({at, text.append(significant(100 * at, 4))});
  }
  return ticks;
}

}  // namespace

Picture picture_of(const IntervalsFigure& figure) {
  Picture picture(row_axis(figure),
                  {.low = figure.y_low,
                   .high = figure.y_high,
                   .ticks = number_ticks(figure.y_low, figure.y_high),
                   .name = figure.y_name},
                  {{Mark::kBand, Tone::kGood, figure.legend[0]},
                   {Mark::kDot, Tone::kGood, figure.legend[1]},
                   {Mark::kCross, Tone::kBad, figure.legend[2]}},
                  {});
  const std::vector<double>& places = figure.places;
  picture.style(stroke(Tone::kGood) + ";stroke-width:1.2;opacity:.4");
  for (std::size_t i = 0; i < places.size(); ++i) picture.line(places[i], figure.lower[i], places[i], figure.upper[i]);
  picture.style(fill(Tone::kGood));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (figure.outside[i] == 0) picture.dot(places[i], figure.outcomes[i], 1.4);
  }
  picture.style(stroke(Tone::kBad) + ";stroke-width:1.4;fill:none");
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (figure.outside[i] != 0) picture.cross(places[i], figure.outcomes[i], 2.6);
  }
  return picture;
}

Picture picture_of(const CoverageFigure& figure) {
  std::vector<LegendEntry> legend = {{Mark::kBand, Tone::kGood, figure.legend[0]},
                                     {Mark::kDashes, Tone::kText, figure.legend[1]},
                                     {Mark::kLine, Tone::kGood, figure.legend[2]}};
  if (std::ranges::count(figure.below, 1) > 0) legend.push_back({Mark::kCross, Tone::kBad, figure.legend[3]});
  Picture picture(
      {.ticks = percent_ticks(0, 1), .name = figure.x_name},
      {.low = -figure.reach, .high = figure.reach, .ticks = point_ticks(figure.reach), .name = figure.y_name},
      std::move(legend), {});
  const std::size_t n = figure.levels.size();
  Picture::Points band;
  Picture::Points measured;
  for (std::size_t i = 0; i < n; ++i) {
    band.emplace_back(figure.levels[i], figure.high[i] - figure.levels[i]);
    measured.emplace_back(figure.levels[i], figure.coverage[i] - figure.levels[i]);
  }
  for (std::size_t i = n; i-- > 0;) band.emplace_back(figure.levels[i], figure.low[i] - figure.levels[i]);
  picture.style(fill(Tone::kGood) + ";opacity:.2");
  picture.polygon(band);
  picture.style(dashed());
  picture.line(0, 0, 1, 0);
  picture.style(stroke(Tone::kGood) + ";stroke-width:1.5");
  picture.polyline(measured);
  picture.style(fill(Tone::kGood));
  for (const auto& [level, gap] : measured) picture.dot(level, gap, 1.8);
  picture.style(stroke(Tone::kBad) + ";stroke-width:1.8;fill:none");
  for (std::size_t i = 0; i < n; ++i) {
    if (figure.below[i] != 0) picture.cross(measured[i].first, measured[i].second, 3.2);
  }
  return picture;
}

Picture picture_of(const WidthsFigure& figure) {
  const double top = 1.05 * std::ranges::max(figure.shares);
  std::vector<LegendEntry> legend = {{Mark::kBand, Tone::kGood, figure.legend[0]},
                                     {Mark::kLine, Tone::kText, figure.legend[1]}};
  if (figure.one_width) legend.push_back({Mark::kDashes, Tone::kBad, figure.legend[2]});
  Picture picture({.low = figure.x_low,
                   .high = figure.x_high,
                   .ticks = number_ticks(figure.x_low, figure.x_high),
                   .name = figure.x_name},
                  {.high = top, .ticks = percent_ticks(0, top), .name = figure.y_name}, std::move(legend), {});
  picture.style(fill(Tone::kGood) + ";opacity:.55");
  for (std::size_t i = 0; i < figure.shares.size(); ++i) {
    if (figure.shares[i] > 0) picture.rectangle(figure.edges[i], 0, figure.edges[i + 1], figure.shares[i]);
  }
  picture.style(stroke(Tone::kText) + ";stroke-width:1.4");
  if (figure.mean <= figure.x_high) picture.line(figure.mean, 0, figure.mean, top);
  if (figure.one_width) {
    picture.style(stroke(Tone::kBad) + ";stroke-width:1.5;stroke-dasharray:4 2");
    picture.line(*figure.one_width, 0, *figure.one_width, top);
  }
  return picture;
}

Picture picture_of(const BinsFigure& figure, const std::vector<Bin>& bins, const Level& level, bool with_widths) {
  const std::size_t n = figure.shown.size();
  const auto rows = static_cast<double>(n);
  const auto place = [&](std::size_t i) { return rows - 1 - static_cast<double>(i); };  // the first bin is at the top
  Axis y{.low = -0.5, .high = rows - 0.5, .name = figure.y_name};
  Picture::Layout layout{.height = 30 + kRowHeight * rows, .grid_along_x = true};
  if (with_widths) layout.right_name = "mean width";
  bool any_weak = false;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t bin = figure.shown[i];
    any_weak = any_weak || bins[bin].weak;
    y.ticks.push_back({place(i), narrowed(figure.names[bin], kWidestLabel)});
    if (with_widths) layout.right.push_back({place(i), figure.widths[bin]});
  }
  std::vector<LegendEntry> legend = {{Mark::kDot, Tone::kGood, figure.legend[0]}};
  if (any_weak) legend.push_back({Mark::kCross, Tone::kBad, figure.legend[1]});
  legend.push_back({Mark::kDashes, Tone::kText, figure.legend[2]});
  Picture picture(
      {.low = figure.x_low, .high = figure.x_high, .ticks = percent_ticks(figure.x_low, 1), .name = figure.x_name},
      std::move(y), std::move(legend), layout);
  for (const bool weak : {false, true}) {
    const Tone tone = weak ? Tone::kBad : Tone::kGood;
    picture.style(stroke(tone) + ";stroke-width:1.6;" + (weak ? "fill:none" : fill(tone)));
    for (std::size_t i = 0; i < n; ++i) {
      const Bin& bin = bins[figure.shown[i]];
      if (bin.weak != weak) continue;
      picture.line(std::max(bin.coverage.low, figure.x_low), place(i), bin.coverage.high, place(i));
      if (weak) picture.cross(bin.coverage.share, place(i), 3.4);
      if (!weak) picture.dot(bin.coverage.share, place(i), 2.4);
    }
  }
  picture.style(dashed());
  picture.line(level.value(), -0.5, level.value(), rows - 0.5);
  return picture;
}

}  // namespace widthwise::internal
