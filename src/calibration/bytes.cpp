#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>

#include "calibration/checks.hpp"
#include "words.hpp"

namespace widthwise {
namespace {

using internal::bit_words;
using internal::kMostRows;
using internal::WordReader;
using internal::WordWriter;

constexpr std::uint64_t kMagic = 0x0042494c41435757U;  // "WWCALIB", zero-terminated
constexpr std::uint64_t kFormatVersion = 1;
constexpr std::uint64_t kWeightedFlag = 1;
constexpr std::uint64_t kGroupedFlag = 2;
constexpr std::size_t kHeaderWords = 5;
constexpr std::size_t kGroupWords = 4;

}  // namespace

// Format 1, in 64-bit words: magic, version, capacity, seed, number of groups; for each group, ascending, its number,
// rows seen, rows kept, flags, then the priorities (ascending), the scores, one bit a row for `above` and, when
// flagged, the weights; a checksum over all. Rows without groups are written as group 0. When group 0 is the only one
// of rows with groups it is flagged as such; older programs refuse that flag.
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
    writer.put((sample.weighted ? kWeightedFlag : 0) | (grouped_ && group == 0 && all.size() == 1 ? kGroupedFlag : 0));
    for (const Entry& entry : entries) writer.put(entry.priority);
    for (const Entry& entry : entries) writer.put(entry.score);
    writer.put_bits(entries.size(), [&](std::size_t i) { return entries[i].above; });
    if (sample.weighted) {
      for (const Entry& entry : entries) writer.put(entry.weight);
    }
  }
  return std::move(writer).finish();
}

Calibration Calibration::deserialise(std::span<const std::byte> bytes) {
  WordReader reader(bytes, "Calibration::deserialise");
  reader.expect_header(kMagic, kFormatVersion, "a calibration");
  reader.verify_checksum();
  Options options;
  options.capacity = reader.get();
  options.seed = reader.get();
  if (options.capacity == 0) reader.refuse("the capacity is 0");
  Calibration calibration(options);
  const std::uint64_t groups = reader.get();
  std::optional<std::int64_t> last_group;
  std::uint64_t rows_left = kMostRows;
  for (std::uint64_t g = 0; g < groups; ++g) {
    const auto group = static_cast<std::int64_t>(reader.get());
    if (last_group && group <= *last_group) reader.refuse("the groups are not in order");
    last_group = group;
    const auto check = [&reader, group](bool holds, const char* what) {
      if (!holds) reader.refuse("group " + std::to_string(group) + ": " + what);
    };
    Sample sample;
    sample.seen = reader.get();
    const std::uint64_t kept = reader.get();
    const std::uint64_t flags = reader.get();
    check(kept > 0 && kept <= options.capacity, "the rows kept are none, or more than the capacity");
    check(kept == std::min(sample.seen, options.capacity), "the rows kept do not go with the rows seen");
    check(sample.seen <= rows_left, "there are more than 2^63 rows");
    rows_left -= sample.seen;
    check((flags & ~(kWeightedFlag | kGroupedFlag)) == 0, "there are flags that this version does not know");
    sample.weighted = (flags & kWeightedFlag) != 0;
    const bool flagged = (flags & kGroupedFlag) != 0;
    check(!flagged || (groups == 1 && group == 0), "it says that rows have groups, which shows without");
    calibration.grouped_ = groups > 1 || group != 0 || flagged;
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
    check(reader.get_bits(kept, [&](std::size_t i, bool above) { sample.entries[i].above = above; }),
          "there are sides of rows that do not exist");
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
  if (reader.words_left() != 0) reader.refuse("there are bytes after the last group");
  if (groups > 1) {
    try {
      (void)calibration.kept();
    } catch (const Error& error) {
      reader.refuse(error.what());
    }
  }
  return calibration;
}

}  // namespace widthwise
