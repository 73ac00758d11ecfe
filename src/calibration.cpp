#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "text.hpp"

namespace widthwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Scores of -0 and 0 are equal, so they must also have equal bytes.
double without_negative_zero(double score) { return score + 0.0; }

/// Return the position of the first NaN, or values.size().
std::size_t find_nan(std::span<const double> values) {
  // Eight numbers a branch and two a comparison: this pass must be cheap beside one selection.
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    const double* v = values.data() + i;
    if (static_cast<int>(std::isunordered(v[0], v[1])) | static_cast<int>(std::isunordered(v[2], v[3])) |
        static_cast<int>(std::isunordered(v[4], v[5])) | static_cast<int>(std::isunordered(v[6], v[7]))) {
      break;
    }
  }
  while (i < values.size() && !std::isnan(values[i])) ++i;
  return i;
}

/// Quickselect for several ranks at once: partition, then go on only in the parts that hold a rank.
/// Expected O(n log k) for k ranks, O(n log n) at worst.
class MultiSelection {
 public:
  explicit MultiSelection(std::span<double> values) : values_(values), random_(values.size()) {}

  /// Put the values of these ranks (ascending, distinct, from 0) where sorting would.
  void select(std::span<const std::size_t> ranks) {
    select(0, values_.size(), -kInfinity, ranks, 4 * static_cast<int>(std::bit_width(values_.size())));
  }

 private:
  // Below these sizes the standard library is faster than drawing a pivot with care.
  static constexpr std::size_t kSelectedWhole = 2048;
  static constexpr std::size_t kSortedWhole = 64;
  static constexpr std::size_t kGreatestSample = 512;

  // No value in [first, last) is less than `floor`.
  void select(std::size_t first, std::size_t last, double floor, std::span<const std::size_t> ranks, int rounds) {
    while (!ranks.empty()) {
      if (ranks.size() == 1 && last - first <= kSelectedWhole) {
        std::nth_element(values_.data() + first, values_.data() + ranks[0], values_.data() + last);
        return;
      }
      if (last - first <= kSortedWhole || rounds-- == 0) {
        std::sort(values_.data() + first, values_.data() + last);
        return;
      }
      const double pivot = choose_pivot(first, last, ranks);
      // Values tied with the floor would never be split off by "less than": take all of them at once.
      const bool tied = pivot == floor;
      const std::size_t middle = tied ? partition(first, last, [pivot](double value) { return value <= pivot; })
                                      : partition(first, last, [pivot](double value) { return value < pivot; });
      const auto split = static_cast<std::size_t>(std::ranges::lower_bound(ranks, middle) - ranks.begin());
      if (!tied) select(first, middle, floor, ranks.first(split), rounds);
      first = middle;
      floor = pivot;
      ranks = ranks.subspan(split);
    }
  }

  // Without a branch on the values, which no processor could predict: several times faster than std::partition.
  template <class Predicate>
  std::size_t partition(std::size_t first, std::size_t last, Predicate goes_left) {
    double* store = values_.data() + first;
    double* const end = values_.data() + last;
    for (double* next = store; next != end; ++next) {
      const double value = *next;
      *next = *store;
      *store = value;
      store += goes_left(value) ? 1 : 0;
    }
    return static_cast<std::size_t>(store - values_.data());
  }

  double choose_pivot(std::size_t first, std::size_t last, std::span<const std::size_t> ranks) {
    const std::size_t n = last - first;
    std::array<double, kGreatestSample> sample;
    const std::size_t size = std::min(kGreatestSample, n / 16);
    for (std::size_t i = 0; i < size; ++i) {
      sample[i] = values_[first + static_cast<std::size_t>(random_.uniform() * static_cast<double>(n))];
    }
    const double share = (static_cast<double>(ranks[ranks.size() / 2] - first) + 0.5) / static_cast<double>(n);
    double position = share * static_cast<double>(size);
    if (ranks.size() == 1) {
      // Aim a little past the rank, so that the greater side is almost surely the one that is done with.
      const double spread = 1.5 * std::sqrt(share * (1 - share) * static_cast<double>(size));
      position += share > 0.5 ? -spread : spread;
    }
    const auto chosen = static_cast<std::size_t>(std::clamp(position, 0.0, static_cast<double>(size - 1)));
    std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(chosen),
                     sample.begin() + static_cast<std::ptrdiff_t>(size));
    return sample[chosen];
  }

  std::span<double> values_;
  Random random_;
};

std::string rows_text(std::uint64_t rows) { return std::to_string(rows) + (rows == 1 ? " row" : " rows"); }

}  // namespace

void conformal_quantiles(std::span<double> scores, std::span<const Level> levels, std::span<double> out,
                         WhenTooFew when_too_few) {
  if (out.size() != levels.size()) {
    throw Error(ErrorCode::kShapeMismatch, "conformal_quantiles: " + std::to_string(levels.size()) +
                                               " levels but room for " + std::to_string(out.size()) + " quantiles");
  }
  if (const std::size_t position = find_nan(scores); position != scores.size()) {
    throw Error(ErrorCode::kNotFinite, "conformal_quantiles: score " + std::to_string(position) + " is NaN");
  }
  std::vector<std::size_t> ranks;
  ranks.reserve(levels.size());
  for (const Level& level : levels) {
    const std::uint64_t rank = level.rank(scores.size());
    if (rank <= scores.size()) {
      ranks.push_back(rank - 1);
    } else if (when_too_few == WhenTooFew::kError) {
      throw Error(ErrorCode::kTooFewRows, "conformal_quantiles: level " + level.text() + " needs " +
                                              rows_text(level.least_rows()) + ", found " +
                                              std::to_string(scores.size()));
    }
  }
  std::ranges::sort(ranks);
  ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
  MultiSelection(scores).select(ranks);
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const std::uint64_t rank = levels[j].rank(scores.size());
    out[j] = rank <= scores.size() ? without_negative_zero(scores[rank - 1]) : kInfinity;
  }
}

// ---------------------------------------------------------------------------------------------------- Calibration

namespace {

// Row numbers are 64-bit and unique, so no honest count comes near this; it keeps sums of counts from wrapping.
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 63U;

/// Return the inverse of an odd number modulo 2^64. Newton's iteration doubles the correct bits, from 5 up.
constexpr std::uint64_t inverse_of_odd(std::uint64_t odd) {
  std::uint64_t inverse = (3 * odd) ^ 2U;
  for (int i = 0; i < 4; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

/// The inverse of mix_bits: tells the row number of a priority.
constexpr std::uint64_t unmix_bits(std::uint64_t z) {
  z = z ^ (z >> 31U) ^ (z >> 62U);
  z *= inverse_of_odd(0x94d049bb133111ebU);
  z = z ^ (z >> 27U) ^ (z >> 54U);
  z *= inverse_of_odd(0xbf58476d1ce4e5b9U);
  return z ^ (z >> 30U) ^ (z >> 60U);
}
static_assert(unmix_bits(mix_bits(0)) == 0);
static_assert(unmix_bits(mix_bits(0x0123456789abcdefU)) == 0x0123456789abcdefU);
static_assert(mix_bits(unmix_bits(0xfedcba9876543210U)) == 0xfedcba9876543210U);

bool valid_weight(double weight) { return weight > 0 && weight <= std::numeric_limits<double>::max(); }

[[noreturn]] void refuse_row(std::uint64_t row_number, const CalibrationRow& row) {
  const std::string where = "Calibration::add: row " + std::to_string(row_number);
  if (std::isnan(row.score)) throw Error(ErrorCode::kNotFinite, where + ": the score is NaN");
  throw Error(std::isfinite(row.weight) ? ErrorCode::kInvalidArgument : ErrorCode::kNotFinite,
              where + ": expected a positive, finite weight, found " + internal::text_of(row.weight));
}

[[noreturn]] void refuse_duplicate(std::uint64_t row_number, const std::string& where) {
  throw Error(ErrorCode::kDuplicateRows,
              "Calibration: row number " + std::to_string(row_number) + " was added twice, " + where +
                  "; add every row once, and number the rows of each part on from where the part before ended");
}

constexpr std::uint64_t kMagic = 0x0042494c41435757U;  // "WWCALIB", zero-terminated
constexpr std::uint64_t kFormatVersion = 1;
constexpr std::uint64_t kWeightedFlag = 1;
constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kHeaderWords = 5;
constexpr std::size_t kGroupWords = 4;

/// Writes 64-bit words, low byte first, and closes them with a checksum: a chain of bijections, so no change of a
/// single word can go unseen.
class WordWriter {
 public:
  explicit WordWriter(std::size_t words) : bytes_((words + 1) * kWordBytes) {}

  void put(std::uint64_t word) {
    checksum_ = mix_bits(checksum_ ^ word);
    store(word);
  }
  void put(double number) { put(std::bit_cast<std::uint64_t>(number)); }

  [[nodiscard]] std::vector<std::byte> finish() && {
    store(checksum_);
    return std::move(bytes_);
  }

 private:
  void store(std::uint64_t word) {
    for (std::size_t i = 0; i < kWordBytes; ++i) bytes_[position_ + i] = static_cast<std::byte>(word >> (8 * i));
    position_ += kWordBytes;
  }

  std::vector<std::byte> bytes_;
  std::size_t position_ = 0;
  std::uint64_t checksum_ = 0;
};

[[noreturn]] void refuse_bytes(const std::string& what) {
  throw Error(ErrorCode::kBadData, "Calibration::deserialise: " + what);
}

/// Reads what WordWriter wrote, and nothing past its end.
class WordReader {
 public:
  explicit WordReader(std::span<const std::byte> bytes) : bytes_(bytes) {
    if (bytes.empty() || bytes.size() % kWordBytes != 0) {
      refuse_bytes("expected whole 64-bit words, found " + std::to_string(bytes.size()) + " bytes");
    }
  }

  /// Words left before the checksum.
  [[nodiscard]] std::size_t words_left() const { return bytes_.size() / kWordBytes - 1 - next_; }

  std::uint64_t get() {
    if (words_left() == 0) refuse_bytes("the bytes end too early");
    return load(next_++);
  }
  double get_number() { return std::bit_cast<double>(get()); }

  void verify_checksum() const {
    const std::size_t last = bytes_.size() / kWordBytes - 1;
    std::uint64_t checksum = 0;
    for (std::size_t i = 0; i < last; ++i) checksum = mix_bits(checksum ^ load(i));
    if (checksum != load(last)) refuse_bytes("the checksum does not match: the bytes were changed or cut");
  }

 private:
  [[nodiscard]] std::uint64_t load(std::size_t index) const {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < kWordBytes; ++i) {
      word |= std::to_integer<std::uint64_t>(bytes_[index * kWordBytes + i]) << (8 * i);
    }
    return word;
  }

  std::span<const std::byte> bytes_;
  std::size_t next_ = 0;
};

/// Words that hold one bit for each of n rows.
std::size_t bit_words(std::size_t n) { return n / 64 + (n % 64 == 0 ? 0 : 1); }

}  // namespace

Calibration::Calibration() : Calibration(Options{}) {}

Calibration::Calibration(const Options& options) : options_(options) {
  if (options.capacity == 0) {
    throw Error(ErrorCode::kInvalidArgument, "Calibration: expected a capacity of at least 1 row, found 0");
  }
}

// A row's priority is mix_bits(row number ^ key()). Mixing the seed too keeps the samples of two seeds unrelated.
std::uint64_t Calibration::key() const { return mix_bits(options_.seed + 0x9e3779b97f4a7c15U); }

void Calibration::add(std::uint64_t row_number, const CalibrationRow& row) {
  if (std::isnan(row.score) || !valid_weight(row.weight)) refuse_row(row_number, row);
  Sample& sample = samples_[row.group];
  const std::uint64_t priority = mix_bits(row_number ^ key());
  if (priority <= sample.limit) {
    append(sample, {priority, without_negative_zero(row.score), row.weight, row.above});
  }
  ++sample.seen;
  sample.weighted = sample.weighted || row.weight != 1;
}

void Calibration::add(std::uint64_t first_row, std::span<const double> scores, std::span<const bool> above,
                      std::span<const double> weights, std::span<const std::int64_t> groups) {
  const std::size_t n = scores.size();
  const auto check_size = [n](std::size_t size, const char* name) {
    if (size != 0 && size != n) {
      throw Error(ErrorCode::kShapeMismatch, "Calibration::add: " + std::to_string(n) + " scores but " +
                                                 std::to_string(size) + " values of " + name);
    }
  };
  check_size(above.size(), "above");
  check_size(weights.size(), "weights");
  check_size(groups.size(), "groups");
  if (n == 0) return;
  if (first_row > std::numeric_limits<std::uint64_t>::max() - (n - 1)) {
    throw Error(ErrorCode::kInvalidArgument, "Calibration::add: " + std::to_string(n) + " rows numbered from " +
                                                 std::to_string(first_row) + " need numbers of more than 64 bits");
  }
  if (const std::size_t i = find_nan(scores); i != n) refuse_row(first_row + i, {.score = scores[i]});
  if (const auto found = std::ranges::find_if_not(weights, valid_weight); found != weights.end()) {
    refuse_row(first_row + static_cast<std::uint64_t>(found - weights.begin()), {.weight = *found});
  }

  const std::uint64_t key = this->key();
  const auto append_row = [&](Sample& sample, std::size_t i, std::uint64_t priority) {
    append(sample, {priority, without_negative_zero(scores[i]), weights.empty() ? 1.0 : weights[i],
                    !above.empty() && above[i]});
  };
  if (groups.empty()) {
    // Of many rows most are refused by this loop, which looks at nothing but their number.
    Sample& sample = samples_[0];
    std::uint64_t limit = sample.limit;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t priority = mix_bits((first_row + i) ^ key);
      if (priority <= limit) {
        append_row(sample, i, priority);
        limit = sample.limit;
      }
    }
    sample.seen += n;
    sample.weighted = sample.weighted || std::ranges::any_of(weights, [](double weight) { return weight != 1; });
    return;
  }
  // Groups mostly come from a small set: remember where their samples are, as a map takes longer than a hash.
  std::array<std::pair<std::int64_t, Sample*>, 64> recent{};
  for (std::size_t i = 0; i < n; ++i) {
    auto& [group, sample] = recent[static_cast<std::uint64_t>(groups[i]) % recent.size()];
    if (sample == nullptr || group != groups[i]) {
      group = groups[i];
      sample = &samples_[group];
    }
    const std::uint64_t priority = mix_bits((first_row + i) ^ key);
    if (priority <= sample->limit) append_row(*sample, i, priority);
    ++sample->seen;
    if (!weights.empty() && weights[i] != 1) sample->weighted = true;
  }
}

void Calibration::append(Sample& sample, const Entry& entry) const {
  // A quarter more than are kept: a compaction, linear in the capacity, is paid for by the rows that led to it.
  const std::uint64_t spare = std::max<std::uint64_t>(64, options_.capacity / 4);
  const std::uint64_t most = options_.capacity < kMostRows ? options_.capacity + spare : options_.capacity;
  std::vector<Entry>& entries = sample.entries;
  if (entries.size() == entries.capacity() && entries.size() >= most / 2) entries.reserve(most);
  entries.push_back(entry);
  if (entries.size() >= most) compact(sample);
}

void Calibration::compact(Sample& sample) const {
  // One row more than the capacity stays, so that a second copy of the last row kept is still there to be found.
  const auto last = sample.entries.begin() + static_cast<std::ptrdiff_t>(options_.capacity);
  std::ranges::nth_element(sample.entries, last, {}, &Entry::priority);
  sample.limit = last->priority;
  sample.entries.resize(options_.capacity + 1);
}

std::vector<Calibration::Entry> Calibration::kept(std::int64_t group, const Sample& sample) const {
  std::vector<Entry> entries = sample.entries;
  // A sample that was read from bytes is in order already.
  if (!std::ranges::is_sorted(entries, {}, &Entry::priority)) std::ranges::sort(entries, {}, &Entry::priority);
  const std::size_t rows = std::min<std::uint64_t>(entries.size(), options_.capacity);
  const std::span<const Entry> suspects(entries.data(), std::min(entries.size(), rows + 1));
  const auto duplicate = std::ranges::adjacent_find(suspects, {}, &Entry::priority);
  if (duplicate != suspects.end()) {
    refuse_duplicate(unmix_bits(duplicate->priority) ^ key(), "to group " + std::to_string(group));
  }
  entries.resize(rows);
  return entries;
}

std::map<std::int64_t, std::vector<Calibration::Entry>> Calibration::kept() const {
  std::map<std::int64_t, std::vector<Entry>> all;
  for (const auto& [group, sample] : samples_) all.emplace_hint(all.end(), group, kept(group, sample));
  if (all.size() < 2) return all;
  std::vector<std::pair<std::uint64_t, std::int64_t>> owners;
  owners.reserve(rows_kept());
  for (const auto& [group, entries] : all) {
    for (const Entry& entry : entries) owners.emplace_back(entry.priority, group);
  }
  std::ranges::sort(owners);
  const auto duplicate = std::ranges::adjacent_find(owners, {}, &std::pair<std::uint64_t, std::int64_t>::first);
  if (duplicate != owners.end()) {
    refuse_duplicate(unmix_bits(duplicate->first) ^ key(), "to group " + std::to_string(duplicate->second) +
                                                               " and to group " +
                                                               std::to_string(std::next(duplicate)->second));
  }
  return all;
}

void Calibration::merge(const Calibration& other) {
  if (options_.capacity != other.options_.capacity || options_.seed != other.options_.seed) {
    throw Error(ErrorCode::kInvalidArgument,
                "Calibration::merge: expected capacity " + std::to_string(options_.capacity) + " and seed " +
                    std::to_string(options_.seed) + ", found capacity " + std::to_string(other.options_.capacity) +
                    " and seed " + std::to_string(other.options_.seed));
  }
  if (rows_seen() > kMostRows || other.rows_seen() > kMostRows - rows_seen()) {
    throw Error(ErrorCode::kInvalidArgument, "Calibration::merge: more than 2^63 rows");
  }
  if (this == &other) {
    merge(Calibration(other));
    return;
  }
  for (const auto& [group, theirs] : other.samples_) {
    Sample& ours = samples_[group];
    ours.seen += theirs.seen;
    ours.weighted = ours.weighted || theirs.weighted;
    ours.limit = std::min(ours.limit, theirs.limit);
    for (const Entry& entry : theirs.entries) {
      if (entry.priority <= ours.limit) append(ours, entry);
    }
  }
}

std::uint64_t Calibration::rows_seen() const {
  std::uint64_t rows = 0;
  for (const auto& [group, sample] : samples_) rows += sample.seen;
  return rows;
}

std::uint64_t Calibration::rows_kept() const {
  std::uint64_t rows = 0;
  for (const auto& [group, sample] : samples_) rows += std::min<std::uint64_t>(sample.seen, options_.capacity);
  return rows;
}

std::vector<std::int64_t> Calibration::groups() const {
  const auto keys = std::views::keys(samples_);
  return {keys.begin(), keys.end()};
}

bool Calibration::weighted() const {
  return std::ranges::any_of(samples_, [](const auto& group) { return group.second.weighted; });
}

std::vector<CalibrationRow> Calibration::rows(std::int64_t group) const {
  std::vector<CalibrationRow> rows;
  const auto found = samples_.find(group);
  if (found == samples_.end()) return rows;
  const std::vector<Entry> entries = kept(group, found->second);
  rows.reserve(entries.size());
  for (const Entry& entry : entries) rows.push_back({entry.score, entry.above, entry.weight, group});
  return rows;
}

// Format 1, in 64-bit words: magic, version, capacity, seed, number of groups; for each group, ascending, its number,
// rows seen, rows kept, flags, then the priorities (ascending), the scores, one bit a row for `above` and, when
// flagged, the weights; a checksum over all.
std::vector<std::byte> Calibration::serialise() const {
  const auto all = kept();
  std::size_t words = kHeaderWords;
  for (const auto& [group, entries] : all) {
    words += kGroupWords + (samples_.at(group).weighted ? 3 : 2) * entries.size() + bit_words(entries.size());
  }
  WordWriter writer(words);
  writer.put(kMagic);
  writer.put(kFormatVersion);
  writer.put(options_.capacity);
  writer.put(options_.seed);
  writer.put(std::uint64_t{all.size()});
  for (const auto& [group, entries] : all) {
    const Sample& sample = samples_.at(group);
    writer.put(static_cast<std::uint64_t>(group));
    writer.put(sample.seen);
    writer.put(std::uint64_t{entries.size()});
    writer.put(sample.weighted ? kWeightedFlag : 0);
    for (const Entry& entry : entries) writer.put(entry.priority);
    for (const Entry& entry : entries) writer.put(entry.score);
    for (std::size_t i = 0; i < entries.size(); i += 64) {
      std::uint64_t bits = 0;
      for (std::size_t j = i; j < std::min(i + 64, entries.size()); ++j) {
        bits |= std::uint64_t{entries[j].above} << (j - i);
      }
      writer.put(bits);
    }
    if (sample.weighted) {
      for (const Entry& entry : entries) writer.put(entry.weight);
    }
  }
  return std::move(writer).finish();
}

Calibration Calibration::deserialise(std::span<const std::byte> bytes) {
  WordReader reader(bytes);
  if (reader.get() != kMagic) refuse_bytes("these bytes are not a calibration");
  if (const std::uint64_t version = reader.get(); version != kFormatVersion) {
    refuse_bytes("expected format " + std::to_string(kFormatVersion) + ", found " + std::to_string(version));
  }
  reader.verify_checksum();
  Options options;
  options.capacity = reader.get();
  options.seed = reader.get();
  if (options.capacity == 0) refuse_bytes("the capacity is 0");
  Calibration calibration(options);
  const std::uint64_t groups = reader.get();
  std::optional<std::int64_t> last_group;
  std::uint64_t rows_left = kMostRows;
  for (std::uint64_t g = 0; g < groups; ++g) {
    const auto group = static_cast<std::int64_t>(reader.get());
    if (last_group && group <= *last_group) refuse_bytes("the groups are not in order");
    last_group = group;
    const auto check = [group](bool holds, const char* what) {
      if (!holds) refuse_bytes("group " + std::to_string(group) + ": " + what);
    };
    Sample sample;
    sample.seen = reader.get();
    const std::uint64_t kept = reader.get();
    const std::uint64_t flags = reader.get();
    check(kept > 0 && kept <= options.capacity, "the rows kept are none, or more than the capacity");
    check(kept == std::min(sample.seen, options.capacity), "the rows kept do not go with the rows seen");
    check(sample.seen <= rows_left, "there are more than 2^63 rows");
    rows_left -= sample.seen;
    check(flags <= kWeightedFlag, "there are flags that this version does not know");
    sample.weighted = flags == kWeightedFlag;
    check(kept <= reader.words_left() / 2, "the bytes end too early");
    sample.entries.resize(kept);
    for (Entry& entry : sample.entries) {
      entry.priority = reader.get();
      check(&entry == sample.entries.data() || (&entry - 1)->priority < entry.priority,
            "the priorities are not in order");
    }
    for (Entry& entry : sample.entries) {
      entry.score = reader.get_number();
      check(!std::isnan(entry.score), "a score is NaN");
      check(entry.score != 0 || !std::signbit(entry.score), "a score is -0");
    }
    for (std::size_t i = 0; i < kept; i += 64) {
      const std::uint64_t bits = reader.get();
      const std::size_t used = std::min<std::size_t>(64, kept - i);
      for (std::size_t j = 0; j < used; ++j) sample.entries[i + j].above = ((bits >> j) & 1U) != 0;
      check(used == 64 || bits >> used == 0, "there are sides of rows that do not exist");
    }
    for (Entry& entry : sample.entries) {
      entry.weight = sample.weighted ? reader.get_number() : 1;
      check(valid_weight(entry.weight), "a weight is not positive and finite");
    }
    check(!sample.weighted || sample.seen > kept ||
              std::ranges::any_of(sample.entries, [](const Entry& entry) { return entry.weight != 1; }),
          "all weights are 1, but it says that they are not");
    if (kept == options.capacity) sample.limit = sample.entries.back().priority;
    calibration.samples_.emplace_hint(calibration.samples_.end(), group, std::move(sample));
  }
  if (reader.words_left() != 0) refuse_bytes("there are bytes after the last group");
  if (groups > 1) {
    try {
      (void)calibration.kept();
    } catch (const Error& error) {
      refuse_bytes(error.what());
    }
  }
  return calibration;
}

// --------------------------------------------------------------------------------------------------- SortedScores

namespace {

/// The exact sum of a few doubles, as partial sums that do not overlap (Shewchuk 1997). Says on which side of 0 it is.
class ExactSum {
 public:
  void add(double x) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      double y = partials_[i];
      if (std::abs(x) < std::abs(y)) std::swap(x, y);
      const double sum = x + y;
      const double error = y - (sum - x);
      if (error != 0) partials_[count++] = error;
      x = sum;
    }
    if (x != 0) partials_[count++] = x;
    size_ = count;
  }

  void add_product(double x, double y) {
    const double product = x * y;
    add(product);
    add(std::fma(x, y, -product));
  }

  [[nodiscard]] bool negative() const { return size_ != 0 && partials_[size_ - 1] < 0; }

 private:
  std::array<double, 24> partials_{};
  std::size_t size_ = 0;
};

/// A 64-bit integer as the exact sum of two doubles.
struct SplitInteger {
  explicit SplitInteger(std::uint64_t value)
      : high(static_cast<double>(value)),
        low(static_cast<double>(static_cast<std::int64_t>(value - static_cast<std::uint64_t>(high)))) {}

  double high;
  double low;
};

void check_test_weight(const char* where, double test_weight) {
  if (!(test_weight > 0)) {
    throw Error(ErrorCode::kInvalidArgument, std::string("SortedScores::") + where +
                                                 ": expected a positive test weight, found " +
                                                 internal::text_of(test_weight));
  }
}

/// Sort what is taken of the rows above and of the others, and both together.
template <class Rows, class Take>
auto sort_sides(const Rows& rows, Take take) {
  using T = decltype(take(rows.front()));
  struct {
    std::vector<T> all, above, below;
  } sides;
  for (const auto& row : rows) (row.above ? sides.above : sides.below).push_back(take(row));
  std::ranges::sort(sides.above);
  std::ranges::sort(sides.below);
  sides.all.reserve(rows.size());
  std::ranges::merge(sides.above, sides.below, std::back_inserter(sides.all));
  return sides;
}

}  // namespace

SortedScores::Sum SortedScores::Ranked::weight_up_to(std::size_t i) const {
  return weights.empty() ? Sum{before.high + static_cast<double>(i + 1), 0} : weights[i];
}

/// The weight level * (sum of all + test_weight) at which a group's quantile lies. Whether a sum of weights reaches it
/// is decided exactly: with rounding, weights of 1 would give a rank off by one here and there.
class SortedScores::Threshold {
 public:
  Threshold(const Group& group, const Level& level, double test_weight)
      : numerator_(level.numerator()), denominator_(level.denominator()), total_(group.total) {
    if (group.all.weights.empty() && test_weight == 1) {
      rank_ = level.rank(group.all.scores.size());
      return;
    }
    test_weight_ = std::ldexp(test_weight, group.weight_shift);
    need_ = numerator_.high * (total_.high + test_weight_);
  }

  [[nodiscard]] bool reached(Sum weight) const {
    if (rank_) return weight.high >= static_cast<double>(*rank_);
    // The weights sum to less than 2^64 and a level is above 2^-64: no sum can reach a share of so much.
    if (test_weight_ > 0x1p200) return false;
    const double have = weight.high * denominator_.high;
    const double gap = have - need_;
    // Eight roundings at the most lie between the gap and its exact value.
    if (std::abs(gap) > 0x1p-49 * (have + need_)) return gap > 0;
    ExactSum exact;
    for (const double w : {weight.high, weight.low}) {
      exact.add_product(w, denominator_.high);
      exact.add_product(w, denominator_.low);
    }
    for (const double w : {total_.high, total_.low, test_weight_}) {
      exact.add_product(-w, numerator_.high);
      exact.add_product(-w, numerator_.low);
    }
    return !exact.negative();
  }

  /// Return the first i at which the rows up to it reach the weight, or their number when none does.
  [[nodiscard]] std::size_t first_reached(const Ranked& ranked) const {
    const std::size_t n = ranked.scores.size();
    if (rank_) {
      const auto before = static_cast<std::uint64_t>(ranked.before.high);
      return *rank_ <= before ? 0 : std::min<std::uint64_t>(n, *rank_ - before - 1);
    }
    return *std::ranges::partition_point(std::views::iota(std::size_t{0}, n),
                                         [&](std::size_t i) { return !reached(ranked.weight_up_to(i)); });
  }

 private:
  SplitInteger numerator_;
  SplitInteger denominator_;
  Sum total_;
  double test_weight_ = 1;
  double need_ = 0;
  std::optional<std::uint64_t> rank_;  // when all weights are 1
};

void SortedScores::accumulate(Sum& sum, double weight) {
  const double high = sum.high + weight;
  const double part = high - sum.high;
  const double low = sum.low + ((sum.high - (high - part)) + (weight - part));
  sum.high = high + low;
  sum.low = low - (sum.high - high);
}

SortedScores::Group SortedScores::rank_rows(const std::vector<Calibration::Entry>& entries) {
  using Entry = Calibration::Entry;
  Group group;
  if (std::ranges::all_of(entries, [](const Entry& entry) { return entry.weight == 1; })) {
    auto sides = sort_sides(entries, [](const Entry& entry) { return entry.score; });
    group.all.scores = std::move(sides.all);
    group.above = {std::move(sides.above), {}, {static_cast<double>(sides.below.size()), 0}};
    group.below = {std::move(sides.below), {}, {static_cast<double>(group.above.scores.size()), 0}};
    group.total = {static_cast<double>(entries.size()), 0};
    return group;
  }
  group.weight_shift = -std::ilogb(std::ranges::max(entries, {}, &Entry::weight).weight);
  const auto sides = sort_sides(entries, [&](const Entry& entry) {
    return std::pair(entry.score, std::ldexp(entry.weight, group.weight_shift));
  });
  const auto rank = [](const std::vector<std::pair<double, double>>& rows, Sum before) {
    Ranked ranked{{}, {}, before};
    ranked.scores.reserve(rows.size());
    ranked.weights.reserve(rows.size());
    Sum sum = before;
    for (const auto& [score, weight] : rows) {
      accumulate(sum, weight);
      ranked.scores.push_back(score);
      ranked.weights.push_back(sum);
    }
    return ranked;
  };
  const auto total = [&](const std::vector<std::pair<double, double>>& rows) {
    Sum sum;
    for (const auto& [score, weight] : rows) accumulate(sum, weight);
    return sum;
  };
  group.all = rank(sides.all, {});
  group.above = rank(sides.above, total(sides.below));
  group.below = rank(sides.below, total(sides.above));
  group.total = group.all.weights.back();
  return group;
}

SortedScores::SortedScores(const Calibration& calibration) : weighted_(calibration.weighted()) {
  for (const auto& [group, entries] : calibration.kept()) {
    groups_.emplace_hint(groups_.end(), group, rank_rows(entries));
  }
}

const SortedScores::Group* SortedScores::find(std::int64_t group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? nullptr : &found->second;
}

std::size_t SortedScores::rows(std::int64_t group) const {
  const Group* found = find(group);
  return found == nullptr ? 0 : found->all.scores.size();
}

bool SortedScores::has_group(std::int64_t group) const { return find(group) != nullptr; }

std::vector<std::int64_t> SortedScores::groups() const {
  const auto keys = std::views::keys(groups_);
  return {keys.begin(), keys.end()};
}

double SortedScores::quantile(const Level& level, std::int64_t group, double test_weight,
                              WhenTooFew when_too_few) const {
  check_test_weight("quantile", test_weight);
  const Group* found = find(group);
  if (found == nullptr) return kInfinity;
  const std::vector<double>& scores = found->all.scores;
  const std::size_t index = Threshold(*found, level, test_weight).first_reached(found->all);
  if (index < scores.size()) return scores[index];
  if (when_too_few == WhenTooFew::kError) {
    const std::string where = "SortedScores::quantile: level " + level.text() + " needs ";
    const std::string rows = ", found " + std::to_string(scores.size()) + " in group " + std::to_string(group);
    throw Error(ErrorCode::kTooFewRows, where +
                                            (found->all.weights.empty() && test_weight == 1
                                                 ? rows_text(level.least_rows())
                                                 : "more rows for a test weight of " + internal::text_of(test_weight)) +
                                            rows);
  }
  return kInfinity;
}

SortedScores::SidedQuantile SortedScores::sided_quantile(const Level& level, bool below, std::int64_t group,
                                                         double test_weight) const {
  check_test_weight("sided_quantile", test_weight);
  const Group* found = find(group);
  if (found == nullptr) return {kInfinity, below};
  // An upper bound passes all rows below their prediction first, and then those above, by ascending score.
  const Ranked& side = below ? found->above : found->below;
  const Threshold threshold(*found, level, test_weight);
  if (threshold.reached(side.before)) return {-kInfinity, below};
  const std::size_t index = threshold.first_reached(side);
  return {index < side.scores.size() ? side.scores[index] : kInfinity, below};
}

double SortedScores::p_value(double score, std::int64_t group, double test_weight) const {
  check_test_weight("p_value", test_weight);
  const Group* found = find(group);
  if (found == nullptr) return 1;
  const Ranked& all = found->all;
  const auto less = static_cast<std::size_t>(std::ranges::lower_bound(all.scores, score) - all.scores.begin());
  const Sum before = less == 0 ? all.before : all.weight_up_to(less - 1);
  const double weight = std::ldexp(test_weight, found->weight_shift);
  if (std::isinf(weight)) return 1;
  const double rest = (found->total.high - before.high) + (found->total.low - before.low);
  return std::min(1.0, (rest + weight) / (found->total.high + weight));
}

}  // namespace widthwise
