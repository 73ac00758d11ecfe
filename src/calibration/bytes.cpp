#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>

#include "calibration/checks.hpp"
#include "message.hpp"
#include "printable.hpp"
#include "words.hpp"

namespace widthwise {
namespace {

using internal::bit_words;
using internal::kMaxRows;
using internal::kWordBytes;
using internal::WordReader;
using internal::WordWriter;

constexpr std::uint64_t kMagic = 0x0042494c41435757U;  // "WWCALIB", zero-terminated
constexpr std::uint64_t kFormatVersion = 1;
constexpr std::uint64_t kLabelledVersion = 2;
constexpr std::uint64_t kClusteredVersion = 3;
constexpr std::uint64_t kWeightedFlag = 1;
constexpr std::uint64_t kGroupedFlag = 2;
constexpr std::size_t kHeaderWords = 5;
constexpr std::size_t kGroupWords = 4;
constexpr std::size_t kLabelWords = 2;

std::size_t text_words(std::size_t bytes) { return bytes / kWordBytes + (bytes % kWordBytes == 0 ? 0 : 1); }

void put_text(WordWriter& writer, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); i += kWordBytes) {
    std::uint64_t word = 0;
    for (std::size_t j = i; j < std::min(i + kWordBytes, text.size()); ++j) {
      word |= std::uint64_t{static_cast<unsigned char>(text[j])} << (8 * (j - i));
    }
    writer.put(word);
  }
}

/// Read `bytes` bytes; false if a padding byte is not 0.
[[nodiscard]] bool take_text(WordReader& words, std::size_t bytes, std::string& text) {
  text.reserve(bytes);
  for (std::size_t i = 0; i < bytes; i += kWordBytes) {
    std::uint64_t word = words.get();
    for (std::size_t j = i; j < std::min(i + kWordBytes, bytes); ++j, word >>= 8U) {
      text.push_back(static_cast<char>(word & 0xffU));
    }
    if (word != 0) return false;
  }
  return true;
}

}  // namespace

// Format 1, in 64-bit words: magic, version, capacity, seed, number of groups; for each group, ascending, its number,
// rows seen, rows kept, flags, then the priorities (ascending), the scores, one bit per row for `above` and, if
// flagged, the weights; a checksum over all. Rows without groups are written as group 0. If rows have groups and group
// 0 is the only one, a flag states this; older programs reject that flag.
// Format 2 has group labels: after the groups, the number of labels and, for each, by ascending group, the group, its
// length in bytes and its bytes, padded with zeros. Labels that are integers are not written, and a calibration without
// others is written in format 1.
// Format 3 is format 1 with clusters in place of groups, and without flags.
std::vector<std::byte> Calibration::serialise() const {
  const auto all = kept();
  const bool labelled = this->labelled();
  std::size_t words = kHeaderWords + (labelled ? 1 : 0);
  std::uint64_t labels = 0;
  for (const auto& [group, sample] : samples_) {
    if (sample.label.empty()) continue;
    ++labels;
    words += kLabelWords + text_words(sample.label.size());
  }
  for (const auto& [group, entries] : all) {
    words += kGroupWords + (samples_.at(group).weighted ? 3 : 2) * entries.size() + bit_words(entries.size());
  }
  WordWriter writer(words);
  writer.put(kMagic);
  writer.put(keys_ == RowKeys::kClusters ? kClusteredVersion : labelled ? kLabelledVersion : kFormatVersion);
  writer.put(options_.capacity);
  writer.put(options_.seed);
  writer.put(std::uint64_t{all.size()});
  for (const auto& [group, entries] : all) {
    const Sample& sample = samples_.at(group);
    writer.put(static_cast<std::uint64_t>(group));
    writer.put(sample.seen);
    writer.put(std::uint64_t{entries.size()});
    writer.put((sample.weighted ? kWeightedFlag : 0) |
               (keys_ == RowKeys::kGroups && group == 0 && all.size() == 1 ? kGroupedFlag : 0));
    for (const Entry& entry : entries) writer.put(entry.priority);
    for (const Entry& entry : entries) writer.put(entry.score);
    writer.put_bits(entries.size(), [&](std::size_t i) { return entries[i].above; });
    if (sample.weighted) {
      for (const Entry& entry : entries) writer.put(entry.weight);
    }
  }
  if (labelled) writer.put(labels);
  for (const auto& [group, sample] : samples_) {
    if (sample.label.empty()) continue;
    writer.put(static_cast<std::uint64_t>(group));
    writer.put(std::uint64_t{sample.label.size()});
    put_text(writer, sample.label);
  }
  return std::move(writer).finish();
}

/// Reads the bytes into a calibration, group by group.
struct Calibration::Reader {
  WordReader words;
  std::uint64_t groups = 0;
  std::uint64_t rows_left = kMaxRows;
  std::int64_t group = 0;  // the one that is read
  bool clustered = false;  // whether groups are clusters

  void check(bool holds, const char* what) const {
    if (!holds) words.refuse(fmt::format("{} {}: {}", clustered ? "cluster" : "group", group, what));
  }

  Options read_options() {
    Options options;
    options.capacity = words.get();
    options.seed = words.get();
    if (options.capacity == 0) words.refuse("the capacity is 0");
    return options;
  }

  void read_group(Calibration& calibration) {
    const std::uint64_t capacity = calibration.options_.capacity;
    Sample sample;
    sample.seen = words.get();
    const std::uint64_t kept = words.get();
    const std::uint64_t flags = words.get();
    check(kept > 0 && kept <= capacity, "the number of rows kept is 0 or above the capacity");
    check(kept == std::min(sample.seen, capacity), "the number of rows kept does not match the number of rows seen");
    check(sample.seen <= rows_left, "there are more than 2^63 rows");
    rows_left -= sample.seen;
    check((flags & ~(kWeightedFlag | kGroupedFlag)) == 0, "unknown flags");
    sample.weighted = (flags & kWeightedFlag) != 0;
    const bool flagged = (flags & kGroupedFlag) != 0;
    check(!flagged || (groups == 1 && group == 0), "redundant flag for groups");
    if (clustered) {
      check(flags == 0, "unknown flags");
      check(!is_reserved_group(group), "reserved number");
      calibration.keys_ = RowKeys::kClusters;
    } else {
      calibration.keys_ = groups > 1 || group != 0 || flagged ? RowKeys::kGroups : RowKeys::kNone;
    }
    check(kept <= words.words_left() / 2, "unexpected end of the bytes");
    sample.entries.resize(kept);
    read_entries(sample);
    if (kept == capacity) sample.limit = sample.entries.back().priority;
    calibration.samples_.emplace_hint(calibration.samples_.end(), group, std::move(sample));
  }

  void read_labels(Calibration& calibration) {
    const std::uint64_t labels = words.get();
    if (labels == 0 || labels > calibration.samples_.size()) words.refuse("invalid number of group labels");
    for (std::uint64_t i = 0; i < labels; ++i) {
      const auto before = group;
      group = static_cast<std::int64_t>(words.get());
      check(i == 0 || group > before, "the labels are not in order");
      const auto found = calibration.samples_.find(group);
      check(calibration.keys() == RowKeys::kGroups && found != calibration.samples_.end(), "a label without rows");
      const std::uint64_t bytes = words.get();
      check(bytes > 0 && bytes <= words.words_left() * kWordBytes, "invalid length of the label");
      std::string& label = found->second.label;
      check(take_text(words, bytes, label), "the label is longer than its length");
      check(internal::is_utf8(label), "the label is not UTF-8");
      check(group_number(label) == group && label != label_of(group), "the label is that of another group");
    }
  }

  void read_entries(Sample& sample) {
    std::vector<Entry>& entries = sample.entries;
    for (Entry& entry : entries) {
      entry.priority = words.get();
      check(&entry == entries.data() || (&entry - 1)->priority < entry.priority, "the priorities are not in order");
    }
    for (Entry& entry : entries) {
      entry.score = words.get_number();
      check(!std::isnan(entry.score), "a score is NaN");
      check(entry.score != 0 || !std::signbit(entry.score), "a score is -0");
    }
    check(words.get_bits(entries.size(), [&](std::size_t i, bool above) { entries[i].above = above; }),
          "there are more sides than rows");
    for (Entry& entry : entries) {
      entry.weight = sample.weighted ? words.get_number() : 1;
      check(internal::valid_weight(entry.weight), "a weight is not positive and finite");
    }
    check(!sample.weighted || sample.seen > entries.size() ||
              std::ranges::any_of(entries, [](const Entry& entry) { return entry.weight != 1; }),
          "all weights are 1 in a weighted calibration");
  }
};

Calibration Calibration::deserialise(std::span<const std::byte> bytes) {
  Reader reader{.words = WordReader(bytes, "Calibration::deserialise")};
  WordReader& words = reader.words;
  const bool labelled = words.format() == kLabelledVersion;
  reader.clustered = words.format() == kClusteredVersion;
  words.expect_header(kMagic, labelled || reader.clustered ? words.format() : kFormatVersion, "a calibration");
  words.verify_checksum();
  Calibration calibration(reader.read_options());
  reader.groups = words.get();
  if (reader.clustered && reader.groups == 0) words.refuse("there are no clusters");
  for (std::uint64_t g = 0; g < reader.groups; ++g) {
    const auto group = static_cast<std::int64_t>(words.get());
    if (g > 0 && group <= reader.group) words.refuse("the groups are not in order");
    reader.group = group;
    reader.read_group(calibration);
  }
  if (labelled) reader.read_labels(calibration);
  if (words.words_left() != 0) words.refuse("unexpected bytes after the last group");
  calibration.numbers_ = {.first = 0, .last = std::numeric_limits<std::uint64_t>::max()};
  if (reader.groups > 1) {
    try {
      calibration.index_rows(0);
      calibration.stored_.clear();
    } catch (const Error& error) {
      words.refuse(error.what());
    }
  }
  return calibration;
}

}  // namespace widthwise
