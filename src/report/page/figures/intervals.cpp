#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "evaluation/diagnostics/rows.hpp"
#include "report/page/figures.hpp"
#include "report/sentences.hpp"

namespace widthwise::internal {
namespace {

/// Rows in the order of their values, equal ones in random order, missing ones last.
struct OrderedRows {
  std::span<const std::size_t> numbers;  // of the rows; empty for all
  std::vector<double> keys;
  std::vector<std::size_t> order;  // of the keys
  std::vector<double> known;       // the finite keys, ascending

  OrderedRows(std::span<const double> values, std::span<const std::size_t> rows)
      : numbers(rows), keys(values.begin(), values.end()), order(values.size()) {
    for (double& key : keys) key = std::isfinite(key) ? key : std::numeric_limits<double>::infinity();
    std::iota(order.begin(), order.end(), std::size_t{0});
    Random(0).shuffle(std::span(order));
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys[i]; });
    for (const std::size_t i : order) {
      if (std::isfinite(keys[i])) known.push_back(keys[i]);
    }
  }

  [[nodiscard]] std::size_t row(std::size_t i) const { return numbers.empty() ? i : numbers[i]; }

  /// All of them, or evenly spaced ones of many.
  [[nodiscard]] std::vector<std::size_t> sample(std::size_t max_rows) const {
    if (order.size() <= max_rows) return order;
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < max_rows; ++i) shown.push_back(order[(2 * i + 1) * order.size() / (2 * max_rows)]);
    return shown;
  }
};

/// The mean width of the first known rows, or of the last ones, up to the value at a tenth, which may have many rows.
double width_at_the_end(const IntervalRows& rows, const OrderedRows& rows_in_order, double end, bool first) {
  CompensatedSum sum;
  std::size_t n = 0;
  for (std::size_t i = 0; i < rows_in_order.known.size(); ++i) {
    if (first ? rows_in_order.known[i] > end : rows_in_order.known[i] < end) continue;
    sum.add(width_of(rows, rows_in_order.row(rows_in_order.order[i])));
    ++n;
  }
  return sum.value() / static_cast<double>(n);
}

/// "Widths grow with the prediction: ..."; empty if some of these widths are infinite, or values equal or few.
std::string widths_text(const IntervalRows& rows, const OrderedRows& rows_in_order, const std::string& called) {
  constexpr std::size_t kFewRows = 20;
  const std::vector<double>& known = rows_in_order.known;
  if (known.size() < kFewRows) return "";
  const double low = known[known.size() / 10 - 1];
  const double high = known[known.size() - known.size() / 10];
  if (low == high) return "";
  const double first = width_at_the_end(rows, rows_in_order, low, true);
  const double last = width_at_the_end(rows, rows_in_order, high, false);
  if (!std::isfinite(first) || !std::isfinite(last)) return "";
  constexpr double kClear = 1.25;
  const std::string how = last > kClear * first   ? "grow with "
                          : first > kClear * last ? "shrink with "
                                                  : "are much the same at both ends of ";
  return " Widths " + how + called + ": " + significant(first) + " on average in its lowest tenth, " +
         significant(last) + " in its highest.";
}

/// Positions from 0 to 1.
std::vector<double> side_by_side(std::size_t rows) {
  std::vector<double> places;
  for (std::size_t i = 0; i < rows; ++i) places.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(rows));
  return places;
}

/// The distinct values if they are at most `max`.
std::optional<std::vector<double>> slots_of(const std::vector<double>& sorted, std::size_t max) {
  std::vector<double> slots;
  for (const double value : sorted) {
    if (!slots.empty() && slots.back() == value) continue;
    if (slots.size() == max) return std::nullopt;
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

/// Rows of one slot are side by side.
std::vector<double> slot_places(const std::vector<std::size_t>& slot, std::size_t slots) {
  std::vector<double> counts(slots, 0);
  std::vector<double> rank;
  for (const std::size_t one : slot) rank.push_back(counts[one]++);
  const double room = std::max(std::ranges::max(counts), 2.0);
  std::vector<double> places;
  for (std::size_t i = 0; i < slot.size(); ++i) {
    places.push_back(static_cast<double>(slot[i]) + 0.8 * (rank[i] - (counts[slot[i]] - 1) / 2) / room);
  }
  return places;
}

void place_in_slots(IntervalsFigure& figure, const std::vector<double>& slots, const std::vector<double>& drawn,
                    const std::vector<std::string>& labels) {
  figure.axis = RowAxis::kSlots;
  std::vector<std::size_t> slot;
  for (const double value : drawn) {
    slot.push_back(static_cast<std::size_t>(std::ranges::lower_bound(slots, value) - slots.begin()));
  }
  slot.resize(figure.shown.size(), slots.size());
  figure.places = slot_places(slot, slots.size() + 1);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::string name =
        labels.empty() ? significant(slots[i]) : printable(labels.at(static_cast<std::size_t>(slots[i])));
    figure.ticks.emplace_back(static_cast<double>(i), name);
  }
  const auto end = static_cast<double>(slots.size());
  figure.x_low = -0.5;
  figure.x_high = figure.x_end = end - 0.5;
  if (drawn.size() == figure.shown.size()) return;
  figure.missing_at = end;
  figure.x_high = end + 0.5;
}

/// The values at the quarters, equal ones once.
void place_by_rank(IntervalsFigure& figure, const std::vector<double>& sorted, std::size_t drawn) {
  figure.axis = RowAxis::kRanks;
  figure.x_name += ", rows in the order of its values";
  figure.places = side_by_side(drawn);
  constexpr std::size_t kParts = 4;
  for (std::size_t i = 0; i <= kParts; ++i) {
    std::string text = significant(sorted[i * (sorted.size() - 1) / kParts]);
    if (!figure.ticks.empty() && figure.ticks.back().second == text) continue;
    figure.ticks.emplace_back(static_cast<double>(i) / kParts, std::move(text));
  }
}

void place_on_scale(IntervalsFigure& figure, const std::vector<double>& sorted, const std::vector<double>& drawn) {
  figure.axis = RowAxis::kScale;
  figure.places = drawn;
  constexpr double kMargin = 0.02;
  const double range = sorted.back() - sorted.front();
  figure.x_low = sorted.front() - kMargin * range;
  figure.x_high = figure.x_end = sorted.back() + kMargin * range;
}

void place_missing(IntervalsFigure& figure) {
  const std::size_t missing = figure.shown.size() - figure.places.size();
  if (missing == 0) return;
  const double room = 0.12 * (figure.x_high - figure.x_low);
  for (const double place : side_by_side(missing)) figure.places.push_back(figure.x_end + room * (0.25 + place));
  figure.missing_at = figure.x_end + 0.75 * room;
  figure.x_high += 1.5 * room;
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

/// Add what does not depend on the x axis; the caption ends with what is known of the widths.
void add_intervals(IntervalsFigure& figure, const IntervalRows& rows, const std::optional<Level>& level,
                   const std::string& target, const std::string& widths) {
  figure.y_name = target;
  std::tie(figure.y_low, figure.y_high) = limits_of(rows, figure.shown);
  for (const std::size_t row : figure.shown) {
    figure.lower.push_back(std::max(rows.lower[row], figure.y_low));
    figure.upper.push_back(std::min(rows.upper[row], figure.y_high));
    figure.outcomes.push_back(rows.outcomes[row]);
    figure.outside.push_back(is_covered(rows, row) ? 0 : 1);
  }
  const std::size_t n = rows.outcomes.size();
  std::size_t above = 0;
  std::size_t below = 0;
  std::size_t infinite = 0;
  for (std::size_t row = 0; row < n; ++row) {
    if (rows.outcomes[row] > rows.upper[row]) ++above;
    if (rows.outcomes[row] < rows.lower[row]) ++below;
    if (!std::isfinite(width_of(rows, row))) ++infinite;
  }
  const auto share = [&](std::size_t part) { return percent(static_cast<double>(part) / static_cast<double>(n)); };
  const std::string outside = share(above + below);
  figure.legend = {level ? written(LevelName{level->value()}) + " interval" : "interval", "outcome inside",
                   "outside (" + outside + ")"};
  figure.caption = "Each line is the interval of one row, each dot its outcome, for " + count(figure.shown.size()) +
                   " of " + count_of(n, "row") + ". " + outside +
                   " of all outcomes lie outside, marked by crosses: " + share(above) + " above and " + share(below) +
                   " below." + widths;
  if (infinite == 0) return;
  figure.notes = {count(infinite) + " of " + count_of(n, "interval") + (infinite == 1 ? " is" : " are") + " infinite"};
  figure.caption += " " + figure.notes.front() + ".";
}

void check_figure(const IntervalRows& rows, std::size_t max_rows) {
  check_rows(rows, "intervals");
  if (max_rows == 0) throw Error(ErrorCode::kInvalidArgument, "rows: expected at least 1 row to draw, found 0");
}

}  // namespace

IntervalsFigure intervals_figure(const IntervalRows& rows, std::span<const double> predictions,
                                 const std::optional<Level>& level, const std::string& target, std::size_t max_rows) {
  check_figure(rows, max_rows);
  check_size(predictions.size(), rows.outcomes.size(), "predictions", "intervals");
  const OrderedRows rows_in_order(predictions, {});
  IntervalsFigure figure;
  figure.heading = "Intervals and outcomes";
  figure.x_name = "rows in the order of their predictions";
  figure.shown = rows_in_order.sample(max_rows);
  figure.places = side_by_side(figure.shown.size());
  add_intervals(figure, rows, level, target, widths_text(rows, rows_in_order, "the prediction"));
  return figure;
}

std::string prediction_name(const std::string& target) { return "prediction of " + target; }

IntervalsFigure feature_figure(const IntervalRows& rows, const FeatureColumn& feature,
                               const std::optional<Level>& level, const std::string& target, std::size_t max_rows) {
  check_figure(rows, max_rows);
  if (feature.rows.empty()) check_size(feature.values.size(), rows.outcomes.size(), "values", "intervals");
  const OrderedRows rows_in_order(feature.values, feature.rows);
  IntervalsFigure figure;
  const std::string called = feature.name == prediction_name(target) ? "the prediction" : feature.name;
  figure.heading = "Intervals over " + called;
  figure.x_name = feature.name;
  std::vector<double> drawn;
  for (const std::size_t i : rows_in_order.sample(max_rows)) {
    figure.shown.push_back(rows_in_order.row(i));
    if (std::isfinite(rows_in_order.keys[i])) drawn.push_back(rows_in_order.keys[i]);
  }
  constexpr std::size_t kMaxSlots = 12;
  const bool labelled = !feature.labels.empty();
  if (const auto slots = slots_of(labelled ? drawn : rows_in_order.known, labelled ? drawn.size() : kMaxSlots)) {
    place_in_slots(figure, *slots, drawn, feature.labels);
  } else {
    if (is_skewed(rows_in_order.known)) {
      place_by_rank(figure, rows_in_order.known, drawn.size());
    } else {
      place_on_scale(figure, rows_in_order.known, drawn);
    }
    place_missing(figure);
  }
  // Labels have no ends.
  add_intervals(figure, rows, level, target, labelled ? "" : widths_text(rows, rows_in_order, called));
  return figure;
}

}  // namespace widthwise::internal
