#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/layout.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "conformal/schemes/words.hpp"
#include "conformal/schemes/wrapped.hpp"

namespace widthwise::internal {
namespace {

constexpr const char* kRestName = "(rest)";

/// How many calibration rows or clusters the quantiles have, each group or pooled rest on its own.
struct QuantileSizes {
  std::uint64_t quantiles = 0;         // with finite intervals
  std::uint64_t min_units = 0;         // of the smallest of them
  std::vector<std::string> too_small;  // labels of the groups with infinite intervals
  std::uint64_t pooled_groups = 0;
};

/// "a, b, c and 12 more".
std::string short_list(const std::vector<std::string>& labels) {
  constexpr std::size_t kShown = 10;
  if (labels.size() <= kShown) return list(labels);
  std::vector<std::string> shown(labels.begin(), labels.begin() + kShown - 1);
  shown.push_back(count(labels.size() - shown.size()) + " more");
  return list(shown);
}

/// A calibration row counts as in the inner scheme for new rows of its group, else its weight is 0; groups with few
/// rows share a quantile.
class Groups final : public WrappedScheme {
 public:
  Groups(SchemePointer inner, const Calibration& calibration) : WrappedScheme(std::move(inner), calibration) {}

  [[nodiscard]] bool reads(Role role, Step step) const override {
    return role == Role::kGroup || inner().reads(role, step);
  }

  [[nodiscard]] std::string scope() const override { return " in each group"; }

  [[nodiscard]] Combination combination() const override { return inner().combination().add(Role::kGroup); }

  void check_rows(const Calibration& calibration) const override {
    const bool rows_lack = !have_groups(calibration.keys()) && calibration.rows_seen() > 0;
    check_need(Role::kGroup, true, !rows_lack, "Model", options().columns[Role::kGroup]);
    inner().check_rows(calibration);
  }

  [[nodiscard]] GuaranteeStatement guarantee(const Level& level) const override {
    if (!inner().scope().empty()) return inner().guarantee(level);
    GuaranteeStatement statement;
    if (const auto& confidence = options().guarantee.confidence()) {
      statement = {.kind = "training-conditional",
                   .text = fmt::format("coverage of at least the level in each group, for {} of calibration sets, if "
                                       "calibration rows and new rows of a group are independent draws of one "
                                       "distribution",
                                       percent(confidence->value()))};
    } else {
      statement = {.kind = "group-conditional",
                   .text = fmt::format("coverage of at least the level in each group, {} of the group, if new rows of "
                                       "a group are exchangeable with its calibration rows",
                                       kOnAverage)};
    }
    if (options().pool_groups > 0) {
      statement.text += fmt::format(
          "; groups with fewer than {} calibration rows are pooled, and their coverage holds on average over "
          "the rows of all pooled groups, if new rows have each of them as often as calibration rows",
          options().pool_groups);
    }
    return statement;
  }

  [[nodiscard]] CalibrationRanks law(const Calibration& calibration, const Level& level,
                                     std::span<const std::int64_t> row_groups) const override {
    CalibrationRanks ranks = inner().law(calibration, level, {});
    if (row_groups.empty()) return ranks;
    ranks.row_groups = row_groups;
    ranks.groups.clear();
    const std::unordered_set<std::int64_t> wanted(row_groups.begin(), row_groups.end());
    for (const std::int64_t group : calibration.groups()) {
      if (!wanted.contains(group) || is_pooled(calibration, group)) continue;
      ranks.groups.push_back(inner().rank_in(calibration, level, group));
    }
    if (options().pool_groups == 0 || !wanted.contains(kRestGroup)) return ranks;
    const std::uint64_t rows = rest_rows(calibration);
    ranks.groups.push_back({.group = kRestGroup,
                            .rows = rows,
                            .rank = options().guarantee.rank(level, rows),
                            .label = kRestName,
                            .pooled = true});
    return ranks;
  }

  [[nodiscard]] bool spread_is_exact() const override { return false; }

  [[nodiscard]] std::string coverage(const Calibration& calibration, const Level& level, bool plural) const override {
    if (calibration.groups().empty()) return inner().coverage(calibration, level, plural);
    const QuantileSizes sizes = sizes_of(calibration, level);
    std::string text;
    if (sizes.quantiles > 0) {
      const CoverageSpread range = coverage_spread(level, sizes.min_units, kSpreadConfidence, options().guarantee);
      text = std::string("cover ") + (inner().is_approximate(calibration) ? "about " : "") +
             percent_range(range.low, range.high) + " of new outcomes in the smallest group (" +
             (inner().reads(Role::kClusterSize, Step::kPredict) ? "an effective number of " : "") +
             count_of(sizes.min_units, inner().unit_name()) + "), with 95% confidence" + inner().condition(calibration);
    }
    if (sizes.too_small.empty()) return text;
    return text + (text.empty() ? "are" : ", and are") + " infinite for " + count_of(sizes.too_small.size(), "group") +
           " with too few " + (inner().needs(calibration, level).clusters ? "clusters: " : "rows: ") +
           short_list(sizes.too_small);
  }

  [[nodiscard]] std::string infinite_warning(const Calibration& calibration, const Level& level) const override {
    const std::uint64_t groups = calibration.groups().size();
    if (groups == 0) return inner().infinite_warning(calibration, level);
    const QuantileSizes sizes = sizes_of(calibration, level);
    if (sizes.too_small.empty()) return "";
    const bool together = sizes.pooled_groups == sizes.too_small.size() && sizes.pooled_groups > 1;
    return "intervals of level " + level.to_string() + with_guarantee(options().guarantee) + " are infinite for " +
           count(sizes.too_small.size()) + " of " + count_of(groups, "group") + ", which " +
           (together ? "together " : "") + "have fewer than the " + inner().needs(calibration, level).to_string() +
           " that the level needs: " + short_list(sizes.too_small);
  }

  [[nodiscard]] SchemeDescription describe(const Calibration& calibration) const override {
    SchemeDescription description = inner().describe(calibration);
    const std::vector<std::int64_t> groups = calibration.groups();
    if (groups.empty()) return description;
    const std::string parts = ", in " + count_of(groups.size(), "group");
    description.parts += parts;
    description.summary += parts;
    description.groups.emplace();
    std::uint64_t pooled = 0;
    for (const std::int64_t group : groups) {
      description.groups->push_back({.label = calibration.label(group),
                                     .rows = calibration.rows_in(group),
                                     .pooled = is_pooled(calibration, group)});
      if (description.groups->back().pooled) ++pooled;
    }
    if (pooled == 0) return description;
    description.pooled = count_of(pooled, "group") + " with fewer than " + count_of(options().pool_groups, "row") +
                         (pooled == 1 ? " is" : " are") + " pooled, with a quantile of " +
                         count_of(rest_rows(calibration), "row");
    description.lines.emplace_back("pooled groups", description.pooled);
    return description;
  }

 private:
  [[nodiscard]] bool is_pooled(const Calibration& calibration, std::int64_t group) const {
    return calibration.rows_seen_in(group) < options().pool_groups;
  }

  /// The scores of the quantile of the pooled groups, see SortedScores.
  [[nodiscard]] std::uint64_t rest_rows(const Calibration& calibration) const {
    std::uint64_t rows = 0;
    for (const std::int64_t group : calibration.groups()) {
      if (calibration.rows_seen_in(group) <= options().pool_groups) rows += calibration.rows_in(group);
    }
    return rows;
  }

  [[nodiscard]] QuantileSizes sizes_of(const Calibration& calibration, const Level& level) const {
    QuantileSizes sizes;
    const auto add = [&](std::uint64_t units) {
      sizes.min_units = sizes.quantiles == 0 ? units : std::min(sizes.min_units, units);
      ++sizes.quantiles;
    };
    LevelNeeds of_rest = inner().needs(calibration, level);
    of_rest.have = rest_rows(calibration);
    for (const std::int64_t group : calibration.groups()) {
      const bool pooled = is_pooled(calibration, group);
      const bool finite = pooled ? of_rest.met() : inner().needs_in(calibration, level, group).met();
      if (pooled) {
        ++sizes.pooled_groups;
      } else if (finite) {
        add(inner().units_in(calibration, group));
      }
      if (!finite) sizes.too_small.push_back(calibration.label(group));
    }
    if (sizes.pooled_groups > 0 && of_rest.met()) add(of_rest.have);
    std::ranges::sort(sizes.too_small);
    return sizes;
  }
};

}  // namespace

SchemePointer make_groups(SchemePointer inner, const Calibration& calibration) {
  return std::make_shared<const Groups>(std::move(inner), calibration);
}

}  // namespace widthwise::internal
