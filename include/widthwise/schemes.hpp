#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/interface.hpp>
#include <widthwise/level.hpp>
#include <widthwise/roles.hpp>
#include <widthwise/rows.hpp>

namespace widthwise {

/// Enough calibration rows that the quantile is practically known.
inline constexpr std::uint64_t kKnownQuantile = 1'000'000'000;

/// The calibration score that bounds the rows of one group: the rank-th smallest of `rows`.
struct GroupRank {
  std::int64_t group = 0;  ///< number of the group, kRestGroup for pooled groups; 0 without groups
  std::uint64_t rows = 0;  ///< calibration rows of the group; see CalibrationRanks
  std::uint64_t rank = 1;  ///< above `rows` if intervals are infinite
  std::string label = {};  ///< of the group, for messages; empty without groups
  /// Whether the scores are those of several groups, given whose counts the coverage of a test row has no known law.
  bool pooled = false;
  std::uint64_t rank_below = 0;  ///< if rows of sets count, the rank at or below the quantile, from 1
};

/// How sets of dependent rows count, if whole sets are exchangeable and rows are not independent.
struct DependentSets {
  /// Rows that a new set has at most, if every row counts once; 0 if every set does. CalibrationRanks::groups then has
  /// the effective number of sets, the quantile lies between the ranks GroupRank::rank_below and GroupRank::rank of
  /// them, which is approximate, and CalibrationRanks::min_rows counts rows.
  std::uint64_t largest = 0;
  std::uint64_t rows = 0;  ///< calibration rows of all sets
};

/// A lower bound of coverage, for intervals whose coverage has no law.
struct CoverageBound {
  std::string text;                                ///< a sentence with the bound and its conditions
  std::function<double(double failure)> of_model;  ///< coverage of one model, with probability at least 1 - failure
};

/// The law of the number of covered rows among n new rows at one level, as far as it is known: the calibration ranks of
/// their intervals.
///
/// The law is exact if new rows are exchangeable with the calibration rows, one row at a time, unless one of
/// `approximate_because`, `sets` and `bound` says otherwise, or the group of a row is pooled.
struct CalibrationRanks {
  std::vector<GroupRank> groups = {};             ///< distinct; rows of any other group have infinite intervals
  std::span<const std::int64_t> row_groups = {};  ///< n, or empty if all rows belong to groups.front()
  std::uint64_t min_rows = 0;                     ///< calibration rows per group needed for finite intervals
  /// Why ranks are approximate, "calibration rows have weights"; empty if they are not. GroupRank::rows are then
  /// effective sample sizes.
  std::string approximate_because = {};
  std::string infinite_because = {};        ///< why all intervals are infinite, if ranks are approximate and they are
  std::optional<DependentSets> sets = {};   ///< what counts, if rows are not independent; `groups` then counts sets
  std::optional<CoverageBound> bound = {};  ///< what is known instead of a law
  bool of_level_itself = false;  ///< coverage is compared with the level: the calibration set is unknown, or none

  /// Whether the law of rows that are not of pooled groups is known and exact.
  [[nodiscard]] bool is_exact() const { return approximate_because.empty() && !sets && !bound; }

  /// Intervals that are to cover each row with the probability `level`, whatever made them.
  [[nodiscard]] static CalibrationRanks of_level(const Level& level);

  /// One quantile of this many scores for all rows.
  [[nodiscard]] static CalibrationRanks of_rows(const Level& level, std::uint64_t rows,
                                                const Guarantee& guarantee = {});

  /// The quantile over folds with this many calibration rows each.
  [[nodiscard]] static CalibrationRanks of_folds(const Level& level, std::span<const std::uint64_t> rows_by_fold);

  /// The ranks of a calibration for rows of these groups (n, or empty). With groups pooled below `pool_below` rows,
  /// row_groups are those of SortedScores::quantile_group.
  [[nodiscard]] static CalibrationRanks of(const Calibration& calibration, const Level& level,
                                           std::span<const std::int64_t> row_groups = {},
                                           const Guarantee& guarantee = {}, std::uint64_t pool_below = 0,
                                           const ClusterRule& clusters = {});
};

/// Confidence of the coverage range in the reports of a model and of a calibration.
inline constexpr double kSpreadConfidence = 0.95;

/// The coverage that a scheme guarantees, with its conditions, in words.
struct GuaranteeStatement {
  std::string kind;  ///< "marginal", "training-conditional", "group-conditional", "weighted", "approximate", ...
  std::string text;  ///< what is guaranteed, on average over what, and under which conditions
  /// Whether new rows that are exchangeable with the calibration rows have marginal coverage of at least the level.
  bool is_marginal_for_rows = true;

  /// "marginal: coverage of at least the level, ..."
  [[nodiscard]] std::string to_string() const { return kind + ": " + text; }
};

/// What finite intervals of a level need, and what a calibration without groups has.
struct LevelNeeds {
  std::uint64_t needed = 0;        ///< calibration rows, or clusters
  std::uint64_t have = 0;          ///< those of the model; of weighted rows, the effective sample size
  bool clusters = false;           ///< whether both count clusters
  std::uint64_t cluster_size = 0;  ///< rows that a new cluster has at most, if rows of clusters count; else 0

  [[nodiscard]] bool met() const { return have >= needed; }  ///< whether intervals are finite

  /// "9 calibration rows", "9 calibration clusters", "450 calibration rows for clusters of up to 50 rows".
  [[nodiscard]] std::string to_string() const;
};

/// The calibration rows of one group.
struct GroupCount {
  std::string label;       ///< of the group
  std::uint64_t rows = 0;  ///< kept rows
  bool pooled = false;     ///< whether the group takes the quantile of the pooled groups
};

/// The clusters of a calibration, and how they count.
struct ClusterCounts {
  ClusterForm form = ClusterForm::kRows;  ///< what counts once
  std::uint64_t count = 0;                ///< number of clusters
  std::uint64_t rows = 0;                 ///< of all clusters
  std::uint64_t largest = 0;              ///< Calibration::largest_cluster
  std::uint64_t effective = 0;            ///< Calibration::effective_clusters
  std::uint64_t max_size = 0;             ///< ClusterRule::max_size
};

/// What reports show of a calibration.
struct SchemeDescription {
  std::string summary = {};  ///< numbers of rows and what follows
  std::string parts = {};    ///< ", in 16 groups", ", in 40 clusters of up to 12 rows"; or empty
  std::string weights = {};  ///< ", weighted (effective sample size 212)"; or empty
  std::string pooled = {};   ///< which groups are pooled, a clause; or empty
  std::vector<std::pair<std::string, std::string>> lines = {};  ///< further names and values
  std::optional<std::vector<GroupCount>> groups = {};           ///< of each group, if rows have groups
  std::optional<ClusterCounts> clusters = {};                   ///< if rows have clusters, or will have them
};

/// What a scheme is made from.
struct SchemeOptions {
  Guarantee guarantee = {};       ///< of intervals and quantiles
  RoleNames columns = {};         ///< names of columns; that of times if the fit split its rows by it
  bool learns_weights = false;    ///< whether the model computes likelihood ratios from the features
  std::uint64_t pool_groups = 0;  ///< groups with fewer calibration rows are pooled; 0: none
  ClusterForm cluster_coverage = ClusterForm::kRows;  ///< what counts once, if there are clusters
  std::uint64_t max_cluster_size = 0;                 ///< rows that a new cluster has at most, as declared; 0: unknown
  std::uint64_t fit_cluster_size = 0;                 ///< ModelParts::fit_cluster_size
  std::vector<std::uint64_t> rows_by_fold = {};       ///< calibration rows of each fold, with folds; else empty
};

/// How calibration rows count for a new row: which columns they need, which rows may calibrate, what is guaranteed and
/// under which conditions, and the law of the covered count. Models, evaluations, reports and streams ask a scheme and
/// know none by name; a new scheme is one class in src/schemes.
///
/// A scheme is made for a calibration, which is passed to the questions about its rows.
/// Invariant: immutable. Thread safety: full.
class CalibrationScheme : public Interface {
 public:
  /// The scheme of these options and of the rows of a calibration, which decide where options name no column.
  [[nodiscard]] static std::shared_ptr<const CalibrationScheme> of(SchemeOptions options,
                                                                   const Calibration& calibration);

  [[nodiscard]] const SchemeOptions& options() const { return options_; }  ///< as given

  /// How clusters count; the largest size is the declared one or that of the largest known cluster.
  [[nodiscard]] const ClusterRule& cluster_rule() const { return cluster_rule_; }

  // ---- rows

  /// Whether a step reads a column of this role; Role::kClusterSize may be left out.
  [[nodiscard]] virtual bool reads(Role role, Step step) const;

  /// Whether new rows have weights, so that rows of the same group may have different quantiles.
  [[nodiscard]] virtual bool weighs_new_rows() const { return false; }

  /// Why verdicts on coverage are approximate, "calibration rows have weights"; empty if they are not.
  [[nodiscard]] virtual std::string approximate_because() const { return {}; }

  /// Whether rows are independent of each other, given the guarantee's conditions.
  [[nodiscard]] virtual bool has_independent_rows() const { return true; }

  /// Whether rows can be added to the calibration.
  [[nodiscard]] virtual bool takes_rows() const { return true; }

  /// Throw kInvalidArgument unless rows for this step come with the columns that the scheme needs.
  void check_roles(const Rows& rows, Step step) const;

  /// Columns by role and choices of the scheme, to which a use of it is added.
  [[nodiscard]] virtual Combination combination() const;

  /// Throw kInvalidArgument if options, or options and rows of the calibration, contradict each other.
  void check(const Calibration& calibration) const;

  /// Throw kInvalidArgument if the rows of the calibration are not those of the options.
  virtual void check_rows(const Calibration& /*calibration*/) const {}

  /// Why a calibration cannot be that of a model with this scheme, a predicate; empty if it can.
  [[nodiscard]] virtual std::string refuses(const Calibration& calibration) const;

  /// Why the scheme does not support this use, a sentence that may begin with its name; empty if it does.
  [[nodiscard]] std::string refusal(Choice use, std::string_view name = {}) const;

  // ---- coverage

  /// The guarantee with its conditions; `level` is that of examples.
  [[nodiscard]] virtual GuaranteeStatement guarantee(const Level& level) const = 0;

  /// The law of the covered count of rows of these groups (n, or empty; those of SortedScores::quantile_group).
  [[nodiscard]] virtual CalibrationRanks law(const Calibration& calibration, const Level& level,
                                             std::span<const std::int64_t> row_groups) const;

  /// Number of calibration rows that are kept.
  [[nodiscard]] virtual std::uint64_t rows(const Calibration& calibration) const { return calibration.rows_kept(); }

  /// Of each fold; empty without folds.
  [[nodiscard]] const std::vector<std::uint64_t>& rows_by_fold() const { return options_.rows_by_fold; }

  /// What the width of intervals depends on: rows, effective rows, or clusters.
  [[nodiscard]] virtual std::uint64_t units(const Calibration& calibration) const;

  /// The same for one group; without groups, its number is 0.
  [[nodiscard]] virtual std::uint64_t units_in(const Calibration& calibration, std::int64_t group) const;

  /// "row", "cluster": what one unit is.
  [[nodiscard]] virtual const char* unit_name() const { return "row"; }

  /// What finite intervals of a level need. With groups, every group needs it.
  [[nodiscard]] virtual LevelNeeds needs(const Calibration& calibration, const Level& level) const;

  /// The same for the rows of one group; without groups, its number is 0.
  [[nodiscard]] virtual LevelNeeds needs_in(const Calibration& calibration, const Level& level,
                                            std::int64_t group) const;

  /// The rank of the quantile of one group among its units; without groups, its number is 0.
  [[nodiscard]] virtual GroupRank rank_in(const Calibration& calibration, const Level& level, std::int64_t group) const;

  /// The range of coverage over calibration sets, as reports show it; none if there is only a lower bound.
  [[nodiscard]] virtual std::optional<CoverageSpread> spread(const Calibration& calibration, const Level& level) const;

  /// Whether `spread` is exact for the coverage of all new rows.
  [[nodiscard]] virtual bool spread_is_exact() const { return false; }

  /// The least coverage on average over training sets, if there is no spread.
  [[nodiscard]] virtual std::optional<double> least_coverage(const Level& level) const;

  // ---- words for reports

  /// What intervals of a level do: "cover 85.1% to 94.0% of new outcomes, with 95% confidence", "are infinite: the
  /// level needs 9 calibration rows". A plural predicate, or a singular one.
  [[nodiscard]] virtual std::string coverage(const Calibration& calibration, const Level& level, bool plural) const;

  /// "intervals of level 0.99 are infinite: the level needs 99 calibration rows, the model has 50"; empty if they are
  /// finite. With groups, the message lists those with infinite intervals.
  [[nodiscard]] virtual std::string infinite_warning(const Calibration& calibration, const Level& level) const;

  /// Why the coverage of one calibration set may be far from the level, a sentence with a remedy; empty if it is not.
  [[nodiscard]] virtual std::string uncertainty(const Calibration& calibration, const Level& level) const;

  /// What reports show.
  [[nodiscard]] virtual SchemeDescription describe(const Calibration& calibration) const;

  /// "in each group", with a blank before it, if the guarantee holds in each; else empty.
  [[nodiscard]] virtual std::string scope() const { return {}; }

  /// Whether `spread` is stated as approximate.
  [[nodiscard]] virtual bool is_approximate(const Calibration& calibration) const;

  /// A clause after a coverage range, with its comma; or empty.
  [[nodiscard]] virtual std::string condition(const Calibration& /*calibration*/) const { return {}; }

 protected:
  /// Options, and the rows of the calibration that decide the largest known cluster.
  CalibrationScheme(SchemeOptions options, const Calibration& calibration);

 private:
  SchemeOptions options_;
  ClusterRule cluster_rule_;
};

}  // namespace widthwise
