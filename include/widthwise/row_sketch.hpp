#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <widthwise/matrix_view.hpp>

namespace widthwise {

/// Content hashes of rows: a 64-bit number per row, computed from its features, each with its column name, and its
/// outcome. The order of the columns does not matter, -0 equals 0, and all NaN are equal.
/// Thread safety: full; immutable.
class RowHasher {
 public:
  /// `features` names the columns of x, in order; they are not kept.
  explicit RowHasher(std::span<const std::string> features);

  /// Write the hashes of n rows x (n x features, in the order of the names) with outcomes y (n) to out (n).
  /// Throws kShapeMismatch.
  void hash(MatrixView x, std::span<const double> outcomes, std::span<std::uint64_t> out) const;

 private:
  std::vector<std::uint64_t> keys_;
};

/// A set of rows by content hash, in bounded memory: the `capacity` smallest distinct hashes, each with its number of
/// rows (bottom-k sketch; Broder 1997). It depends only on the multiset of rows, not on their order or on how they were
/// split and merged.
///
/// Invariant: every row whose hash is at most limit() is counted.
class RowSketch {
 public:
  /// Default capacity: 2^18 distinct rows.
  static constexpr std::size_t kCapacity = std::size_t{1} << 18U;

  /// A distinct hash and its number of rows.
  struct Entry {
    std::uint64_t hash = 0;                                        ///< content hash, see RowHasher
    std::uint64_t count = 0;                                       ///< rows with this content, at least 1
    friend bool operator==(const Entry&, const Entry&) = default;  ///< same hash and count
  };

  /// Throws kInvalidArgument for a capacity of 0.
  explicit RowSketch(std::size_t capacity = kCapacity);

  /// Allocate memory for this many rows, which are then added without failing. If memory runs out, the sketch is
  /// unchanged.
  void make_room(std::size_t rows);

  /// Add one row per hash, in any order; equal hashes count as equal rows.
  void add(std::span<const std::uint64_t> hashes);

  /// Hash n rows and add them.
  void add(const RowHasher& hasher, MatrixView x, std::span<const double> outcomes);

  /// Add the rows of another sketch. The capacity becomes the smaller of the two.
  void merge(const RowSketch& other);

  [[nodiscard]] bool empty() const { return rows_ == 0; }  ///< no row was added
  /// Number of rows added, including those whose hashes are not kept.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }  ///< maximum number of distinct hashes
  /// The largest counted hash: 2^64 - 1 unless there were more distinct rows than the capacity.
  [[nodiscard]] std::uint64_t limit() const { return settled().limit_; }
  /// The kept hashes, ascending.
  [[nodiscard]] std::vector<Entry> entries() const { return settled().entries_; }

  /// The sketch as bytes with a checksum. Equal sketches give equal bytes.
  [[nodiscard]] std::vector<std::byte> serialise() const;
  /// Read the bytes back and validate them in full. Throws kBadData with the problem found.
  [[nodiscard]] static RowSketch deserialise(std::span<const std::byte> bytes);

  /// Whether both have the same capacity and the same rows.
  friend bool operator==(const RowSketch& a, const RowSketch& b) {
    return a.capacity_ == b.capacity_ && a.rows_ == b.rows_ && a.entries() == b.entries();
  }

 private:
  [[nodiscard]] RowSketch settled() const;
  void settle();

  std::size_t capacity_;
  std::uint64_t rows_ = 0;
  std::uint64_t limit_ = std::numeric_limits<std::uint64_t>::max();
  std::vector<Entry> entries_;  // ascending and distinct up to settled_, then in the order of arrival
  std::size_t settled_ = 0;
};

/// The number of new rows that coincide with known rows, and a test whether this is more than chance.
///
/// Among the rows with the smallest hashes, let each distinct content v occur a_v times among the known rows and b_v
/// times among the new rows, c_v = a_v + b_v in total. If the two samples are independent, from any two distributions,
/// then given the c_v the sum of a_v b_v / c_v is stochastically at most that of a_v ~ Binomial(c_v, 1/2): rows that
/// repeat in the population repeat within each sample as well as between them. Copies make the sum larger.
/// docs/mathematics.md has the proof, the bound and the power.
struct RowOverlap {
  /// Fewer rows are never found: each of them coincides by chance with a probability of 1/2 or more.
  static constexpr std::uint64_t kMinRows = 30;

  std::uint64_t rows = 0;      ///< number of new rows that are counted
  std::uint64_t seen = 0;      ///< number of these that coincide with a known row
  double log_probability = 0;  ///< bound on the log-probability of such an overlap by chance

  /// Share of the new rows that coincide with known rows; 0 if there are no rows.
  [[nodiscard]] double share() const;
  /// Whether the overlap is more than chance, with a false-alarm rate below 1e-9.
  [[nodiscard]] bool found() const;
};

/// Compare new rows with known rows. The cost depends on the capacity, not on the number of rows.
[[nodiscard]] RowOverlap overlap(const RowSketch& known, const RowSketch& others);

/// The number of rows of one table that repeat other rows, and a test whether this is more than chance.
///
/// Rows of discrete columns coincide by chance, but then some contents occur once, some twice, some three times: if
/// rows are drawn independently from any distribution, contents with k rows are bounded by those with k - 1 and k + 1
/// rows. A join that multiplies rows, oversampling by a factor or a table that was appended twice leave gaps in these
/// numbers. docs/mathematics.md has the proof.
///
/// Resampling at random (the bootstrap) leaves no gap: the table is then like one of discrete columns.
struct RowRepeats {
  std::uint64_t rows = 0;      ///< number of rows that are counted
  std::uint64_t copies = 0;    ///< number of these that repeat another counted row: rows less distinct rows
  double log_probability = 0;  ///< bound on the log-probability of such repeats by chance

  /// Share of the rows that repeat another row; 0 if there are no rows.
  [[nodiscard]] double share() const;
  /// Whether rows repeat more regularly than by chance, with a false-alarm rate below 1e-9.
  [[nodiscard]] bool found() const;
};

/// Count the rows of a table that repeat others. The cost depends on the capacity, not on the number of rows.
[[nodiscard]] RowRepeats repeats(const RowSketch& table);

}  // namespace widthwise
