#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>

namespace widthwise {

/// The largest and, inverted, the smallest learnt weight. A ratio of a thousand is more than trees can estimate; beyond
/// it, single rows would dominate a calibration set.
inline constexpr double kMaxLearntWeight = 1000;

/// The likelihood ratio with this logarithm, limited to [1 / kMaxLearntWeight, kMaxLearntWeight]. +infinity for NaN,
/// which gives a row to predict an infinite interval.
[[nodiscard]] double learnt_weight(double log_weight);

/// Effective sample size (sum w)^2 / sum w^2 of positive, finite weights (Kish 1965); 0 for none.
[[nodiscard]] double effective_sample_size(std::span<const double> weights);

namespace internal {
class GroupIndex;
}  // namespace internal

/// An error of code kDuplicateRows that names the row.
class DuplicateRowError : public Error {
 public:
  /// `row_number` is the number of the row that was added twice.
  DuplicateRowError(std::uint64_t row_number, const std::string& message)
      : Error(ErrorCode::kDuplicateRows, message), row_number_(row_number) {}

  [[nodiscard]] std::uint64_t row_number() const noexcept { return row_number_; }  ///< of the row added twice

 private:
  std::uint64_t row_number_;
};

/// What to do if a level needs more calibration rows than there are.
enum class WhenTooFew {
  kInfinite,  ///< return +infinity: the interval is the whole real line, and valid
  kError,     ///< throw kTooFewRows with the level and the number of rows it needs
};

/// Write to out[j] the guarantee.rank(levels[j], n)-th smallest of the n scores, or +infinity if that rank is n + 1.
/// Reorders `scores`; one selection for one level, a multi-selection for several (levels need not be sorted or
/// distinct). Throws kNotFinite for a NaN, with its position; `scores` is unchanged if it throws.
void conformal_quantiles(std::span<double> scores, std::span<const Level> levels, std::span<double> out,
                         WhenTooFew when_too_few = WhenTooFew::kInfinite, const Guarantee& guarantee = {});

/// What counts in the coverage of a calibration by clusters (docs/groups.md).
enum class ClusterForm {
  kRows,      ///< every row of new clusters counts once
  kClusters,  ///< every new cluster counts once, whatever its number of rows
};

/// "rows", "clusters".
[[nodiscard]] std::string_view name_of(ClusterForm form);
/// The reverse; empty for any other name.
[[nodiscard]] std::optional<ClusterForm> cluster_form_of(std::string_view name);

/// How a calibration by clusters counts; without clusters, this is not used.
struct ClusterRule {
  ClusterForm form = ClusterForm::kRows;  ///< what counts once
  /// Of kRows: the number of rows that a new cluster has at most, if its size is not given with the row. The largest
  /// cluster of the calibration if that is larger.
  std::uint64_t max_size = 0;
};

/// What the keys of calibration rows are.
enum class RowKeys {
  kNone,               ///< rows have no keys
  kGroups,             ///< each row has a group
  kClusters,           ///< each row has a cluster
  kGroupsAndClusters,  ///< each row has both
};

/// Whether each row has a group.
[[nodiscard]] constexpr bool have_groups(RowKeys keys) {
  return keys == RowKeys::kGroups || keys == RowKeys::kGroupsAndClusters;
}
/// Whether each row has a cluster.
[[nodiscard]] constexpr bool have_clusters(RowKeys keys) {
  return keys == RowKeys::kClusters || keys == RowKeys::kGroupsAndClusters;
}

/// The clusters of one group, each with its rows in that group; or of all rows, without groups.
struct ClusterSizes {
  std::uint64_t clusters = 0;   ///< number of clusters with rows
  std::uint64_t rows = 0;       ///< of all of them, including those not kept
  std::uint64_t largest = 0;    ///< rows of the largest one
  std::uint64_t effective = 0;  ///< the number of clusters of one size with the same variance, see effective_clusters
};

/// One calibration row.
struct CalibrationRow {
  double score = 0;    ///< B; +infinity is allowed, NaN is not
  bool above = false;  ///< whether y lies above the prediction
  double weight = 1;   ///< likelihood ratio of test to calibration distribution; positive and finite
  std::optional<std::int64_t> group = {};    ///< Mondrian category; empty in a calibration without groups
  std::optional<std::int64_t> cluster = {};  ///< set of dependent rows; empty in a calibration without clusters
};

/// The numbers of n rows: consecutive from a first one, or given for each row. Borrows its input.
class RowNumbers {
 public:
  // Implicit, so that functions accept either form.
  /// Consecutive numbers: row i has the number first + i.
  RowNumbers(std::uint64_t first) : first_(first) {}  // NOLINT
  /// One number per row, borrowed.
  RowNumbers(std::span<const std::uint64_t> each) : each_(each), given_(true) {}  // NOLINT
  /// The same from a vector, which has to outlive this.
  RowNumbers(const std::vector<std::uint64_t>& each) : RowNumbers(std::span<const std::uint64_t>(each)) {}  // NOLINT

  /// Whether the numbers are given for each row.
  [[nodiscard]] bool given() const { return given_; }
  /// The number of row i, from 0. Not range-checked.
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const { return given_ ? each_[i] : first_ + i; }

  /// The numbers of `count` rows from row `begin` on.
  [[nodiscard]] RowNumbers part(std::size_t begin, std::size_t count) const;

  /// Throw kShapeMismatch unless there are numbers for n rows, and kInvalidArgument if they need more than 64 bits; the
  /// message begins with `where`.
  void check(std::size_t n, const char* where) const;

 private:
  std::uint64_t first_ = 0;
  std::span<const std::uint64_t> each_;
  bool given_ = false;
};

/// A uniform sample of calibration scores, complete up to `capacity` rows per group (docs/mathematics.md). It keeps the
/// rows with the smallest random priorities, so the same rows give the same bytes in any order and over any number of
/// machines. A uniform subsample of exchangeable scores is still exchangeable with the test score, so the guarantee
/// stays exact, and quantiles are never approximated.
///
/// The priority of a row is a bijective mix of its row number and the seed, so two rows with the same priority are one
/// row added twice. This is an error, because rows counted twice make intervals too narrow: add and merge throw
/// DuplicateRowError, also across groups, if the first copy is stored and the second one would be.
///
/// Groups have numbers, which follow from their labels (group_number). The calibration keeps the labels that are not
/// integers, so it can be merged and read without another list of them.
///
/// Either all rows have a group or none. Otherwise rows without groups would be mixed with those of group 0, and
/// neither would have valid coverage. add and merge throw kInvalidArgument in this case and leave the sample unchanged.
///
/// Likewise, either all rows have a cluster or none. Rows of one cluster are not independent, such as the visits of one
/// patient, so a quantile takes account of their clusters (SortedScores). A clustered calibration has no weights. It
/// keeps up to `capacity` rows of every cluster. All clusters are kept, whatever their size, because a sample that
/// favours large clusters would not be exchangeable with a new cluster.
///
/// With groups and clusters, the rows of a cluster may be in several groups. Its part in each of them is kept and
/// counted like a cluster: within a group, the parts of clusters are exchangeable (docs/mathematics.md).
///
/// Exception safety: add and merge either succeed or leave the sample unchanged, also if memory runs out.
/// Thread safety: const methods may run concurrently; add and merge need exclusive access.
class Calibration {
 public:
  /// Size and random choice of the sample. Samples can be merged only if their options are equal.
  struct Options {
    std::uint64_t capacity = 1'000'000;  ///< rows kept per group; at 1e6, sampling changes the coverage by about 0.0003
    std::uint64_t seed = 0;  ///< random seed of the priorities, which decide the rows kept above the capacity
  };

  Calibration();
  explicit Calibration(const Options& options);  ///< an empty sample; throws kInvalidArgument for a capacity of 0

  /// Add the row with this number. Numbers are unique over all samples that are ever merged (for example a position in
  /// the file, or a key), and must not depend on y. Throws kNotFinite or kInvalidArgument for an invalid row,
  /// DuplicateRowError for one that is stored already, and leaves the sample unchanged.
  void add(std::uint64_t row_number, const CalibrationRow& row);

  /// Add scores.size() rows with these numbers: all of them or, if one is invalid, none. The other spans have the same
  /// size, or are empty for the default. A calibration with weights takes rows with weights; rows with clusters have no
  /// weights.
  void add(RowNumbers numbers, std::span<const double> scores, std::span<const bool> above = {},
           std::span<const double> weights = {}, std::span<const std::int64_t> groups = {},
           std::span<const std::int64_t> clusters = {});

  /// Merge the rows of another sample with the same options. Throws kBadData if groups with different labels have the
  /// same number, and DuplicateRowError if both samples have a row.
  void merge(const Calibration& other);
  void merge(Calibration&& other);  ///< the same; takes the memory of `other` if this sample is empty

  /// Give the groups of this sample their labels. Integers, and groups that `labels` does not have, stay as they are.
  /// Throws kBadData if a group has another label.
  void name_groups(const GroupLabels& labels);

  /// Serialise the sample; equal sets of rows give equal bytes. Little-endian, versioned, with a checksum.
  [[nodiscard]] std::vector<std::byte> serialise() const;

  /// Read the bytes of serialise. Throws kBadData with the problem found if they are invalid.
  [[nodiscard]] static Calibration deserialise(std::span<const std::byte> bytes);

  [[nodiscard]] const Options& options() const { return options_; }  ///< capacity and seed, also after deserialise

  /// Number of rows added so far, including those not kept.
  [[nodiscard]] std::uint64_t rows_seen() const;

  /// Number of rows kept in all groups.
  [[nodiscard]] std::uint64_t rows_kept() const;

  /// The groups, ascending; {0} for rows without groups.
  [[nodiscard]] std::vector<std::int64_t> groups() const;

  /// What the rows were added with, for calibration schemes (schemes.hpp): groups even if all rows are in group 0.
  [[nodiscard]] RowKeys keys() const { return keys_; }

  /// Number of clusters; 0 for rows without clusters. A cluster in several groups is one.
  [[nodiscard]] std::uint64_t clusters() const { return cluster_numbers().size(); }

  /// The numbers of the clusters, ascending; empty for rows without clusters.
  [[nodiscard]] std::vector<std::int64_t> cluster_numbers() const;

  /// Number of rows of the largest cluster, in one group if there are groups, including those not kept; 0 for rows
  /// without clusters.
  [[nodiscard]] std::uint64_t largest_cluster() const;

  /// The number of clusters of one size with the same variance if rows count: (sum N)^2 / sum N^2 over the sizes N
  /// (Kish 1965), each in one group if there are groups. Rounded down; 0 for rows without clusters.
  [[nodiscard]] std::uint64_t effective_clusters() const;

  /// The clusters by group, of group 0 without groups; empty for rows without clusters.
  [[nodiscard]] std::map<std::int64_t, ClusterSizes> cluster_sizes() const;

  /// The label of a group; that of an unknown group is its number.
  [[nodiscard]] std::string label(std::int64_t group) const;

  /// The number of the group with this label; kUnseenGroup if it has no rows, kNoGroup for an empty label.
  [[nodiscard]] std::int64_t find_group(std::string_view label) const;

  /// The same for a label that is an integer.
  [[nodiscard]] std::int64_t find_group(std::int64_t label) const;

  /// Whether a group has a label that is not an integer, so that numbers are not labels.
  [[nodiscard]] bool labelled() const;

  /// Number of rows added to one group, including those not kept.
  [[nodiscard]] std::uint64_t rows_seen_in(std::int64_t group) const;

  /// Number of rows kept in one group.
  [[nodiscard]] std::uint64_t rows_in(std::int64_t group) const;

  /// Whether any added row has a weight other than 1, including rows not kept.
  [[nodiscard]] bool has_weights() const;

  /// Effective sample size (sum w)^2 / sum w^2 of the kept rows: the number of unweighted rows with the same variance
  /// (Kish 1965). The number of kept rows if all weights are equal. Rounded down.
  [[nodiscard]] std::uint64_t effective_rows() const;

  /// The same for one group.
  [[nodiscard]] std::uint64_t effective_rows(std::int64_t group) const;

  /// The kept rows of one group, by ascending priority; empty for an unknown group.
  [[nodiscard]] std::vector<CalibrationRow> rows(std::int64_t group) const;

  /// Whether both samples have the same options, rows and labels.
  friend bool operator==(const Calibration& a, const Calibration& b) { return a.serialise() == b.serialise(); }

 private:
  friend class SortedScores;

  struct Entry {
    std::uint64_t priority;
    double score;
    double weight;
    bool above;
  };
  struct Sample {
    std::vector<Entry> entries;  // the kept rows and some more, unordered; see compact
    std::uint64_t seen = 0;
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  // upper bound of the priorities of kept rows
    bool weighted = false;
  };
  /// Where a row belongs. Without groups or without clusters, that number is 0.
  struct SampleKey {
    std::int64_t group = 0;
    std::int64_t cluster = 0;

    auto operator<=>(const SampleKey&) const = default;

    /// "cluster 5", as rows with these keys have it.
    [[nodiscard]] std::string to_string(RowKeys keys) const;
  };
  using Samples = std::map<SampleKey, Sample>;
  struct Reader;

  /// A range that contains the numbers of all stored rows: rows with other numbers need no search.
  struct NumberRange {
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t last = 0;

    [[nodiscard]] bool overlaps(const NumberRange& other) const { return first <= other.last && other.first <= last; }
    void include(const NumberRange& other);
  };

  /// A hash table of the priorities of the entries, made when rows are added whose numbers may be there. Copies and
  /// moved objects start without one, so that a calibration that is only read has no memory for it. It may keep
  /// priorities of rows that are not stored any more.
  class Stored {
   public:
    Stored() = default;
    Stored(const Stored& /*other*/) noexcept {}
    Stored(Stored&& other) noexcept { other.clear(); }
    Stored& operator=(const Stored& other) noexcept;
    Stored& operator=(Stored&& other) noexcept;
    ~Stored() = default;

    void swap(Stored& other) noexcept;
    void clear() noexcept;
    [[nodiscard]] bool is_made() const { return !slots_.empty(); }
    /// Whether the table is made and has room for this many more priorities.
    [[nodiscard]] bool has_room(std::uint64_t more) const;
    /// Start again, with room for this many priorities.
    void reset(std::uint64_t priorities);
    [[nodiscard]] bool contains(std::uint64_t priority) const;
    /// Add a priority, for which there is room; false if it is already there.
    bool insert(std::uint64_t priority);

   private:
    [[nodiscard]] std::size_t slot_of(std::uint64_t priority) const;

    std::vector<std::uint64_t> slots_;  // 0 is an empty slot; the number of slots is a power of two
    std::uint64_t used_ = 0;
    std::uint64_t salt_ = 0;
    bool has_zero_ = false;
  };

  /// The groups and clusters of rows; either may be empty.
  struct KeyColumns {
    std::span<const std::int64_t> groups;
    std::span<const std::int64_t> clusters;

    [[nodiscard]] RowKeys keys() const;
    [[nodiscard]] SampleKey of(std::size_t row) const;
  };

  [[nodiscard]] std::uint64_t key() const;
  void take_keys(RowKeys keys);
  void add_keyed(const KeyColumns& columns, RowNumbers numbers, std::span<const double> scores,
                 std::span<const bool> above, std::span<const double> weights);
  template <class AddRow>
  void add_samples(const KeyColumns& columns, std::size_t rows, const AddRow& add_row);
  void check_merge(const Calibration& other) const;
  void add_batch(Calibration&& added, RowNumbers numbers, std::size_t rows);
  [[nodiscard]] bool may_have(const NumberRange& numbers) const;
  [[nodiscard]] std::uint64_t entries() const;
  void index_rows(std::uint64_t more);
  void insert_rows(const Calibration& added);
  [[noreturn]] void refuse_duplicate(std::uint64_t priority, std::vector<SampleKey> parts) const;
  [[nodiscard]] std::uint64_t max_entries() const;
  void make_room(Sample& sample, std::size_t rows) const;
  void append(Sample& sample, const Entry& entry) const;
  void compact(Sample& sample) const;
  [[nodiscard]] std::vector<Entry> kept(const Sample& sample) const;
  [[nodiscard]] std::map<SampleKey, std::vector<Entry>> kept() const;
  [[nodiscard]] std::ranges::subrange<Samples::const_iterator> samples_of(std::int64_t group) const;
  [[nodiscard]] std::string stored_label(std::int64_t group) const;

  Options options_;
  Samples samples_;                             // one for rows without groups and clusters
  std::map<std::int64_t, std::string> labels_;  // of the groups whose label is not an integer
  RowKeys keys_ = RowKeys::kNone;
  NumberRange numbers_;
  Stored stored_;
};

/// A score with its side of the prediction: a position in the order of signed scores, from far below the prediction
/// (large scores first) to far above it (large scores last).
struct SidedScore {
  double score = 0;    ///< B
  bool above = false;  ///< whether the position is above the prediction

  friend bool operator==(const SidedScore& a, const SidedScore& b) = default;  ///< same score and side
};

/// The scores of a calibration, sorted once, for quantiles of any level, one-sided quantiles and p-values.
///
/// Small groups can share one quantile. With `pool_below` N > 0, a group with at least N rows has a quantile of its
/// own. All other groups, including those without any row, take the quantile of the rest: the rows of all groups with
/// at most N rows. The rest includes groups of exactly N rows because the new row counts as well: with it, a group of
/// at most N rows out of n + 1 is small, whichever of its rows is the new one. The rows of small groups are then
/// exchangeable, and coverage holds on average over them (docs/groups.md). It depends on labels alone which groups are
/// small.
///
/// With clusters, ClusterRule::form states what counts (docs/groups.md). Both forms are valid for rows of a new cluster
/// if clusters are exchangeable, and rows within a cluster as well.
/// - rows: every row has weight 1, and the new row the size of its cluster. A row of the new population is a row of a
///   cluster that is drawn in proportion to its size, so clusters are exchangeable with these weights. The size is
///   given as the test weight, or else ClusterRule::max_size.
/// - clusters: hierarchical conformal prediction (Lee, Barber and Willett 2023). Every cluster has weight 1, shared
///   equally by its rows, and so has the new row.
/// With groups as well, both hold in each group, with the part of each cluster that lies in the group in place of the
/// cluster.
///
/// Invariant: immutable. Thread safety: full.
class SortedScores {
 public:
  SortedScores() = default;
  /// Throws kInvalidArgument for a training-conditional guarantee with weights, clusters or pooled groups: that
  /// guarantee needs independent draws of one distribution, which these rows are not. Throws
  /// kInvalidArgument for pooled groups with weights, and if groups keep fewer than `pool_below` rows.
  explicit SortedScores(const Calibration& calibration, const Guarantee& guarantee = {}, std::uint64_t pool_below = 0,
                        const ClusterRule& clusters = {});

  /// The group whose quantile the rows of a group take: itself, kRestGroup if it is pooled, or kUnseenGroup if it has
  /// no quantile.
  [[nodiscard]] std::int64_t quantile_group(std::int64_t group) const;

  /// Number of scores of the quantile of a group.
  [[nodiscard]] std::size_t rows(std::int64_t group) const;
  /// Whether quantiles of this group can be finite: it has calibration rows, or takes the quantile of the rest.
  [[nodiscard]] bool has_group(std::int64_t group) const;
  /// Whether quantiles need a test_weight, because calibration rows have weights.
  [[nodiscard]] bool needs_test_weight() const { return weighted_; }
  /// Whether quantiles need a group.
  [[nodiscard]] bool needs_group() const { return by_group_; }
  /// Number of clusters of the calibration; 0 without clusters.
  [[nodiscard]] std::uint64_t clusters() const { return clusters_; }
  [[nodiscard]] const Guarantee& guarantee() const { return guarantee_; }  ///< that determines the ranks
  /// The groups with a quantile of their own, ascending.
  [[nodiscard]] std::vector<std::int64_t> groups() const;

  /// Return the conformal quantile q of this level: the guarantee().rank(level, n)-th smallest of the n scores of the
  /// group. +infinity, or an error if requested, if there are too few rows; always +infinity for an unknown group.
  ///
  /// With weights, q is the smallest score at which the cumulative weight reaches level * (total weight + test_weight):
  /// split conformal prediction under covariate shift (Tibshirani et al. 2019). test_weight is the likelihood ratio at
  /// the row to predict, on the scale of the calibration weights; larger values give wider intervals. Throws
  /// kInvalidArgument if it is NaN or not positive, or missing for a calibration with weights. If rows of clusters
  /// count, it is the number of rows of the cluster of the row to predict, at least 1.
  [[nodiscard]] double quantile(const Level& level, std::int64_t group = 0,
                                std::optional<double> test_weight = std::nullopt,
                                WhenTooFew when_too_few = WhenTooFew::kInfinite) const;

  /// Write quantile(levels[j], groups[i], test_weights[i]) to out (n x k); groups and test weights may be empty.
  /// Without test weights, each group is computed once.
  void quantiles(std::span<const std::int64_t> groups, std::span<const double> test_weights,
                 std::span<const Level> levels, MutableMatrixView out,
                 WhenTooFew when_too_few = WhenTooFew::kInfinite) const;

  /// Return the position of a one-sided bound among the signed scores: y lies below it with probability `level` (with
  /// `below` false, above it). Signed scores increase with y for every x, so their ranks are exchangeable as well: the
  /// position of an upper bound is the guarantee().rank(level, n)-th from below, that of a lower bound the same from
  /// above, and either may lie on any side of the prediction. The guarantee holds for each such bound separately.
  /// With too few rows, and for an unknown group, the score is +infinity on the side away from the rows.
  [[nodiscard]] SidedScore sided_quantile(const Level& level, bool below, std::int64_t group = 0,
                                          std::optional<double> test_weight = std::nullopt) const;

  /// Return the p-value of a row with this score: (1 + #{scores >= score}) / (n + 1), or the weighted equivalent.
  /// 1 for an unknown group and for a score of NaN. p-values are always marginal.
  [[nodiscard]] double p_value(double score, std::int64_t group = 0,
                               std::optional<double> test_weight = std::nullopt) const;

 private:
  // An unevaluated sum of two doubles, exact for sums of integers or of equal weights.
  struct Sum {
    double high = 0;
    double low = 0;
  };

  // Ascending scores of some rows, with their positions in an order of the whole group.
  struct Ranked {
    std::vector<double> scores;
    std::vector<Sum> weights;  // cumulative weights in that order; empty if every weight is 1
    Sum before;                // weight of the rows before the first

    [[nodiscard]] Sum weight_up_to(std::size_t i) const;
  };

  struct Group {
    Ranked all;
    Ranked above;          // rows above their prediction, ordered after the others
    Ranked below;          // rows below their prediction, ordered after the others
    Sum total;             // weight of all rows
    int weight_shift = 0;  // weights are stored times 2^weight_shift, so that their sum cannot overflow
    double unit = 1;       // stored weight of a test weight of 1; 1 without clusters
    double remainder =
        0;  // how much sums from the last row on may be too large, because shares of clusters are rounded
    std::uint64_t clusters = 0;  // with rows in the group; 0 without clusters

    /// The weight of a new row as weights are stored.
    [[nodiscard]] double stored(double test_weight) const;
  };

  class Threshold;

  static void accumulate(Sum& sum, double weight);
  static Group rank_rows(std::span<const Calibration::Entry> entries);
  static Group rank_clusters(std::span<const std::vector<Calibration::Entry>> clusters,
                             std::span<const std::uint64_t> sizes, ClusterForm form);
  void rank_groups_of_clusters(const Calibration& calibration, const ClusterRule& rule);

  [[nodiscard]] const Group* find(std::int64_t group) const;
  [[nodiscard]] double checked_weight(const char* where, std::optional<double> test_weight) const;

  std::shared_ptr<const internal::GroupIndex> index_;  // of the groups with a quantile of their own
  std::vector<Group> groups_;
  std::optional<Group> rest_;  // if small groups are pooled
  bool weighted_ = false;
  bool by_group_ = false;
  std::uint64_t clusters_ = 0;
  ClusterForm form_ = ClusterForm::kRows;
  double new_weight_ = 1;  // of a new row without a given one: the largest size of clusters if their rows count
  Guarantee guarantee_;
};

}  // namespace widthwise
