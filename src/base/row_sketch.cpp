#include <widthwise/row_sketch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/hash.hpp"
#include "base/message.hpp"
#include "base/words.hpp"

namespace widthwise {
namespace {

using internal::WordReader;
using internal::WordWriter;

constexpr std::uint64_t kMagic = 0x0048435445575752U;  // "RWWETCH", zero-terminated
constexpr std::uint64_t kFormat = 1;
constexpr std::size_t kHeaderWords = 7;
constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 63U;
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kTargetKey = 0x746567726174U;  // "target": the role of the column, independent of its name
constexpr std::size_t kBlockRows = 1024;

std::uint64_t canonical_bits(double value) {
  if (value == 0) return 0;
  if (std::isnan(value)) return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  return std::bit_cast<std::uint64_t>(value);
}

}  // namespace

// ---- hashes

RowHasher::RowHasher(std::span<const std::string> features) {
  keys_.reserve(features.size());
  for (const std::string& name : features) {
    keys_.push_back(internal::hash_bytes(mix_bits(name.size() + 1), std::as_bytes(std::span(name))));
  }
}

void RowHasher::hash(MatrixView x, std::span<const double> outcomes, std::span<std::uint64_t> out) const {
  if (x.columns() != keys_.size() || outcomes.size() != x.rows() || out.size() != x.rows()) {
    throw internal::make_error(
        ErrorCode::kShapeMismatch,
        "RowHasher::hash: expected {} columns and as many outcomes as the {} rows, found {} columns and {} outcomes",
        keys_.size(), x.rows(), x.columns(), outcomes.size());
  }
  for (std::size_t i = 0; i < x.rows(); ++i) {
    // A sum, so that the order of the columns does not matter.
    std::uint64_t sum = mix_bits(canonical_bits(outcomes[i]) ^ kTargetKey);
    const std::span<const double> row = x.row(i);
    for (std::size_t j = 0; j < row.size(); ++j) sum += mix_bits(canonical_bits(row[j]) ^ keys_[j]);
    out[i] = mix_bits(sum);
  }
}

// ---- sketches

RowSketch::RowSketch(std::size_t capacity) : capacity_(capacity) {
  if (capacity == 0) throw Error(ErrorCode::kInvalidArgument, "RowSketch: expected a capacity of at least 1, found 0");
}

void RowSketch::make_room(std::size_t rows) {
  const std::size_t maximum = capacity_ + std::max(capacity_, kBlockRows) + 1;
  const std::size_t needed = std::min(entries_.size() + rows, maximum);
  if (needed > entries_.capacity()) entries_.reserve(std::max(needed, std::min(2 * entries_.capacity(), maximum)));
}

void RowSketch::add(std::span<const std::uint64_t> hashes) {
  make_room(hashes.size());
  rows_ += hashes.size();
  for (const std::uint64_t hash : hashes) {
    if (hash > limit_) continue;
    entries_.push_back({hash, 1});
    // Sort when there are as many new hashes as kept ones, so that the cost per row is that of a sort.
    if (entries_.size() - settled_ > std::max(capacity_, kBlockRows)) settle();
  }
}

void RowSketch::add(const RowHasher& hasher, MatrixView x, std::span<const double> outcomes) {
  if (outcomes.size() != x.rows()) hasher.hash(x, outcomes, {});  // throws
  make_room(x.rows());
  std::array<std::uint64_t, kBlockRows> hashes{};
  for (std::size_t first = 0; first < x.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, x.rows() - first);
    const std::span<std::uint64_t> block(hashes.data(), count);
    hasher.hash(x.slice(first, count), outcomes.subspan(first, count), block);
    add(block);
  }
}

void RowSketch::merge(const RowSketch& other) {
  const RowSketch more = other.settled();
  entries_.reserve(entries_.size() + more.entries_.size());
  capacity_ = std::min(capacity_, more.capacity_);
  limit_ = std::min(limit_, more.limit_);
  rows_ += more.rows_;
  entries_.insert(entries_.end(), more.entries_.begin(), more.entries_.end());
  settled_ = 0;
  settle();
}

RowSketch RowSketch::settled() const {
  RowSketch copy = *this;
  copy.settle();
  return copy;
}

void RowSketch::settle() {
  if (settled_ == entries_.size()) return;
  const auto middle = entries_.begin() + static_cast<std::ptrdiff_t>(settled_);
  const auto by_hash = [](const Entry& a, const Entry& b) { return a.hash < b.hash; };
  std::sort(middle, entries_.end(), by_hash);
  std::inplace_merge(entries_.begin(), middle, entries_.end(), by_hash);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries_.size() && entries_[i].hash <= limit_; ++i) {
    if (kept > 0 && entries_[kept - 1].hash == entries_[i].hash) {
      entries_[kept - 1].count += entries_[i].count;
    } else if (kept == capacity_) {
      limit_ = entries_[kept - 1].hash;
    } else {
      entries_[kept++] = entries_[i];
    }
  }
  entries_.resize(kept);
  settled_ = kept;
}

// In 64-bit words: magic, format, capacity, rows, limit, number of hashes, number of those of several rows;
// the hashes, ascending; of each hash of several rows, ascending, its index among the hashes and its rows; a checksum.
std::vector<std::byte> RowSketch::serialise() const {
  const RowSketch sketch = settled();
  const auto repeated = static_cast<std::size_t>(
      std::ranges::count_if(sketch.entries_, [](const Entry& entry) { return entry.count > 1; }));
  WordWriter writer(kHeaderWords + sketch.entries_.size() + 2 * repeated);
  for (const std::uint64_t word : {kMagic, kFormat, std::uint64_t{capacity_}, rows_, sketch.limit_,
                                   std::uint64_t{sketch.entries_.size()}, std::uint64_t{repeated}}) {
    writer.put(word);
  }
  for (const Entry& entry : sketch.entries_) writer.put(entry.hash);
  for (std::size_t i = 0; i < sketch.entries_.size(); ++i) {
    if (sketch.entries_[i].count == 1) continue;
    writer.put(std::uint64_t{i});
    writer.put(sketch.entries_[i].count);
  }
  return std::move(writer).finish();
}

RowSketch RowSketch::deserialise(std::span<const std::byte> bytes) {
  WordReader reader(bytes, "RowSketch::deserialise");
  reader.expect_header(kMagic, kFormat, "a sketch of rows");
  reader.verify_checksum();
  const std::uint64_t capacity = reader.get();
  reader.check(capacity > 0, "the capacity is 0");
  RowSketch sketch(capacity);
  sketch.rows_ = reader.get();
  sketch.limit_ = reader.get();
  const std::uint64_t distinct = reader.get();
  const std::uint64_t repeated = reader.get();
  reader.check(sketch.rows_ <= kMaxRows, "there are more than 2^63 rows");
  reader.check(distinct <= capacity && repeated <= distinct, "there are more hashes than the capacity");
  reader.check(distinct <= reader.words_left() && reader.words_left() - distinct == 2 * repeated,
               "the number of words does not match the number of hashes");
  sketch.entries_.resize(distinct);
  for (std::size_t i = 0; i < distinct; ++i) {
    sketch.entries_[i] = {reader.get(), 1};
    reader.check(i == 0 || sketch.entries_[i - 1].hash < sketch.entries_[i].hash, "the hashes are not in order");
  }
  sketch.settled_ = sketch.entries_.size();
  std::uint64_t counted = distinct;
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < repeated; ++i) {
    const std::uint64_t place = reader.get();
    const std::uint64_t count = reader.get();
    reader.check(place >= next && place < distinct, "the positions of repeated rows are not in order");
    reader.check(count > 1 && count <= kMaxRows, "a row is marked as repeated but occurs once");
    reader.check(counted <= sketch.rows_, "there are more rows than were added");
    counted += count - 1;
    sketch.entries_[place].count = count;
    next = place + 1;
  }
  const bool whole = sketch.limit_ == kNoLimit;
  reader.check(whole || (distinct == capacity && sketch.entries_.back().hash == sketch.limit_),
               "the limit does not match the hashes");
  reader.check(whole ? counted == sketch.rows_ : counted < sketch.rows_,
               "the number of rows does not match the hashes");
  return sketch;
}

namespace {

constexpr double kLogAlarm = -20.723265836946411;  // ln 1e-9

/// The number of contents with k rows, by k.
using ContentCounts = std::map<std::uint64_t, std::uint64_t>;

double contents_with(const ContentCounts& classes, std::uint64_t k) {
  const auto found = classes.find(k);
  return found == classes.end() ? 0 : static_cast<double>(found->second);
}

/// n ln(w), where 0 ln(0) is 0.
double log_power(double n, double w) { return n == 0 ? 0 : n * std::log(w); }

/// ln of the mean of some test martingales for contents with k rows.
///
/// Let contents have independent Poisson numbers of rows, with any means. A content with k - 1, k or k + 1 rows has the
/// factor 1 - d, 1 + 2 sqrt(d e k / (k + 1)) or 1 - e, and any other content has the factor 1. The mean of a factor is
/// at most 1 for every mean of the Poisson distribution, because the quadratic polynomial
/// d - 2 sqrt(d e k / (k + 1)) m / k + e m^2 / (k (k + 1)) of this mean m has no sign change.
double log_evidence(const ContentCounts& classes, std::uint64_t k) {
  const double fewer = contents_with(classes, k - 1);
  const double same = contents_with(classes, k);
  const double more = contents_with(classes, k + 1);
  const auto number = static_cast<double>(k);
  constexpr int kSteps = 11;  // d and e from 1 down to 4^-10
  double maximum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double d = std::pow(4.0, -i);
    for (int j = 0; j < kSteps; ++j) {
      const double e = std::pow(4.0, -j);
      const double gain = std::log1p(2 * std::sqrt(d * e * number / (number + 1)));
      maximum = std::max(maximum, log_power(fewer, 1 - d) + same * gain + log_power(more, 1 - e));
    }
  }
  return maximum - std::log(static_cast<double>(kSteps) * kSteps);
}

}  // namespace

double RowRepeats::share() const { return rows == 0 ? 0 : static_cast<double>(copies) / static_cast<double>(rows); }

bool RowRepeats::found() const { return log_probability < kLogAlarm; }

RowRepeats repeats(const RowSketch& table) {
  RowRepeats result;
  ContentCounts classes;
  for (const RowSketch::Entry& entry : table.entries()) {
    result.rows += entry.count;
    result.copies += entry.count - 1;
    ++classes[entry.count];
  }
  double maximum = 0;
  for (const auto& [k, contents] : classes) {
    // The weights 1 / k^2 of the numbers k from 2 sum to less than 1.
    if (k > 1) maximum = std::max(maximum, log_evidence(classes, k) - 2 * std::log(static_cast<double>(k)));
  }
  // Markov's inequality for Poisson numbers, divided by the probability that they sum to the number of rows, which is
  // at least 1 / (e sqrt(rows)).
  const double given = 1 + std::log(static_cast<double>(std::max<std::uint64_t>(table.rows(), 1))) / 2;
  result.log_probability = std::min(0.0, given - maximum);
  return result;
}

}  // namespace widthwise
