#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/words.hpp"
#include "conformal/calibration/checks.hpp"

namespace widthwise {
namespace {

using internal::bit_words;
using internal::kMaxRows;
using internal::kWordBytes;
using internal::WordReader;
using internal::WordWriter;

constexpr std::uint64_t kMagic = 0x0042494c41435757U;  // "WWCALIB", zero-terminated
constexpr std::uint64_t kFormat = 1;
constexpr std::size_t kHeaderWords = 6;
constexpr std::size_t kGroupWords = 5;

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

// In 64-bit words: magic, format, capacity, seed, what rows belong to (0: nothing, 1: groups, 2: clusters, 3: groups
// and clusters), number of groups; for each group, ascending, its number, rows seen, rows kept, whether rows have
// weights, length of the label in bytes, the bytes of the label, padded with zeros, then the priorities (ascending),
// the scores, one bit per row for `above` and, if rows have them, the weights; a checksum over all. Rows without groups
// are group 0, and a cluster is written as a group. With both, each cluster of each group is written as a group, with
// the number of the cluster after that of the group, and the first cluster of a group has its label. Labels that are
// integers are not written: their length is 0.
std::vector<std::byte> Calibration::serialise() const {
  const auto all = kept();
  std::size_t words = kHeaderWords;
  const bool has_both = keys_ == RowKeys::kGroupsAndClusters;
  for (const auto& [place, entries] : all) {
    words += kGroupWords + (has_both ? 1 : 0) + (samples_.at(place).weighted ? 3 : 2) * entries.size() +
             bit_words(entries.size());
  }
  for (const auto& [group, label] : labels_) words += text_words(label.size());
  WordWriter writer(words);
  writer.put(kMagic);
  writer.put(kFormat);
  writer.put(options_.capacity);
  writer.put(options_.seed);
  writer.put(static_cast<std::uint64_t>(all.empty() ? RowKeys::kNone : keys_));
  writer.put(std::uint64_t{all.size()});
  const SampleKey* previous = nullptr;
  for (const auto& [place, entries] : all) {
    const Sample& sample = samples_.at(place);
    const bool is_first = previous == nullptr || previous->group != place.group;
    const std::string label = is_first ? stored_label(place.group) : std::string();
    writer.put(static_cast<std::uint64_t>(keys_ == RowKeys::kClusters ? place.cluster : place.group));
    if (has_both) writer.put(static_cast<std::uint64_t>(place.cluster));
    writer.put(sample.seen);
    writer.put(std::uint64_t{entries.size()});
    writer.put(std::uint64_t{sample.weighted ? 1U : 0U});
    writer.put(std::uint64_t{label.size()});
    put_text(writer, label);
    previous = &place;
    for (const Entry& entry : entries) writer.put(entry.priority);
    for (const Entry& entry : entries) writer.put(entry.score);
    writer.put_bits(entries.size(), [&](std::size_t i) { return entries[i].above; });
    if (sample.weighted) {
      for (const Entry& entry : entries) writer.put(entry.weight);
    }
  }
  return std::move(writer).finish();
}

/// Reads the bytes into a calibration, group by group.
struct Calibration::Reader {
  WordReader words;
  RowKeys keys = RowKeys::kNone;
  std::uint64_t groups = 0;
  std::uint64_t rows_left = kMaxRows;
  SampleKey place = {};  // the one that is read

  void check(bool holds, const char* what) const {
    if (!holds) words.refuse(place.to_string(keys) + ": " + what);
  }

  /// An empty calibration with what the header holds.
  Calibration read_header() {
    Options options;
    options.capacity = words.get();
    options.seed = words.get();
    if (options.capacity == 0) words.refuse("the capacity is 0");
    const std::uint64_t kind = words.get();
    groups = words.get();
    if (kind > static_cast<std::uint64_t>(RowKeys::kGroupsAndClusters)) words.refuse("invalid kind of groups");
    keys = static_cast<RowKeys>(kind);
    if (groups == 0 && keys != RowKeys::kNone) words.refuse("there are no groups");
    if (groups > 1 && keys == RowKeys::kNone) words.refuse("more than one group in a calibration without groups");
    Calibration calibration(options);
    calibration.keys_ = keys;
    return calibration;
  }

  /// The keys of the next sample.
  SampleKey read_key() {
    const auto number = static_cast<std::int64_t>(words.get());
    if (keys == RowKeys::kClusters) return {.cluster = number};
    return {.group = number, .cluster = have_clusters(keys) ? static_cast<std::int64_t>(words.get()) : 0};
  }

  void read_group(Calibration& calibration) {
    const std::uint64_t capacity = calibration.options_.capacity;
    Sample sample;
    sample.seen = words.get();
    const std::uint64_t kept = words.get();
    const std::uint64_t weighted = words.get();
    check(keys != RowKeys::kNone || place == SampleKey(), "expected group 0 in a calibration without groups");
    check(kept > 0 && kept <= capacity, "the number of rows kept is 0 or above the capacity");
    check(kept == std::min(sample.seen, capacity), "the number of rows kept does not match the number of rows seen");
    check(sample.seen <= rows_left, "there are more than 2^63 rows");
    rows_left -= sample.seen;
    check(weighted <= (have_clusters(keys) ? 0U : 1U), "invalid mark of weights");
    sample.weighted = weighted == 1;
    const bool has_reserved = is_reserved_group(place.cluster) || is_reserved_group(place.group);
    check(!have_clusters(keys) || !has_reserved, "reserved number");
    read_label(calibration);
    check(kept <= words.words_left() / 2, "unexpected end of the bytes");
    sample.entries.resize(kept);
    read_entries(sample);
    if (kept == capacity) sample.limit = sample.entries.back().priority;
    calibration.samples_.emplace_hint(calibration.samples_.end(), place, std::move(sample));
  }

  void read_label(Calibration& calibration) {
    const std::uint64_t bytes = words.get();
    if (bytes == 0) return;
    check(have_groups(keys), "a label in a calibration without groups");
    check(calibration.samples_of(place.group).empty(), "the label is not that of the first cluster of its group");
    check(bytes <= words.words_left() * kWordBytes, "invalid length of the label");
    std::string label;
    check(take_text(words, bytes, label), "the label is longer than its length");
    check(internal::is_utf8(label), "the label is not UTF-8");
    check(group_number(label) == place.group && label != label_of(place.group), "the label is that of another group");
    calibration.labels_.emplace(place.group, std::move(label));
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
  words.expect_header(kMagic, kFormat, "a calibration");
  words.verify_checksum();
  Calibration calibration = reader.read_header();
  for (std::uint64_t g = 0; g < reader.groups; ++g) {
    const SampleKey place = reader.read_key();
    if (g > 0 && place <= reader.place) words.refuse("the groups are not in order");
    reader.place = place;
    reader.read_group(calibration);
  }
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
