#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>

#include "evaluation/diagnostics/bins.hpp"
#include "evaluation/diagnostics/rows.hpp"

namespace widthwise {
namespace {

using internal::BinRows;

/// A row and the key that determines its bin.
template <class Key>
struct KeyedRow {
  Key key;
  std::size_t row;
};

template <class Key>
std::vector<KeyedRow<Key>> keyed_rows(std::span<const Key> keys) {
  std::vector<KeyedRow<Key>> members(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) members[i] = {keys[i], i};
  return members;
}

/// One bin of rows in ascending order of their keys.
template <class Key>
BinRows part_of(const IntervalRows& rows, std::span<const KeyedRow<Key>> members) {
  internal::CompensatedSum width_sum;
  internal::CompensatedSum finite_width_sum;
  std::uint64_t infinite = 0;
  std::uint64_t covered = 0;
  std::vector<std::size_t> numbers;
  numbers.reserve(members.size());
  for (const auto& member : members) {
    numbers.push_back(member.row);
    const double width = internal::width_of(rows, member.row);
    width_sum.add(width);
    if (std::isfinite(width)) {
      finite_width_sum.add(width);
    } else {
      ++infinite;
    }
    if (internal::is_covered(rows, member.row)) ++covered;
  }
  return {.bin = {.low = static_cast<double>(members.front().key),
                  .high = static_cast<double>(members.back().key),
                  .coverage = proportion(covered, members.size()),
                  .mean_width = width_sum.value() / static_cast<double>(members.size()),
                  .infinite = infinite,
                  .finite_mean_width = finite_width_sum.value() / static_cast<double>(members.size() - infinite)},
          .rows = std::move(numbers)};
}

/// Return the ends of bins of equal counts, each moved to the nearest boundary between two different keys. Coinciding
/// ends are merged, so equal keys that would fill several bins form one. `sorted` is ascending by key.
std::vector<std::size_t> ends_of_equal_bins(std::span<const KeyedRow<double>> sorted, std::size_t bins) {
  const std::size_t n = sorted.size();
  bins = std::min(bins, n);
  std::vector<std::size_t> ends;
  for (std::size_t bin = 1; bin <= bins; ++bin) {
    std::size_t end = n;
    if (bin < bins) {
      const std::size_t ideal = bin * n / bins;
      const auto equal = std::ranges::equal_range(sorted, sorted[ideal].key, {}, &KeyedRow<double>::key);
      const auto before = static_cast<std::size_t>(equal.begin() - sorted.begin());
      const auto after = static_cast<std::size_t>(equal.end() - sorted.begin());
      end = ideal - before <= after - ideal ? before : after;
    }
    if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
  }
  return ends;
}

/// Return the end of each run of equal keys. `sorted` is ascending by key.
std::vector<std::size_t> ends_of_groups(std::span<const KeyedRow<std::int64_t>> sorted) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= sorted.size(); ++i) {
    if (i == sorted.size() || sorted[i].key != sorted[i - 1].key) ends.push_back(i);
  }
  return ends;
}

/// Sort the members, and make one bin up to each of the ends that `find_ends` returns.
template <class Key, class FindEnds>
std::vector<BinRows> split(const IntervalRows& rows, std::vector<KeyedRow<Key>> members, FindEnds find_ends) {
  std::ranges::sort(members, {}, &KeyedRow<Key>::key);
  const std::span<const KeyedRow<Key>> sorted(members);
  std::vector<BinRows> result;
  std::size_t begin = 0;
  for (const std::size_t end : find_ends(sorted)) {
    result.push_back(part_of(rows, sorted.subspan(begin, end - begin)));
    begin = end;
  }
  return result;
}

/// Return the widths, with widths that differ only by rounding made equal: a constant half-width around different
/// predictions gives bounds whose differences vary in the last digits, which must not order the rows.
std::vector<double> comparable_widths(const IntervalRows& rows) {
  const auto rounding = [&rows](std::size_t i) {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    return kEpsilon * std::abs(rows.lower[i]) + kEpsilon * std::abs(rows.upper[i]);
  };
  std::vector<double> widths(rows.outcomes.size());
  for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = internal::width_of(rows, i);
  std::vector<KeyedRow<double>> sorted = keyed_rows<double>(widths);
  std::ranges::sort(sorted, {}, &KeyedRow<double>::key);
  for (std::size_t i = 1; i < sorted.size() && std::isfinite(sorted[i].key); ++i) {
    const std::size_t before = sorted[i - 1].row;
    const std::size_t row = sorted[i].row;
    if (sorted[i].key - sorted[i - 1].key <= rounding(before) + rounding(row)) widths[row] = widths[before];
  }
  return widths;
}

/// Rows whose key is NaN form the last bin.
std::vector<BinRows> bins_by_value(const IntervalRows& rows, std::span<const double> values, std::size_t bins,
                                   std::string_view where) {
  if (bins == 0) throw Error(ErrorCode::kInvalidArgument, std::string(where) + ": expected at least 1 bin, found 0");
  std::vector<KeyedRow<double>> members = keyed_rows(values);
  const auto unknown =
      std::ranges::partition(members, [](const KeyedRow<double>& member) { return !std::isnan(member.key); });
  const std::vector<KeyedRow<double>> without_value(unknown.begin(), unknown.end());
  members.erase(unknown.begin(), unknown.end());

  std::vector<BinRows> result = split(rows, std::move(members), [bins](std::span<const KeyedRow<double>> sorted) {
    return ends_of_equal_bins(sorted, bins);
  });
  if (!without_value.empty()) result.push_back(part_of(rows, std::span(without_value)));
  return result;
}

}  // namespace

std::vector<BinRows> internal::bins_by_group(const IntervalRows& rows, std::span<const std::int64_t> groups) {
  check_rows(rows, "coverage_by_group");
  check_size(groups.size(), rows.outcomes.size(), "groups", "coverage_by_group");
  return split(rows, keyed_rows(groups), ends_of_groups);
}

std::vector<BinRows> internal::bins_by_width(const IntervalRows& rows, std::size_t bins) {
  check_rows(rows, "coverage_by_width");
  return bins_by_value(rows, comparable_widths(rows), bins, "coverage_by_width");
}

std::vector<BinRows> internal::bins_by_feature(const IntervalRows& rows, std::span<const double> feature,
                                               std::size_t bins) {
  check_rows(rows, "coverage_by_feature");
  check_size(feature.size(), rows.outcomes.size(), "values of the feature", "coverage_by_feature");
  return bins_by_value(rows, feature, bins, "coverage_by_feature");
}

std::vector<Bin> internal::without_rows(const std::vector<BinRows>& bins) {
  std::vector<Bin> result;
  result.reserve(bins.size());
  for (const BinRows& bin : bins) result.push_back(bin.bin);
  return result;
}

std::vector<Bin> coverage_by_group(const IntervalRows& rows, std::span<const std::int64_t> groups) {
  return internal::without_rows(internal::bins_by_group(rows, groups));
}

std::vector<Bin> coverage_by_width(const IntervalRows& rows, std::size_t bins) {
  return internal::without_rows(internal::bins_by_width(rows, bins));
}

std::vector<Bin> coverage_by_feature(const IntervalRows& rows, std::span<const double> feature, std::size_t bins) {
  return internal::without_rows(internal::bins_by_feature(rows, feature, bins));
}

}  // namespace widthwise
