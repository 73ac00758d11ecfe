#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "calibration/checks.hpp"

namespace widthwise {
namespace {

using internal::kMostRows;

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
      check(internal::valid_weight(entry.weight), "a weight is not positive and finite");
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

}  // namespace widthwise
