#include "evaluation/parts.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <numeric>
#include <string>

#include <widthwise/error.hpp>

#include "base/text.hpp"
#include "evaluation/diagnostics/rows.hpp"

namespace widthwise::internal {

RowRanks::RowRanks(const CalibrationRanks& calibration, std::size_t n) : n_(n), groups_(calibration.groups) {
  const std::span<const std::int64_t> row_groups = calibration.row_groups;
  if (row_groups.empty() && groups_.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "evaluate: the rank of the calibration quantile is missing");
  }
  groups_.push_back({.group = 0, .rows = 0, .rank = 1});
  for (const GroupRank& group : groups_) {
    const bool is_infinite = group.rank > group.rows;
    has_law_.push_back(is_infinite || (!calibration.bound && !group.pooled));
  }
  if (row_groups.empty()) return;
  check_size(row_groups.size(), n, "groups", "evaluate");
  std::map<std::int64_t, std::uint32_t> place_of;
  for (std::size_t g = 0; g + 1 < groups_.size(); ++g) place_of[groups_[g].group] = static_cast<std::uint32_t>(g);
  group_of_.reserve(n);
  for (const std::int64_t group : row_groups) {
    const auto found = place_of.find(group);
    group_of_.push_back(found == place_of.end() ? static_cast<std::uint32_t>(groups_.size() - 1) : found->second);
  }
}

std::string groups_text(const CalibrationRanks& calibration) {
  if (calibration.row_groups.empty()) return "";
  const auto groups = std::ranges::count_if(calibration.groups, [](const GroupRank& group) { return !group.pooled; });
  return " in " + count_of(static_cast<std::uint64_t>(groups), "group");
}

std::vector<RankedRows> RowRanks::count(std::span<const std::size_t> rows) const {
  std::vector<RankedRows> counts;
  counts.reserve(groups_.size());
  for (const GroupRank& group : groups_) counts.push_back({.rows = group.rows, .rank = group.rank});
  for (const std::size_t row : rows) ++counts[group_of(row)].test_rows;
  return counts;
}

std::vector<RankedRows> RowRanks::count() const {
  std::vector<std::size_t> all(n_);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return count(all);
}

std::vector<RankedRows> RowRanks::count_with_law(std::span<const std::size_t> rows) const {
  std::vector<RankedRows> counts = count(rows);
  for (std::size_t g = 0; g < counts.size(); ++g) {
    if (!has_law_[g]) counts[g] = {};
  }
  return counts;
}

std::vector<std::size_t> RowRanks::rows_with_law() const {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < n_; ++row) {
    if (has_law(row)) rows.push_back(row);
  }
  return rows;
}

PlaceTest::PlaceTest(const IntervalRows& rows, const Level& level, const RowRanks& ranks)
    : rows_(rows), level_(level), ranks_(ranks) {
  for (std::size_t row = 0; row < rows.outcomes.size(); ++row) {
    if (ranks.has_law(row)) continue;
    ++without_law_.rows;
    if (is_covered(rows, row)) ++without_law_.covered;
  }
}

std::vector<std::size_t> PlaceTest::without_law(std::span<const std::size_t> rows) const {
  std::vector<std::size_t> found;
  if (without_law_.rows == 0) return found;
  std::ranges::copy_if(rows, std::back_inserter(found), [this](std::size_t row) { return !ranks_.has_law(row); });
  return found;
}

CoveredCount PlaceTest::law(std::span<const std::size_t> rows) const {
  DrawnRows drawn = without_law_;
  drawn.test_rows = without_law(rows).size();
  return CoveredCount(ranks_.count_with_law(rows), drawn);
}

std::uint64_t PlaceTest::covered(std::span<const std::size_t> rows) const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(rows, [this](std::size_t i) { return is_covered(rows_, i); }));
}

double PlaceTest::p_value(std::span<const std::size_t> rows) const {
  const std::uint64_t inside = covered(rows);
  const bool reaches_level = static_cast<double>(inside) >= level_.value() * static_cast<double>(rows.size());
  return reaches_level ? 1 : law(rows).at_most(inside);
}

double PlaceTest::p_value(std::span<const std::size_t> search, std::span<const std::size_t> measured) const {
  const double alone = p_value(measured);
  if (alone == 1) return 1;
  std::vector<RankedRows> joined = ranks_.count_with_law(measured);
  DrawnRows drawn = without_law_;
  drawn.test_rows = without_law(measured).size();
  for (const std::size_t row : search) {
    if (!ranks_.has_law(row)) {
      --drawn.rows;
      if (is_covered(rows_, row)) --drawn.covered;
      continue;
    }
    RankedRows& group = joined[ranks_.group_of(row)];
    if (group.rank > group.rows) continue;  // always infinite
    ++group.rows;
    if (is_covered(rows_, row)) ++group.rank;
  }
  return std::max(alone, CoveredCount(joined, drawn).at_most(covered(measured)));
}

Tails PlaceTest::tails(std::span<const std::size_t> rows) const {
  const CoveredCount count = law(rows);
  const auto inside = static_cast<std::uint64_t>(std::ranges::count_if(
      rows, [this](std::size_t i) { return ranks_.has_law(i) ? is_strictly_inside(rows_, i) : is_covered(rows_, i); }));
  return {.below = count.at_most(covered(rows)), .above = inside == 0 ? 1 : count.more_than(inside - 1)};
}

double PlaceTest::gap_by_chance(std::span<const std::size_t> rows) const {
  double variance = 0;  // of the covered count: a sum of beta-binomial counts, and of a hypergeometric one
  for (const RankedRows& group : ranks_.count_with_law(rows)) {
    if (group.rank > group.rows) continue;
    const auto n = static_cast<double>(group.rows);
    const auto m = static_cast<double>(group.test_rows);
    const double mean = static_cast<double>(group.rank) / (n + 1);
    variance += m * mean * (1 - mean) * (n + 1 + m) / (n + 2);
  }
  double shift = 0;  // rows without a known law cover this much more or less than the level everywhere
  if (without_law_.rows > 1) {
    const auto all = static_cast<double>(without_law_.rows);
    const auto m = static_cast<double>(without_law(rows).size());
    const double mean = static_cast<double>(without_law_.covered) / all;
    variance += m * mean * (1 - mean) * (all - m) / (all - 1);
    shift = m * (mean - level_.value());
  }
  return std::sqrt(2 / std::numbers::pi * variance + shift * shift) / static_cast<double>(rows.size());
}

std::vector<double> adjusted_by_holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double highest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    highest = std::max(highest, std::min(1.0, static_cast<double>(order.size() - i) * p_values[order[i]]));
    adjusted[order[i]] = highest;
  }
  return adjusted;
}

std::vector<bool> reject_by_holm(std::span<const double> p_values, double error) {
  std::vector<bool> rejected;
  rejected.reserve(p_values.size());
  for (const double p : adjusted_by_holm(p_values)) rejected.push_back(p <= error);
  return rejected;
}

}  // namespace widthwise::internal
