#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>

namespace widthwise {

/// What to do when a level needs more calibration rows than there are.
enum class WhenTooFew {
  kInfinite,  ///< give +infinity: the interval is the whole line, and valid
  kError,     ///< throw kTooFewRows, naming the level and the rows it needs
};

/// Write to out[j] the guarantee.rank(levels[j], n)-th smallest of the n scores, or +infinity when that rank is n + 1.
/// Reorders `scores`; one selection for one level, a multi-selection for many (levels need not be sorted or distinct).
/// Throws kNotFinite on a NaN, naming its position; when it throws, `scores` is as it was.
void conformal_quantiles(std::span<double> scores, std::span<const Level> levels, std::span<double> out,
                         WhenTooFew when_too_few = WhenTooFew::kInfinite, const Guarantee& guarantee = {});

/// One calibration row.
struct CalibrationRow {
  double score = 0;    ///< B; +infinity is allowed, NaN is not
  bool above = false;  ///< y lies above the prediction
  double weight = 1;   ///< likelihood ratio of test to calibration distribution; positive and finite
  std::optional<std::int64_t> group = {};  ///< Mondrian category; empty in a calibration without groups
};

/// The numbers of n rows: counted up from a first one, or one given for each. Borrows what it is given.
class RowNumbers {
 public:
  // Implicit: a function that takes these takes either.
  RowNumbers(std::uint64_t first) : first_(first) {}                                                        // NOLINT
  RowNumbers(std::span<const std::uint64_t> each) : each_(each), given_(true) {}                            // NOLINT
  RowNumbers(const std::vector<std::uint64_t>& each) : RowNumbers(std::span<const std::uint64_t>(each)) {}  // NOLINT

  /// True when every row has a number of its own.
  [[nodiscard]] bool given() const { return given_; }
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const { return given_ ? each_[i] : first_ + i; }

  /// The numbers of the rows from `begin` on, `count` of them.
  [[nodiscard]] RowNumbers part(std::size_t begin, std::size_t count) const;

  /// Throw kShapeMismatch unless there are numbers for n rows, kInvalidArgument when they need more than 64 bits; the
  /// message begins with `where`.
  void check(std::size_t n, const char* where) const;

 private:
  std::uint64_t first_ = 0;
  std::span<const std::uint64_t> each_;
  bool given_ = false;
};

/// A uniform sample of calibration scores, exact up to `capacity` rows a group (docs/mathematics.md): it keeps the rows
/// with the smallest random priorities, so the same rows give the same bytes in whatever order and over however many
/// machines they are added. A uniform subsample of exchangeable scores is still exchangeable with the test score: the
/// guarantee stays exact, no quantile is ever approximated.
///
/// A row's priority is a bijective mix of its row number under the seed, so two rows of one priority are one row added
/// twice: that is an error (kDuplicateRows), because rows counted twice make intervals too narrow. It is found, also
/// across groups, whenever both copies would be kept, and thrown by whatever reads the sample: rows (its own group
/// only), serialise, operator== and the constructor of SortedScores.
///
/// Either every row has a group or none has. Rows without groups would otherwise be mixed with those of group 0, whose
/// coverage would then be that of neither: add and merge throw kInvalidArgument and leave the sample as it was.
///
/// Exception safety: add and merge do all or nothing, also when memory ends.
/// Thread safety: const methods may run concurrently; add and merge need exclusive access.
class Calibration {
 public:
  struct Options {
    std::uint64_t capacity = 1'000'000;  ///< rows kept per group; at 1e6 sampling moves the coverage by about 0.0003
    std::uint64_t seed = 0;
  };

  Calibration();
  explicit Calibration(const Options& options);

  /// Add the row with this number; numbers are unique over everything that is ever merged (a position in the file,
  /// a key), and must not depend on y. Throws kNotFinite or kInvalidArgument for a row that cannot be, and leaves the
  /// sample as it was.
  void add(std::uint64_t row_number, const CalibrationRow& row);

  /// Add scores.size() rows of these numbers, or numbered from a first: all of them or, when one is refused, none. The
  /// other spans are of the same size, or empty for the default. A calibration with weights takes rows with weights.
  void add(RowNumbers numbers, std::span<const double> scores, std::span<const bool> above = {},
           std::span<const double> weights = {}, std::span<const std::int64_t> groups = {});

  /// Take in the rows of another sample with the same options.
  void merge(const Calibration& other);

  /// The bytes of this sample: equal for equal sets of rows. Little-endian, versioned, with a checksum.
  [[nodiscard]] std::vector<std::byte> serialise() const;

  /// Read them back; throws kBadData, saying what is wrong, for anything serialise cannot have written.
  [[nodiscard]] static Calibration deserialise(std::span<const std::byte> bytes);

  [[nodiscard]] const Options& options() const { return options_; }

  /// Rows added so far, kept or not.
  [[nodiscard]] std::uint64_t rows_seen() const;

  /// Rows kept, over all groups.
  [[nodiscard]] std::uint64_t rows_kept() const;

  /// The groups seen, ascending; {0} for rows without groups.
  [[nodiscard]] std::vector<std::int64_t> groups() const;

  /// True when the rows added have groups. Also when all of them are of group 0.
  [[nodiscard]] bool grouped() const { return grouped_; }

  /// True when any row added has a weight other than 1, kept or not.
  [[nodiscard]] bool weighted() const;

  /// The number of a row that was added twice, if one is found: at least whenever reading the sample would throw.
  [[nodiscard]] std::optional<std::uint64_t> duplicate() const;

  /// The rows kept of one group, by ascending priority; empty for a group never seen.
  [[nodiscard]] std::vector<CalibrationRow> rows(std::int64_t group) const;

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
    std::vector<Entry> entries;  // the rows kept and some more, in no order; see compact
    std::uint64_t seen = 0;
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  // no greater priority can be among the kept
    bool weighted = false;
  };
  struct Reader;

  [[nodiscard]] std::uint64_t key() const;
  void take_groups(bool grouped);
  template <class AddRow>
  void add_groups(std::span<const std::int64_t> groups, const AddRow& add_row);
  [[nodiscard]] std::uint64_t max_entries() const;
  void make_room(Sample& sample, std::size_t rows) const;
  void append(Sample& sample, const Entry& entry) const;
  void compact(Sample& sample) const;
  [[nodiscard]] std::vector<Entry> kept(std::int64_t group, const Sample& sample) const;
  [[nodiscard]] std::map<std::int64_t, std::vector<Entry>> kept() const;

  Options options_;
  std::map<std::int64_t, Sample> samples_;
  bool grouped_ = false;
};

/// The scores of a calibration, sorted once, ready to answer for many rows: quantiles of any levels, p-values,
/// one-sided quantiles. Invariant: immutable. Thread safety: full.
class SortedScores {
 public:
  SortedScores() = default;
  /// Throws kInvalidArgument for a training-conditional guarantee with weights: its rank is of independent draws of one
  /// distribution, which rows with weights are not.
  explicit SortedScores(const Calibration& calibration, const Guarantee& guarantee = {});

  [[nodiscard]] std::size_t rows(std::int64_t group) const;
  [[nodiscard]] bool has_group(std::int64_t group) const;
  [[nodiscard]] bool weighted() const { return weighted_; }
  [[nodiscard]] const Guarantee& guarantee() const { return guarantee_; }
  [[nodiscard]] std::vector<std::int64_t> groups() const;

  /// Return the q that bounds the scores of this level: the guarantee().rank(level, n)-th smallest of the group's n
  /// scores. With weights, the least score at which the weights of the scores up to it reach level * (sum of all +
  /// test_weight): split conformal under covariate shift (Tibshirani et al. 2019), where test_weight is the likelihood
  /// ratio at the row to predict: positive, and the larger the wider; NaN or not positive throws kInvalidArgument. It
  /// is on the scale of the calibration weights, so a calibration with weights needs one: without, kInvalidArgument is
  /// thrown. +infinity (or an error, as asked) when the rows are too few; +infinity for a group not seen in
  /// calibration, always.
  [[nodiscard]] double quantile(const Level& level, std::int64_t group = 0,
                                std::optional<double> test_weight = std::nullopt,
                                WhenTooFew when_too_few = WhenTooFew::kInfinite) const;

  /// Return the q of the bound below which y lies with probability `level` (or, with `below` false, above which): the
  /// signed scores, ordered from far below the prediction to far above it, have an exchangeable rank too, and the
  /// guarantee is that of each such bound by itself. It bounds the
  /// half-width on the far side of the prediction and never crosses it: where the bound would lie on the near side, the
  /// prediction itself is reported, q = -infinity.
  [[nodiscard]] double sided_quantile(const Level& level, bool below, std::int64_t group = 0,
                                      std::optional<double> test_weight = std::nullopt) const;

  /// Return the p-value of a row with this score: (1 + #{scores >= score}) / (n + 1), by weight when weighted. 1 for a
  /// group not seen and for a score of NaN. Marginal, whatever the guarantee of quantiles.
  [[nodiscard]] double p_value(double score, std::int64_t group = 0,
                               std::optional<double> test_weight = std::nullopt) const;

 private:
  // An unevaluated sum of two doubles: sums of integers or of equal weights stay exact in it.
  struct Sum {
    double high = 0;
    double low = 0;
  };

  // Scores, ascending, of rows that stand somewhere in an order of the whole group.
  struct Ranked {
    std::vector<double> scores;
    std::vector<Sum> weights;  // of all rows up to each in that order; empty when every weight is 1
    Sum before;                // the weight of the rows before the first

    [[nodiscard]] Sum weight_up_to(std::size_t i) const;
  };

  struct Group {
    Ranked all;
    Ranked above;          // the rows above their prediction; the others come before them
    Ranked below;          // the others; the rows above come before them
    Sum total;             // weight of all
    int weight_shift = 0;  // weights are held times 2^weight_shift, so that their sum cannot overflow
  };

  class Threshold;

  static void accumulate(Sum& sum, double weight);
  static Group rank_rows(const std::vector<Calibration::Entry>& entries);

  [[nodiscard]] const Group* find(std::int64_t group) const;
  [[nodiscard]] double checked_weight(const char* where, std::optional<double> test_weight) const;

  std::map<std::int64_t, Group> groups_;
  bool weighted_ = false;
  Guarantee guarantee_;
};

}  // namespace widthwise
