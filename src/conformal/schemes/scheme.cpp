#include <algorithm>

#include <widthwise/schemes.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "conformal/schemes/factories.hpp"
#include "conformal/schemes/words.hpp"

namespace widthwise {

using internal::count;
using internal::count_of;

std::string LevelNeeds::to_string() const {
  if (clusters) return count_of(needed, "calibration cluster");
  return count_of(needed, "calibration row") +
         (cluster_size == 0 ? "" : " for clusters of up to " + count_of(cluster_size, "row"));
}

std::string internal::with_guarantee(const Guarantee& guarantee) {
  return guarantee.is_marginal() ? "" : " with guarantee " + guarantee.to_string();
}

std::shared_ptr<const CalibrationScheme> CalibrationScheme::of(SchemeOptions options, const Calibration& calibration) {
  const bool has_weights = options.learns_weights || options.columns.has(Role::kWeight) || calibration.has_weights();
  const bool has_time = options.columns.has(Role::kTime);
  // Columns that options name decide, and those that rows have without a name; check() refuses rows that lack one.
  const bool has_clusters = options.columns.has(Role::kCluster) || have_clusters(calibration.keys());
  const bool has_groups = options.columns.has(Role::kGroup) || have_groups(calibration.keys());
  const bool has_folds = !options.rows_by_fold.empty();
  internal::SchemePointer scheme;
  if (has_folds) {
    scheme = internal::make_folds(std::move(options), calibration);
  } else if (has_clusters) {
    scheme = internal::make_clusters(std::move(options), calibration, has_groups);
  } else {
    scheme = internal::make_plain_rows(std::move(options), calibration);
  }
  if (has_groups && !has_folds) scheme = internal::make_groups(std::move(scheme), calibration);
  if (has_weights) scheme = internal::make_weights(std::move(scheme), calibration);
  if (has_time) scheme = internal::make_time_order(std::move(scheme), calibration);
  return scheme;
}

CalibrationScheme::CalibrationScheme(SchemeOptions options, const Calibration& calibration)
    : options_(std::move(options)),
      cluster_rule_{
          .form = options_.cluster_coverage,
          .max_size = std::max({options_.max_cluster_size, options_.fit_cluster_size, calibration.largest_cluster()})} {
}

bool CalibrationScheme::reads(Role /*role*/, Step /*step*/) const { return false; }

void CalibrationScheme::check_roles(const Rows& rows, Step step) const {
  if (rows.x.rows() == 0) return;
  for (const RoleEntry& entry : roles()) {
    // Rows to predict may lack a label: they then have the quantile of no group, or are in a new cluster.
    const bool may_lack = entry.kind == RoleKind::kLabel ? step != Step::kCalibrate : entry.role == Role::kClusterSize;
    if (may_lack || !options_.columns.has(entry.role) || !reads(entry.role, step)) continue;
    check_need(entry.role, true, rows.has(entry.role), "Model", options_.columns[entry.role]);
  }
  if (step == Step::kCalibrate && rows.has(Role::kCluster)) combination().add(Role::kCluster).check("Model");
}

Combination CalibrationScheme::combination() const {
  return Combination()
      .add(options_.columns)
      .add(options_.guarantee)
      .add(Choice::kLearntWeights, options_.learns_weights)
      .add(Choice::kPooledGroups, options_.pool_groups > 0)
      .add(Choice::kCrossCalibration, !options_.rows_by_fold.empty());
}

void CalibrationScheme::check(const Calibration& calibration) const {
  combination().check("Model");
  check_rows(calibration);
}

std::string CalibrationScheme::refuses(const Calibration& calibration) const {
  return calibration.has_weights() ? "has weights; expected a calibration without weights, as in the model" : "";
}

std::string CalibrationScheme::refusal(Choice use, std::string_view name) const {
  return combination().add(use, true, name).refusal();
}

CalibrationRanks CalibrationScheme::law(const Calibration& calibration, const Level& level,
                                        std::span<const std::int64_t> /*row_groups*/) const {
  return CalibrationRanks::of_rows(level, rows(calibration), options_.guarantee);
}

std::uint64_t CalibrationScheme::units(const Calibration& calibration) const { return calibration.effective_rows(); }

std::uint64_t CalibrationScheme::units_in(const Calibration& calibration, std::int64_t group) const {
  return calibration.effective_rows(group);
}

LevelNeeds CalibrationScheme::needs(const Calibration& calibration, const Level& level) const {
  return {.needed = options_.guarantee.min_rows(level), .have = units(calibration)};
}

LevelNeeds CalibrationScheme::needs_in(const Calibration& calibration, const Level& level, std::int64_t group) const {
  return {.needed = options_.guarantee.min_rows(level), .have = units_in(calibration, group)};
}

GroupRank CalibrationScheme::rank_in(const Calibration& calibration, const Level& level, std::int64_t group) const {
  const std::uint64_t rows = calibration.rows_in(group);
  return {
      .group = group, .rows = rows, .rank = options_.guarantee.rank(level, rows), .label = calibration.label(group)};
}

std::optional<CoverageSpread> CalibrationScheme::spread(const Calibration& calibration, const Level& level) const {
  return coverage_spread(level, units(calibration), kSpreadConfidence, options_.guarantee);
}

std::optional<double> CalibrationScheme::least_coverage(const Level& /*level*/) const { return std::nullopt; }

bool CalibrationScheme::is_approximate(const Calibration& calibration) const { return calibration.has_weights(); }

std::string CalibrationScheme::coverage(const Calibration& calibration, const Level& level, bool plural) const {
  const LevelNeeds needs = this->needs(calibration, level);
  if (!needs.met()) {
    return (plural ? "are infinite: the level needs " : "infinite: needs ") + needs.to_string();
  }
  const std::string verb = plural ? "cover " : "covers ";
  if (const std::optional<double> least = least_coverage(level)) {
    return verb + "at least " + internal::percent(*least) + " of new outcomes on average over training sets";
  }
  const CoverageSpread range = spread(calibration, level).value_or(CoverageSpread{});
  return verb + (is_approximate(calibration) ? "about " : "") + internal::percent_range(range.low, range.high) +
         " of new outcomes, with 95% confidence" + condition(calibration);
}

std::string CalibrationScheme::infinite_warning(const Calibration& calibration, const Level& level) const {
  const LevelNeeds needs = this->needs(calibration, level);
  if (needs.met()) return "";
  return "intervals of level " + level.to_string() + internal::with_guarantee(options_.guarantee) +
         " are infinite: the level needs " + needs.to_string() + ", the model has " + count(needs.have);
}

std::string CalibrationScheme::uncertainty(const Calibration& /*calibration*/, const Level& /*level*/) const {
  return {};
}

SchemeDescription CalibrationScheme::describe(const Calibration& calibration) const {
  std::string text = count_of(calibration.rows_seen(), "row");
  if (calibration.rows_kept() < calibration.rows_seen()) {
    text += ", of which " + count(calibration.rows_kept()) + " are kept";
  }
  return {.summary = std::move(text)};
}

// ---- laws of the covered count

CalibrationRanks CalibrationRanks::of_level(const Level& level) {
  CalibrationRanks ranks = of_rows(level, kKnownQuantile);
  ranks.of_level_itself = true;
  return ranks;
}

CalibrationRanks CalibrationRanks::of_rows(const Level& level, std::uint64_t rows, const Guarantee& guarantee) {
  return {.groups = {{.group = 0, .rows = rows, .rank = guarantee.rank(level, rows)}},
          .min_rows = guarantee.min_rows(level)};
}

CalibrationRanks CalibrationRanks::of_folds(const Level& level, std::span<const std::uint64_t> rows_by_fold) {
  const Calibration none;
  return CalibrationScheme::of({.rows_by_fold = {rows_by_fold.begin(), rows_by_fold.end()}}, none)
      ->law(none, level, {});
}

CalibrationRanks CalibrationRanks::of(const Calibration& calibration, const Level& level,
                                      std::span<const std::int64_t> row_groups, const Guarantee& guarantee,
                                      std::uint64_t pool_below, const ClusterRule& clusters) {
  return CalibrationScheme::of({.guarantee = guarantee,
                                .pool_groups = pool_below,
                                .cluster_coverage = clusters.form,
                                .max_cluster_size = clusters.max_size},
                               calibration)
      ->law(calibration, level, row_groups);
}

}  // namespace widthwise
