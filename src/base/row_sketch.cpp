#include <widthwise/row_sketch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
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
// the hashes, ascending; of each hash of several rows, ascending, its place among the hashes and its rows; a checksum.
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

}  // namespace widthwise
