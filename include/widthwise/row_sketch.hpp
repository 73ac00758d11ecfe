#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <widthwise/matrix_view.hpp>

namespace widthwise {

/// Content hashes of rows: a 64-bit number per row from its features, each under the name of its column, and its
/// outcome. The order of the columns does not matter, -0 equals 0 and all NaN are equal.
/// Thread safety: full; immutable.
class RowHasher {
 public:
  explicit RowHasher(std::span<const std::string> features);

  /// Write the hashes of n rows x (n x features, in the order of the names) with outcomes y (n) to out (n).
  /// Throws kShapeMismatch.
  void hash(MatrixView x, std::span<const double> outcomes, std::span<std::uint64_t> out) const;

 private:
  std::vector<std::uint64_t> keys_;
};

/// A set of rows by their content hashes, in bounded memory: the `capacity` smallest distinct hashes, with the number
/// of rows of each (bottom-k sketch; Broder 1997). A function of the multiset of rows alone: neither their order nor
/// the way they were split and merged changes it.
///
/// Invariant: every row whose hash is at most limit() is counted.
class RowSketch {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << 18U;

  /// A distinct hash and the number of rows that have it.
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// Throws kInvalidArgument for a capacity of 0.
  explicit RowSketch(std::size_t capacity = kCapacity);

  void add(std::span<const std::uint64_t> hashes);

  /// Hash n rows and add them.
  void add(const RowHasher& hasher, MatrixView x, std::span<const double> outcomes);

  /// Add the rows of another sketch. The capacity becomes the smaller of the two.
  void merge(const RowSketch& other);

  [[nodiscard]] bool empty() const { return rows_ == 0; }
  /// Rows added, whether their hashes are kept or not.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  /// The greatest hash that is counted: 2^64 - 1 unless there were more distinct rows than the capacity.
  [[nodiscard]] std::uint64_t limit() const { return settled().limit_; }
  /// The hashes kept, ascending.
  [[nodiscard]] std::vector<Entry> entries() const { return settled().entries_; }

  /// The sketch as bytes with a checksum. Equal sketches give equal bytes.
  [[nodiscard]] std::vector<std::byte> serialise() const;
  /// Read the bytes back, trusting nothing. Throws kBadData, saying what is wrong.
  [[nodiscard]] static RowSketch deserialise(std::span<const std::byte> bytes);

  friend bool operator==(const RowSketch& a, const RowSketch& b) {
    return a.capacity_ == b.capacity_ && a.rows_ == b.rows_ && a.entries() == b.entries();
  }

 private:
  [[nodiscard]] RowSketch settled() const;
  void settle();
  void make_room(std::size_t rows);

  std::size_t capacity_;
  std::uint64_t rows_ = 0;
  std::uint64_t limit_ = std::numeric_limits<std::uint64_t>::max();
  std::vector<Entry> entries_;  // ascending and distinct up to settled_, then in the order of arrival
  std::size_t settled_ = 0;
};

/// How many of some rows coincide with rows seen before, and whether chance explains it.
///
/// Of the rows with the smallest hashes, each distinct content v occurs a_v times among the known rows and b_v times
/// among the others, c_v = a_v + b_v in all. If the two samples are independent, of any two distributions, then given
/// the c_v the sum of a_v b_v / c_v is stochastically at most what a_v ~ Binomial(c_v, 1/2) gives: rows that repeat in
/// the population repeat within each sample, too, and not only between them. Copies make the sum larger.
/// docs/mathematics.md has the proof, the bound and what it can find.
struct RowOverlap {
  std::uint64_t rows = 0;      ///< of the others, counted
  std::uint64_t seen = 0;      ///< of these, rows that coincide with a known row each
  double log_probability = 0;  ///< bound on the natural logarithm of the probability of such an overlap by chance

  /// Share of the rows that coincide with known rows; 0 when there are none.
  [[nodiscard]] double share() const;
  /// The overlap is more than chance: false alarms are rarer than 1e-9.
  [[nodiscard]] bool found() const;
};

/// Compare rows with those known. A cost of the capacity, whatever the number of rows.
[[nodiscard]] RowOverlap overlap(const RowSketch& known, const RowSketch& others);

}  // namespace widthwise
