#include "page/pictures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <widthwise/evaluation.hpp>
#include <widthwise/random.hpp>

#include "diagnostics/rows.hpp"
#include "report/bins.hpp"
#include "report/verdict.hpp"
#include "text.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kRowsShown = 250;
constexpr std::size_t kBinsShown = 15;
constexpr double kWidestLabel = 170;
constexpr double kRowHeight = 18;
constexpr double kTail = 0.995;  // widths above this quantile are counted in the last bar

double share_of(std::uint64_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// The numbers from 0 in the order of these values, equal ones in random order.
std::vector<std::size_t> order_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(0).shuffle(std::span(order));
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order;
}

/// All of them, or evenly spaced ones of many.
std::vector<std::size_t> evenly_spaced(const std::vector<std::size_t>& order) {
  if (order.size() <= kRowsShown) return order;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < kRowsShown; ++i) shown.push_back(order[(2 * i + 1) * order.size() / (2 * kRowsShown)]);
  return shown;
}

/// Limits of an axis that contain all finite values.
std::pair<double, double> limits_of(const IntervalRows& rows, const std::vector<std::size_t>& shown) {
  double low = rows.outcomes[shown.front()];
  double high = low;
  for (const std::size_t row : shown) {
    for (const double value : {rows.outcomes[row], rows.lower[row], rows.upper[row]}) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double range = high > low ? high - low : std::max(std::abs(high), 1.0);
  constexpr double kMargin = 0.04;
  return {low - kMargin * range, high + kMargin * range};
}

/// "Widths grow with the prediction: ..."; empty if some widths are infinite or rows are few.
std::string widths_at_the_ends(const IntervalRows& rows, const std::vector<std::size_t>& order,
                               const std::string& called) {
  const std::size_t tenth = order.size() / 10;
  constexpr std::size_t kFewRows = 20;
  if (order.size() < kFewRows) return "";
  CompensatedSum low;
  CompensatedSum high;
  for (std::size_t i = 0; i < tenth; ++i) {
    low.add(width_of(rows, order[i]));
    high.add(width_of(rows, order[order.size() - 1 - i]));
  }
  const double first = low.value() / static_cast<double>(tenth);
  const double last = high.value() / static_cast<double>(tenth);
  if (!std::isfinite(first) || !std::isfinite(last)) return "";
  constexpr double kClear = 1.25;
  const std::string how = last > kClear * first   ? "grow with "
                          : first > kClear * last ? "shrink with "
                                                  : "are much the same at both ends of ";
  std::string text = " Widths ";
  text.append(how).append(called).append(": ").append(significant(first));
  text.append(" on average in its lowest tenth, ");
  return text.append(significant(last)).append(" in its highest.");
}

/// Rows to draw, with their places on the x axis.
struct PlacedRows {
  std::vector<std::size_t> rows;
  std::vector<double> places;
  Axis x;
};

/// Numbers of outcomes outside their interval.
struct Outside {
  std::uint64_t above = 0;
  std::uint64_t below = 0;

  explicit Outside(const IntervalRows& rows) {
    for (std::size_t row = 0; row < rows.outcomes.size(); ++row) {
      if (rows.outcomes[row] > rows.upper[row]) ++above;
      if (rows.outcomes[row] < rows.lower[row]) ++below;
    }
  }
};

/// The intervals and outcomes of these rows; the caption ends with what is known of their widths.
Figure figure_of(const std::string& heading, const IntervalRows& rows, PlacedRows placed, const Level& level,
                 const std::string& target, const std::string& widths) {
  const std::vector<std::size_t>& shown = placed.rows;
  const std::vector<double>& places = placed.places;
  const std::size_t n = rows.outcomes.size();
  const Outside found(rows);
  const std::string outside = percent(share_of(found.above + found.below, n));
  const auto [low, high] = limits_of(rows, shown);
  Picture picture(std::move(placed.x), {.low = low, .high = high, .ticks = number_ticks(low, high), .name = target},
                  {{Mark::kBand, Tone::kGood, level_name(level.value()) + " interval"},
                   {Mark::kDot, Tone::kGood, "outcome inside"},
                   {Mark::kCross, Tone::kBad, "outside (" + outside + ")"}},
                  {});
  picture.style(stroke(Tone::kGood) + ";stroke-width:1.2;opacity:.4");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    picture.line(places[i], std::max(rows.lower[shown[i]], low), places[i], std::min(rows.upper[shown[i]], high));
  }
  picture.style(fill(Tone::kGood));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (is_covered(rows, shown[i])) picture.dot(places[i], rows.outcomes[shown[i]], 1.4);
  }
  picture.style(stroke(Tone::kBad) + ";stroke-width:1.4;fill:none");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (!is_covered(rows, shown[i])) picture.cross(places[i], rows.outcomes[shown[i]], 2.6);
  }
  return {.heading = heading,
          .caption = "Each line is the interval of one row, each dot its outcome, for " + count(shown.size()) + " of " +
                     count_of(n, "row") + ". " + outside +
                     " of all outcomes lie outside, marked by crosses: " + percent(share_of(found.above, n)) +
                     " above and " + percent(share_of(found.below, n)) + " below." + widths,
          .picture = std::move(picture)};
}

/// Places from 0 to 1.
std::vector<double> side_by_side(std::size_t rows) {
  std::vector<double> places;
  for (std::size_t i = 0; i < rows; ++i) places.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(rows));
  return places;
}

}  // namespace

Figure intervals_figure(const IntervalRows& rows, std::span<const double> predictions, const Level& level,
                        const std::string& target) {
  const std::vector<std::size_t> order = order_of(predictions);
  PlacedRows placed{.rows = evenly_spaced(order),
                    .places = {},
                    .x = {.ticks = percent_ticks(0, 1), .name = "rows in the order of their predictions"}};
  placed.places = side_by_side(placed.rows.size());
  return figure_of("Intervals and outcomes", rows, std::move(placed), level, target,
                   widths_at_the_ends(rows, order, "the prediction"));
}

namespace {

constexpr std::size_t kMaxSlots = 12;

/// The distinct values if they are few; else empty.
std::vector<double> slots_of(const std::vector<double>& sorted) {
  std::vector<double> slots;
  for (const double value : sorted) {
    if (!slots.empty() && slots.back() == value) continue;
    if (slots.size() == kMaxSlots) return {};
    slots.push_back(value);
  }
  return slots;
}

/// Whether a few values take most of the axis, so that the others could not be told apart.
bool is_skewed(const std::vector<double>& sorted) {
  constexpr double kMuch = 8;
  const auto quantile = [&](double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  return sorted.back() - sorted.front() > kMuch * (quantile(0.95) - quantile(0.05));
}

/// Places of values in slots, those of one slot side by side.
std::vector<double> slot_places(const std::vector<double>& values, const std::vector<double>& slots) {
  std::vector<double> counts(slots.size(), 0);
  std::vector<std::size_t> slot;
  std::vector<double> rank;
  for (const double value : values) {
    slot.push_back(static_cast<std::size_t>(std::ranges::lower_bound(slots, value) - slots.begin()));
    rank.push_back(counts[slot.back()]++);
  }
  const double room = std::max(std::ranges::max(counts), 2.0);
  std::vector<double> places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    places.push_back(static_cast<double>(slot[i]) + 0.8 * (rank[i] - (counts[slot[i]] - 1) / 2) / room);
  }
  return places;
}

/// Ticks of a rank axis: the values at its quarters, equal ones once.
std::vector<Tick> rank_ticks(const std::vector<double>& sorted) {
  std::vector<Tick> ticks;
  constexpr std::size_t kParts = 4;
  for (std::size_t i = 0; i <= kParts; ++i) {
    std::string text = significant(sorted[i * (sorted.size() - 1) / kParts]);
    if (ticks.empty() || ticks.back().text != text) ticks.push_back({static_cast<double>(i) / kParts, std::move(text)});
  }
  return ticks;
}

/// The x axis of known values, with the places of those that are drawn; both ascending.
Axis feature_axis(const std::vector<double>& sorted, const std::vector<double>& drawn, const std::string& name,
                  std::vector<double>& places) {
  if (const std::vector<double> slots = slots_of(sorted); !slots.empty()) {
    Axis x{.low = -0.5, .high = static_cast<double>(slots.size()) - 0.5, .name = name};
    for (std::size_t i = 0; i < slots.size(); ++i) x.ticks.push_back({static_cast<double>(i), significant(slots[i])});
    places = slot_places(drawn, slots);
    return x;
  }
  if (is_skewed(sorted)) {
    places = side_by_side(drawn.size());
    return {.ticks = rank_ticks(sorted), .name = name + ", rows in the order of its values"};
  }
  places = drawn;
  constexpr double kMargin = 0.02;
  const double range = sorted.back() - sorted.front();
  const double low = sorted.front() - kMargin * range;
  const double high = sorted.back() + kMargin * range;
  return {.low = low, .high = high, .ticks = number_ticks(low, high), .name = name};
}

}  // namespace

Figure feature_figure(const IntervalRows& rows, const FeatureColumn& feature, const Level& level,
                      const std::string& target) {
  std::vector<double> keys = feature.values;
  for (double& key : keys) key = std::isfinite(key) ? key : std::numeric_limits<double>::infinity();  // missing: last
  const std::vector<std::size_t> order = order_of(keys);
  std::vector<double> sorted;
  std::vector<std::size_t> known;
  for (const std::size_t i : order) {
    if (!std::isfinite(keys[i])) break;
    sorted.push_back(keys[i]);
    known.push_back(feature.rows[i]);
  }
  PlacedRows placed;
  std::vector<double> drawn;
  for (const std::size_t i : evenly_spaced(order)) {
    placed.rows.push_back(feature.rows[i]);
    if (std::isfinite(keys[i])) drawn.push_back(keys[i]);
  }
  placed.x = sorted.empty() ? Axis{.name = feature.name} : feature_axis(sorted, drawn, feature.name, placed.places);
  if (const std::size_t left = placed.rows.size() - drawn.size(); left > 0) {
    const double room = 0.12 * (placed.x.high - placed.x.low);
    for (const double place : side_by_side(left)) placed.places.push_back(placed.x.high + room * (0.25 + place));
    placed.x.missing_at = placed.x.high + 0.75 * room;
    placed.x.high += 1.5 * room;
  }
  return figure_of("Intervals over " + feature.called, rows, std::move(placed), level, target,
                   widths_at_the_ends(rows, known, feature.called));
}

namespace {

/// A level of the picture "coverage at every level", with differences from the level.
struct LevelPoint {
  Level level;
  double coverage;
  double low;
  double high;
};

std::vector<LevelPoint> finite_points(const EvaluationPage& page) {
  std::vector<LevelPoint> points;
  for (std::size_t j = 0; j < page.levels.size(); ++j) {
    const CoverageSpread& expected = page.expected[j];
    if (expected.mean >= 1) continue;  // infinite intervals
    const double level = page.levels[j].value();
    points.push_back({.level = page.levels[j],
                      .coverage = share_of(page.covered[j], page.report.rows) - level,
                      .low = expected.low - level,
                      .high = expected.high - level});
  }
  return points;
}

/// Levels that the evaluation of fewer levels finds too low are also too low here.
bool is_too_low(const EvaluationPage& page, const LevelPoint& point) {
  return point.coverage < point.low || std::ranges::any_of(
                                           page.report.levels,
                                           [&](const LevelEvaluation& level) {
                                             return level.level == point.level && level.verdict == Verdict::kTooLow;
                                           });
}

std::string levels_caption(const EvaluationPage& page, const std::vector<LevelPoint>& points) {
  const std::string band = "the band for " + count_of(page.model.calibration_rows(), "calibration row") + " and " +
                           count_of(page.report.rows, "test row");
  const LevelPoint* worst = nullptr;
  std::size_t low = 0;
  std::size_t high = 0;
  for (const LevelPoint& point : points) {
    if (point.coverage > point.high) ++high;
    if (!is_too_low(page, point)) continue;
    ++low;
    if (worst == nullptr || point.coverage < worst->coverage) worst = &point;
  }
  std::string text = "Coverage stays inside " + band + " at all " + count_of(points.size(), "level") + ".";
  if (worst != nullptr) {
    text = "Coverage is too low, compared with " + band + ", at " + count(low) + " of " +
           count_of(points.size(), "level") + "; most at the level " + level_name(worst->level.value()) +
           ", where it is " + percent(worst->coverage + worst->level.value()) + ".";
  } else if (high > 0) {
    text = "Coverage is never below " + band + "; at " + count(high) + " of " + count_of(points.size(), "level") +
           " it is above: these rows are easier than the calibration rows, or scores are tied.";
  }
  if (points.size() < page.levels.size()) {
    text += " Intervals of higher levels than " + level_name(points.back().level.value()) + " are infinite.";
  }
  return text;
}

std::vector<Tick> point_ticks(double reach) {
  std::vector<Tick> ticks;
  for (const double at : round_numbers(-reach, reach)) {
    std::string text = at > 0 ? "+" : "";
    text.append(significant(100 * at, 4));
    ticks.push_back({at, std::move(text)});
  }
  return ticks;
}

}  // namespace

Figure levels_figure(const EvaluationPage& page) {
  const std::vector<LevelPoint> points = finite_points(page);
  double reach = 0.01;
  for (const LevelPoint& point : points) {
    for (const double value : {point.coverage, point.low, point.high}) reach = std::max(reach, 1.05 * std::abs(value));
  }
  const bool any_low = std::ranges::any_of(points, [&](const LevelPoint& point) { return is_too_low(page, point); });
  std::vector<LegendEntry> legend = {{Mark::kBand, Tone::kGood, "expected, in 99% of cases"},
                                     {Mark::kDashes, Tone::kText, "level"},
                                     {Mark::kLine, Tone::kGood, "measured"}};
  if (any_low) legend.push_back({Mark::kCross, Tone::kBad, "too low"});
  Picture picture(
      {.ticks = percent_ticks(0, 1), .name = "level"},
      {.low = -reach, .high = reach, .ticks = point_ticks(reach), .name = "coverage minus level, in points"},
      std::move(legend), {});
  Picture::Points band;
  Picture::Points measured;
  for (const LevelPoint& point : points) {
    band.emplace_back(point.level.value(), point.high);
    measured.emplace_back(point.level.value(), point.coverage);
  }
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    band.emplace_back(point->level.value(), point->low);
  }
  picture.style(fill(Tone::kGood) + ";opacity:.2");
  picture.polygon(band);
  picture.style(stroke(Tone::kText) + ";stroke-width:1;stroke-dasharray:4 3");
  picture.line(0, 0, 1, 0);
  picture.style(stroke(Tone::kGood) + ";stroke-width:1.5");
  picture.polyline(measured);
  picture.style(fill(Tone::kGood));
  for (const auto& [level, coverage] : measured) picture.dot(level, coverage, 1.8);
  picture.style(stroke(Tone::kBad) + ";stroke-width:1.8;fill:none");
  for (const LevelPoint& point : points) {
    if (is_too_low(page, point)) picture.cross(point.level.value(), point.coverage, 3.2);
  }
  return {.heading = "Coverage at every level", .caption = levels_caption(page, points), .picture = std::move(picture)};
}

namespace {

struct Widths {
  std::vector<double> finite;  // ascending
  double mean = 0;
  std::uint64_t infinite = 0;
  std::optional<double> one_width = {};  // that covers as many outcomes

  Widths(const IntervalRows& rows, std::span<const double> predictions) {
    CompensatedSum sum;
    std::vector<double> errors;
    std::size_t covered = 0;
    for (std::size_t row = 0; row < rows.outcomes.size(); ++row) {
      const double width = width_of(rows, row);
      if (is_covered(rows, row)) ++covered;
      errors.push_back(std::abs(rows.outcomes[row] - predictions[row]));
      if (!std::isfinite(width)) {
        ++infinite;
        continue;
      }
      finite.push_back(width);
      sum.add(width);
    }
    std::ranges::sort(finite);
    mean = sum.value() / static_cast<double>(finite.size());
    if (infinite > 0 || covered == 0) return;
    std::ranges::nth_element(errors, errors.begin() + static_cast<std::ptrdiff_t>(covered - 1));
    one_width = 2 * errors[covered - 1];
  }

  [[nodiscard]] std::size_t rows() const { return finite.size() + infinite; }

  [[nodiscard]] double quantile(double share) const {
    return finite[static_cast<std::size_t>(share * static_cast<double>(finite.size() - 1))];
  }

  /// The end of the last bar: the largest width, unless a few rows are much wider than all others.
  [[nodiscard]] double end() const {
    constexpr double kMuch = 1.5;
    const double tail = quantile(kTail);
    return finite.back() > kMuch * tail && tail > 0 ? tail : finite.back();
  }
};

std::string widths_caption(const Widths& widths) {
  std::string text = "Half of the intervals are narrower than " + significant(widths.quantile(0.5)) +
                     ", a tenth is wider than " + significant(widths.quantile(0.9)) + ".";
  if (const double end = widths.end(); end < widths.finite.back()) {
    const auto beyond = std::ranges::count_if(widths.finite, [&](double width) { return width > end; });
    text += " The last bar has " + percent(share_of(static_cast<std::uint64_t>(beyond), widths.rows())) +
            " that are wider than " + significant(end) + ", up to " + significant(widths.finite.back()) + ".";
  }
  if (widths.infinite > 0) {
    text += " " + count(widths.infinite) + " of " + count(widths.rows()) + " are infinite and not in the picture.";
  } else if (widths.one_width && *widths.one_width > 0) {
    constexpr double kRounded = 0.005;
    const double change = widths.mean / *widths.one_width - 1;
    text += " One width with the same coverage would be " + significant(*widths.one_width) + ": these intervals are " +
            (std::abs(change) < kRounded ? std::string("as wide")
                                         : percent(std::abs(change), 0) + (change < 0 ? " narrower" : " wider")) +
            " on average.";
  }
  return text;
}

/// Shares of the rows in bars of equal width from low to high.
std::vector<double> bars_of(const Widths& widths, double low, double high) {
  const auto n = static_cast<double>(widths.finite.size());
  const auto number = static_cast<std::size_t>(std::clamp(std::round(std::sqrt(n)), 8.0, 40.0));
  std::vector<double> bars(high > low ? number : 1, 0);
  for (const double width : widths.finite) {
    const double place = high > low ? (std::min(width, high) - low) / (high - low) : 0;
    const auto bar = static_cast<std::size_t>(place * static_cast<double>(bars.size()));
    bars[std::min(bar, bars.size() - 1)] += 1 / (n + static_cast<double>(widths.infinite));
  }
  return bars;
}

}  // namespace

Figure widths_figure(const IntervalRows& rows, std::span<const double> predictions, const std::string& target) {
  const Widths widths(rows, predictions);
  const double end = widths.end();
  const bool equal = end - widths.finite.front() <= 1e-9 * end;
  const double low = widths.finite.front() - (equal ? std::max(0.05 * end, 0.5) : 0);
  const double high = end + (equal ? std::max(0.05 * end, 0.5) : 0);
  const std::vector<double> bars = equal ? std::vector<double>{1} : bars_of(widths, low, high);
  const double tallest = std::ranges::max(bars);
  Axis x{.low = low, .high = high, .name = "interval width (units of " + target + ")"};
  if (widths.one_width) {
    x.low = std::min(x.low, *widths.one_width);
    x.high = std::max(x.high, *widths.one_width);
  }
  x.ticks = number_ticks(x.low, x.high);
  std::vector<LegendEntry> legend = {{Mark::kBand, Tone::kGood, "rows"},
                                     {Mark::kLine, Tone::kText, "mean " + significant(widths.mean)}};
  if (widths.one_width) {
    legend.push_back({Mark::kDashes, Tone::kBad, "one width for all " + significant(*widths.one_width)});
  }
  Picture picture(x, {.high = 1.05 * tallest, .ticks = percent_ticks(0, 1.05 * tallest), .name = "share of rows"},
                  std::move(legend), {});
  picture.style(fill(Tone::kGood) + ";opacity:.55");
  const double step = (high - low) / static_cast<double>(bars.size());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double start = low + step * static_cast<double>(i);
    if (bars[i] > 0) picture.rectangle(start, 0, start + step, bars[i]);
  }
  picture.style(stroke(Tone::kText) + ";stroke-width:1.4");
  if (widths.mean <= x.high) picture.line(widths.mean, 0, widths.mean, 1.05 * tallest);
  if (widths.one_width) {
    picture.style(stroke(Tone::kBad) + ";stroke-width:1.5;stroke-dasharray:4 2");
    picture.line(*widths.one_width, 0, *widths.one_width, 1.05 * tallest);
  }
  return {.heading = "How wide intervals are", .caption = widths_caption(widths), .picture = std::move(picture)};
}

namespace {

std::string bins_caption(const std::vector<Bin>& bins, const std::string& name) {
  if (bins.size() == 1) return "All rows are of one kind: " + name + " is " + name_of_bin(bins.front()) + ".";
  const auto share = [](const Bin& bin) { return bin.coverage.share; };
  const Bin& worst = *std::ranges::min_element(bins, {}, share);
  const Bin& best = *std::ranges::max_element(bins, {}, share);
  const auto weak = static_cast<std::size_t>(std::ranges::count_if(bins, &Bin::weak));
  const std::string found = weak == 0   ? "no bin lies"
                            : weak == 1 ? "one bin lies"
                                        : count(weak) + " of " + count(bins.size()) + " bins lie";
  return "Coverage ranges from " + percent(worst.coverage.share) + " (" + name_of_bin(worst) + ") to " +
         percent(best.coverage.share) + " (" + name_of_bin(best) + "); " + found +
         " below the level by more than chance.";
}

}  // namespace

Figure bins_figure(const std::vector<Bin>& all, const Level& level, const std::string& called,
                   const std::string& name) {
  const bool labelled = std::ranges::any_of(all, [](const Bin& bin) { return !bin.label.empty(); });
  std::vector<Bin> bins = lowest_bins(all, kBinsShown);
  if (labelled) std::ranges::stable_sort(bins, {}, [](const Bin& bin) { return bin.coverage.share; });
  double left = level.value();
  for (const Bin& bin : bins) {  // the confidence intervals of a few rows would take most of the axis
    left = std::min(left, bin.coverage.trials < kMinBinRows ? bin.coverage.share : bin.coverage.low);
  }
  left = std::max(left - 0.04 * (1 - left), 0.0);
  const double right = 1 + 0.02 * (1 - left);
  const auto rows = static_cast<double>(bins.size());
  Axis y{.low = -0.5, .high = rows - 0.5, .name = name};
  const auto place = [&](std::size_t i) { return rows - 1 - static_cast<double>(i); };  // the first bin is at the top
  Picture::Layout layout{.height = 30 + kRowHeight * rows, .grid_along_x = true};
  for (std::size_t i = 0; i < bins.size(); ++i) {
    y.ticks.push_back({place(i), narrowed(name_of_bin(bins[i]), kWidestLabel)});
    if (called != kByWidth)
      layout.right.push_back(
          {place(i),
           significant(bins[i].infinite < bins[i].coverage.trials ? bins[i].finite_mean_width : bins[i].mean_width,
                       3)});
  }
  if (called != kByWidth) layout.right_name = "mean width";
  const bool any_weak = std::ranges::any_of(bins, &Bin::weak);
  std::vector<LegendEntry> legend = {{Mark::kDot, Tone::kGood, "95% confidence"}};
  if (any_weak) legend.push_back({Mark::kCross, Tone::kBad, "below the level"});
  legend.push_back({Mark::kDashes, Tone::kText, "level " + level_name(level.value())});
  Picture picture({.low = left, .high = right, .ticks = percent_ticks(left, 1), .name = "coverage"}, std::move(y),
                  std::move(legend), layout);
  for (const bool weak : {false, true}) {
    const Tone tone = weak ? Tone::kBad : Tone::kGood;
    picture.style(stroke(tone) + ";stroke-width:1.6;" + (weak ? "fill:none" : fill(tone)));
    for (std::size_t i = 0; i < bins.size(); ++i) {
      if (bins[i].weak != weak) continue;
      const Proportion& coverage = bins[i].coverage;
      picture.line(std::max(coverage.low, left), place(i), coverage.high, place(i));
      if (weak) picture.cross(coverage.share, place(i), 3.4);
      if (!weak) picture.dot(coverage.share, place(i), 2.4);
    }
  }
  picture.style(stroke(Tone::kText) + ";stroke-width:1;stroke-dasharray:4 3");
  picture.line(level.value(), -0.5, level.value(), rows - 0.5);
  std::string heading = "Coverage by " + called + (labelled ? ", the lowest first" : "");
  if (bins.size() < all.size()) heading += " (" + count(bins.size()) + " of " + count(all.size()) + ")";
  return {.heading = heading, .caption = bins_caption(bins, name), .picture = std::move(picture)};
}

}  // namespace widthwise::internal
