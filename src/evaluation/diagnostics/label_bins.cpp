#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "evaluation/diagnostics/bins.hpp"
#include "evaluation/diagnostics/rows.hpp"

namespace widthwise {
namespace {

using internal::BinRows;

/// The integer that a label is, if it is the decimal of one.
std::optional<std::int64_t> integer_of(const std::string& label) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error != std::errc() || label_of(value) != label) return std::nullopt;
  return value;
}

/// The position of each label in evaluations: integers ascending, then texts.
std::vector<std::int64_t> places_of(const Labels& labels) {
  std::vector<std::optional<std::int64_t>> integers;
  for (const std::string& label : labels.all()) integers.push_back(integer_of(label));
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t label) {
    return std::tuple(!integers[label], integers[label].value_or(0), std::string_view(labels[label]));
  });
  std::vector<std::int64_t> places(labels.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<std::int64_t>(i);
  return places;
}

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// The index of the label of each row; kNone without a label.
std::vector<std::size_t> indices_of(std::span<const double> numbers, const Labels& labels) {
  std::vector<std::size_t> indices;
  indices.reserve(numbers.size());
  for (const double number : numbers) {
    if (std::isnan(number)) {
      indices.push_back(kNone);
    } else if (number >= 0 && number < static_cast<double>(labels.size()) && std::trunc(number) == number) {
      indices.push_back(static_cast<std::size_t>(number));
    } else {
      throw internal::make_error(ErrorCode::kInvalidArgument, "coverage_by_label: {} is not the number of a label",
                                 number);
    }
  }
  return indices;
}

/// Which labels share a bin, as they have few rows. A single one keeps its own bin.
std::vector<bool> rare_labels(std::span<const std::size_t> indices, std::size_t labels, std::size_t min_rows) {
  std::vector<std::size_t> counts(labels, 0);
  for (const std::size_t label : indices) {
    if (label != kNone) ++counts[label];
  }
  std::vector<bool> rare(labels, false);
  std::size_t found = 0;
  for (std::size_t label = 0; label < labels; ++label) {
    rare[label] = counts[label] < min_rows;
    if (rare[label] && counts[label] > 0) ++found;
  }
  return found > 1 ? rare : std::vector<bool>(labels, false);
}

}  // namespace

std::vector<BinRows> internal::bins_by_label(const IntervalRows& rows, std::span<const double> numbers,
                                             const Labels& labels, std::size_t min_rows) {
  check_rows(rows, "coverage_by_label");
  check_size(numbers.size(), rows.outcomes.size(), "labels", "coverage_by_label");
  const std::vector<std::size_t> indices = indices_of(numbers, labels);
  const std::vector<bool> rare = rare_labels(indices, labels.size(), min_rows);
  const std::vector<std::int64_t> places = places_of(labels);
  const auto other = static_cast<std::int64_t>(labels.size());
  std::vector<std::int64_t> keys;
  keys.reserve(indices.size());
  for (const std::size_t label : indices) {
    keys.push_back(label == kNone ? other + 1 : rare[label] ? other : places[label]);
  }
  std::vector<BinRows> bins = bins_by_group(rows, keys);
  for (BinRows& bin : bins) {
    const std::size_t row = bin.rows.front();
    const std::size_t label = indices[row];
    if (label != kNone) bin.bin.label = rare[label] ? kOtherLabels : labels[label];
    const std::optional<std::int64_t> integer = keys[row] < other ? integer_of(labels[label]) : std::nullopt;
    bin.bin.low = bin.bin.high = integer ? static_cast<double>(*integer) : std::numeric_limits<double>::quiet_NaN();
  }
  return bins;
}

std::vector<Bin> coverage_by_label(const IntervalRows& rows, std::span<const double> numbers, const Labels& labels,
                                   std::size_t min_rows) {
  return internal::without_rows(internal::bins_by_label(rows, numbers, labels, min_rows));
}

}  // namespace widthwise
