#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/random.hpp>
#include <widthwise/roles.hpp>

#include "base/message.hpp"
#include "base/names.hpp"
#include "base/printable.hpp"
#include "conformal/calibration/checks.hpp"
#include "conformal/calibration/group_index.hpp"

namespace widthwise {
namespace {

using internal::kMaxRows;

/// Return the inverse of an odd number modulo 2^64. Newton's iteration doubles the correct bits, from 5 up.
constexpr std::uint64_t inverse_of_odd(std::uint64_t odd) {
  std::uint64_t inverse = (3 * odd) ^ 2U;
  for (int i = 0; i < 4; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

/// The inverse of mix_bits: the row number of a priority.
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

constexpr std::array<internal::Named<ClusterForm>, 2> kClusterForms{
    {{ClusterForm::kRows, "rows"}, {ClusterForm::kClusters, "clusters"}}};

[[noreturn]] void refuse_row(std::uint64_t row_number, const CalibrationRow& row) {
  const std::string where = fmt::format("Calibration::add: row number {}", row_number);
  if (std::isnan(row.score)) throw Error(ErrorCode::kNotFinite, where + ": the score is NaN");
  throw Error(std::isfinite(row.weight) ? ErrorCode::kInvalidArgument : ErrorCode::kNotFinite,
              fmt::format("{}: expected a positive, finite weight, found {}", where, row.weight));
}

[[noreturn]] void refuse_label(const std::string& first, const std::string& second) {
  throw internal::make_error(ErrorCode::kBadData,
                             "Calibration: the group labels '{}' and '{}' have the same number; rename one",
                             internal::printable(first), internal::printable(second));
}

}  // namespace

RowNumbers RowNumbers::part(std::size_t begin, std::size_t count) const {
  return given_ ? RowNumbers(each_.subspan(begin, count)) : RowNumbers(first_ + begin);
}

void RowNumbers::check(std::size_t n, const char* where) const {
  if (given_ && each_.size() != n) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "{}: {} rows but {} row numbers", where, n, each_.size());
  }
  if (!given_ && n > 0 && first_ > std::numeric_limits<std::uint64_t>::max() - (n - 1)) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "{}: the numbers of {} rows from {} exceed 64 bits", where,
                               n, first_);
  }
}

std::string_view name_of(ClusterForm form) { return internal::name_in(kClusterForms, form); }

std::optional<ClusterForm> cluster_form_of(std::string_view name) { return internal::value_in(kClusterForms, name); }

Calibration::Calibration() : Calibration(Options{}) {}

Calibration::Calibration(const Options& options) : options_(options) {
  if (options.capacity == 0) {
    throw Error(ErrorCode::kInvalidArgument, "Calibration: expected a capacity of at least 1 row, found 0");
  }
}

// The priority of a row is mix_bits(row number ^ key()). Mixing the seed keeps the samples of two seeds unrelated.
std::uint64_t Calibration::key() const { return mix_bits(options_.seed + 0x9e3779b97f4a7c15U); }

/// Throw if rows with and without groups, or with and without clusters, would be mixed.
void Calibration::take_keys(RowKeys keys) {
  if (samples_.empty()) keys_ = keys;
  if (keys == keys_) return;
  const std::string rows = internal::rows_text(rows_seen());
  if (have_clusters(keys) != have_clusters(keys_)) {
    throw internal::make_error(
        ErrorCode::kInvalidArgument,
        "Calibration: these rows have {}, but the {} in the calibration set have {}; pass {} for "
        "every row, or start from an empty calibration (replace)",
        have_clusters(keys) ? "clusters" : "no clusters", rows, have_clusters(keys_) ? "clusters" : "none",
        have_clusters(keys_) ? "a cluster" : "none");
  }
  throw Error(ErrorCode::kInvalidArgument,
              have_groups(keys)
                  ? fmt::format("Calibration: these rows have groups, but the {} in the calibration set have none; "
                                "rows without a group would be mixed with group 0. Calibrate again with a group "
                                "for every row, starting from an empty calibration (replace)",
                                rows)
                  : fmt::format("Calibration: these rows have no groups, but the {} in the calibration set have "
                                "groups; rows without a group would be mixed with group 0. Pass a group for every "
                                "row, or start from an empty calibration (replace)",
                                rows));
}

namespace {

/// `what`: "group" or "cluster".
void refuse_reserved(std::span<const std::int64_t> keys, const RowNumbers& numbers, const char* what) {
  const auto found = std::ranges::find_if(keys, is_reserved_group);
  if (found == keys.end()) return;
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "Calibration::add: row number {} has no {}; drop rows without a label, or give them one",
                             numbers[static_cast<std::size_t>(found - keys.begin())], what);
}

constexpr const char* kAdd = "Calibration::add";

constexpr RowKeys keys_of(bool groups, bool clusters) {
  if (clusters) return groups ? RowKeys::kGroupsAndClusters : RowKeys::kClusters;
  return groups ? RowKeys::kGroups : RowKeys::kNone;
}

/// Number the distinct pairs of a group and a cluster, one of which may be empty, in the order of their first rows.
std::vector<std::uint32_t> numbered(std::span<const std::int64_t> groups, std::span<const std::int64_t> clusters) {
  const auto numbers_of = [](const auto& keys) {
    internal::GroupIndex index;
    std::vector<std::uint32_t> numbers(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) numbers[i] = index.add(keys[i]);
    return numbers;
  };
  if (clusters.empty()) return numbers_of(groups);
  if (groups.empty()) return numbers_of(clusters);
  const std::vector<std::uint32_t> group = numbers_of(groups);
  const std::vector<std::uint32_t> cluster = numbers_of(clusters);
  std::vector<std::int64_t> pairs(groups.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = static_cast<std::int64_t>(std::uint64_t{group[i]} << 32U | cluster[i]);
  }
  return numbers_of(pairs);
}

/// `size` values that come with n scores, or none.
void check_size(std::size_t size, std::size_t n, const char* name) {
  if (size == 0 || size == n) return;
  throw internal::make_error(ErrorCode::kShapeMismatch, "Calibration::add: {} scores but {} values of {}", n, size,
                             name);
}

}  // namespace

void Calibration::add(std::uint64_t row_number, const CalibrationRow& row) {
  if (std::isnan(row.score) || !internal::valid_weight(row.weight)) refuse_row(row_number, row);
  if (row.cluster) {
    if (row.weight != 1) Combination().add(Role::kCluster).add(Role::kWeight).check(kAdd);
    refuse_reserved({&*row.cluster, 1}, row_number, "cluster");
  }
  if (row.group) refuse_reserved({&*row.group, 1}, row_number, "group");
  take_keys(keys_of(row.group.has_value(), row.cluster.has_value()));
  const SampleKey place{.group = row.group.value_or(0), .cluster = row.cluster.value_or(0)};
  const auto found = samples_.find(place);
  Sample fresh;
  Sample& sample = found == samples_.end() ? fresh : found->second;
  const std::uint64_t priority = mix_bits(row_number ^ key());
  const bool kept = priority <= sample.limit;
  const bool is_searched = kept && may_have({row_number, row_number});
  if (is_searched) {
    index_rows(1);
    if (stored_.contains(priority)) refuse_duplicate(priority, {place});
  }
  if (kept) {
    append(sample, {priority, internal::without_negative_zero(row.score), row.weight, row.above});
  }
  ++sample.seen;
  sample.weighted = sample.weighted || row.weight != 1;
  if (found == samples_.end()) samples_.emplace(place, std::move(fresh));
  if (is_searched) (void)stored_.insert(priority);
  numbers_.include({row_number, row_number});
}

namespace {

/// Throw unless rows with these scores and weights can be added.
void check_rows(const RowNumbers& numbers, std::span<const double> scores, std::span<const double> weights) {
  const std::size_t n = scores.size();
  numbers.check(n, "Calibration::add");
  if (const std::size_t i = internal::find_nan(scores); i != n) refuse_row(numbers[i], {.score = scores[i]});
  if (const auto found = std::ranges::find_if_not(weights, internal::valid_weight); found != weights.end()) {
    refuse_row(numbers[static_cast<std::size_t>(found - weights.begin())], {.weight = *found});
  }
}

}  // namespace

/// Add rows to the samples of their groups and clusters.
void Calibration::add_keyed(const KeyColumns& columns, RowNumbers numbers, std::span<const double> scores,
                            std::span<const bool> above, std::span<const double> weights) {
  // If one sample runs out of memory, the rows of other samples must not be added either.
  Calibration added(options_);
  added.keys_ = columns.keys();
  const std::uint64_t key = this->key();
  added.add_samples(columns, scores.size(), [&](Sample& sample, std::size_t i) {
    const std::uint64_t priority = mix_bits(numbers[i] ^ key);
    if (priority <= sample.limit) {
      added.append(sample, {priority, internal::without_negative_zero(scores[i]), weights.empty() ? 1.0 : weights[i],
                            !above.empty() && above[i]});
    }
    if (!weights.empty() && weights[i] != 1) sample.weighted = true;
  });
  add_batch(std::move(added), numbers, scores.size());
}

void Calibration::add(RowNumbers numbers, std::span<const double> scores, std::span<const bool> above,
                      std::span<const double> weights, std::span<const std::int64_t> groups,
                      std::span<const std::int64_t> clusters) {
  const std::size_t n = scores.size();
  check_size(above.size(), n, "above");
  check_size(weights.size(), n, "weights");
  check_size(groups.size(), n, "groups");
  check_size(clusters.size(), n, "clusters");
  if (n == 0) return;
  check_rows(numbers, scores, weights);
  refuse_reserved(groups, numbers, "group");
  refuse_reserved(clusters, numbers, "cluster");
  const KeyColumns columns{groups, clusters};
  if (have_clusters(columns.keys())) {
    Combination().add(Role::kCluster).add(Role::kWeight, !weights.empty()).check(kAdd);
  } else {
    check_need(Role::kWeight, has_weights(), !weights.empty(), kAdd);
  }
  take_keys(columns.keys());
  if (columns.keys() != RowKeys::kNone) {
    add_keyed(columns, numbers, scores, above, weights);
    return;
  }
  const std::uint64_t key = this->key();
  Calibration added(options_);
  Sample& sample = added.samples_[{}];
  if (const auto found = samples_.find({}); found != samples_.end()) sample.limit = found->second.limit;
  // With many rows, most are rejected by this loop, which uses only their number.
  std::uint64_t limit = sample.limit;
  if (limit == std::numeric_limits<std::uint64_t>::max()) added.make_room(sample, n);
  const auto add_all = [&](const auto& number_of) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t priority = mix_bits(number_of(i) ^ key);
      if (priority <= limit) {
        added.append(sample, {priority, internal::without_negative_zero(scores[i]), weights.empty() ? 1.0 : weights[i],
                              !above.empty() && above[i]});
        limit = sample.limit;
      }
    }
  };
  // Consecutive numbers need no memory access, so the compiler can vectorise this.
  if (numbers.given()) {
    add_all([&](std::size_t i) { return numbers[i]; });
  } else {
    add_all([first = numbers[0]](std::size_t i) { return first + i; });
  }
  sample.seen = n;
  sample.weighted = std::ranges::any_of(weights, [](double weight) { return weight != 1; });
  add_batch(std::move(added), numbers, scores.size());
}

RowKeys Calibration::KeyColumns::keys() const { return keys_of(!groups.empty(), !clusters.empty()); }

Calibration::SampleKey Calibration::KeyColumns::of(std::size_t row) const {
  return {.group = groups.empty() ? 0 : groups[row], .cluster = clusters.empty() ? 0 : clusters[row]};
}

/// Add each of the rows to the sample of its key with add_row(sample, i).
template <class AddRow>
void Calibration::add_samples(const KeyColumns& columns, std::size_t rows, const AddRow& add_row) {
  const std::vector<std::uint32_t> place = numbered(columns.groups, columns.clusters);
  std::vector<std::uint64_t> counts;
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < rows; ++i) {
    if (place[i] == counts.size()) {
      counts.push_back(0);
      first.push_back(i);
    }
    ++counts[place[i]];
  }
  std::vector<Sample*> samples;
  samples.reserve(counts.size());
  for (std::size_t p = 0; p < counts.size(); ++p) {
    samples.push_back(&samples_[columns.of(first[p])]);
    samples.back()->entries.reserve(std::min(counts[p], max_entries()));
    samples.back()->seen += counts[p];
  }
  for (std::size_t i = 0; i < rows; ++i) add_row(*samples[place[i]], i);
}

/// The number of entries at which a sample is compacted: a quarter more than the capacity, so that the linear cost of a
/// compaction is amortised over the added rows.
std::uint64_t Calibration::max_entries() const {
  const std::uint64_t spare = std::max<std::uint64_t>(64, options_.capacity / 4);
  return options_.capacity < kMaxRows ? options_.capacity + spare : options_.capacity;
}

/// Reserve memory for this many rows; if memory runs out, the sample is unchanged.
void Calibration::make_room(Sample& sample, std::size_t rows) const {
  std::vector<Entry>& entries = sample.entries;
  const std::uint64_t max = max_entries();
  const std::uint64_t needed = std::min<std::uint64_t>(entries.size() + rows, max);
  if (needed <= entries.capacity()) return;
  // Double the memory each time; the last step reserves the maximum while the copy is small. Untouched memory is free.
  entries.reserve(needed > max / 4 ? max : std::max<std::uint64_t>(needed, 2 * entries.capacity()));
}

void Calibration::append(Sample& sample, const Entry& entry) const {
  std::vector<Entry>& entries = sample.entries;
  if (entries.size() == entries.capacity()) make_room(sample, 1);
  entries.push_back(entry);
  if (entries.size() >= max_entries()) compact(sample);
}

void Calibration::compact(Sample& sample) const {
  // Keep one row more than the capacity, so that a duplicate of the last kept row can be detected.
  const auto last = sample.entries.begin() + static_cast<std::ptrdiff_t>(options_.capacity);
  std::ranges::nth_element(sample.entries, last, {}, &Entry::priority);
  sample.limit = last->priority;
  sample.entries.resize(options_.capacity + 1);
}

std::vector<Calibration::Entry> Calibration::kept(const Sample& sample) const {
  std::vector<Entry> entries = sample.entries;
  // A sample that was read from bytes is already sorted.
  if (!std::ranges::is_sorted(entries, {}, &Entry::priority)) std::ranges::sort(entries, {}, &Entry::priority);
  const std::size_t rows = std::min<std::uint64_t>(entries.size(), options_.capacity);
  entries.resize(rows);
  return entries;
}

std::map<Calibration::SampleKey, std::vector<Calibration::Entry>> Calibration::kept() const {
  std::map<SampleKey, std::vector<Entry>> all;
  for (const auto& [place, sample] : samples_) all.emplace_hint(all.end(), place, kept(sample));
  return all;
}

std::ranges::subrange<Calibration::Samples::const_iterator> Calibration::samples_of(std::int64_t group) const {
  using Limits = std::numeric_limits<std::int64_t>;
  return {samples_.lower_bound({.group = group, .cluster = Limits::min()}),
          samples_.upper_bound({.group = group, .cluster = Limits::max()})};
}

std::string Calibration::SampleKey::to_string(RowKeys keys) const {
  if (!have_clusters(keys)) return fmt::format("group {}", group);
  return fmt::format("cluster {}", cluster) + (have_groups(keys) ? fmt::format(" of group {}", group) : "");
}

std::uint64_t Calibration::entries() const {
  std::uint64_t count = 0;
  for (const auto& [group, sample] : samples_) count += sample.entries.size();
  return count;
}

/// Make room for this many more priorities in the table of stored rows. Throws DuplicateRowError if a row is there
/// twice, which only a batch can be that was not added yet.
void Calibration::index_rows(std::uint64_t more) {
  if (stored_.has_room(more)) return;
  Stored fresh;
  const std::uint64_t needed = entries() + more;
  fresh.reset(needed + needed / 8);  // rows that are not kept any more stay in the table until it is made again
  for (const auto& [group, sample] : samples_) {
    for (const Entry& entry : sample.entries) {
      if (!fresh.insert(entry.priority)) refuse_duplicate(entry.priority, {});
    }
  }
  stored_.swap(fresh);
}

/// Note the rows of a batch as stored; throw DuplicateRowError, and note none, if one of them is.
void Calibration::insert_rows(const Calibration& added) {
  for (const auto& [group, theirs] : added.samples_) {
    const auto ours = samples_.find(group);
    const std::uint64_t limit = ours == samples_.end() ? theirs.limit : std::min(ours->second.limit, theirs.limit);
    for (const Entry& entry : theirs.entries) {
      if (entry.priority > limit || stored_.insert(entry.priority)) continue;
      stored_.clear();  // made again from the rows that are there when rows are added
      std::vector<SampleKey> parts;
      for (const auto& [part, sample] : added.samples_) {
        const auto copies = std::ranges::count(sample.entries, entry.priority, &Entry::priority);
        parts.insert(parts.end(), static_cast<std::size_t>(copies), part);
      }
      refuse_duplicate(entry.priority, std::move(parts));
    }
  }
}

/// Throw for a row that was added twice. `parts` are the keys of its copies that are not in the sample.
void Calibration::refuse_duplicate(std::uint64_t priority, std::vector<SampleKey> parts) const {
  for (const auto& [group, sample] : samples_) {
    const bool found = std::ranges::find(sample.entries, priority, &Entry::priority) != sample.entries.end();
    if (found) parts.push_back(group);
  }
  std::ranges::sort(parts);
  std::string where = "to " + parts.front().to_string(keys_);
  if (parts.back() != parts.front()) where += " and to " + parts.back().to_string(keys_);
  const std::uint64_t number = unmix_bits(priority) ^ key();
  throw DuplicateRowError(number, fmt::format("Calibration: row number {} was added twice, {}; add every row once, and "
                                              "continue the row numbers from one batch to the next",
                                              number, where));
}

void Calibration::check_merge(const Calibration& other) const {
  if (options_.capacity != other.options_.capacity || options_.seed != other.options_.seed) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "Calibration::merge: expected capacity {} and seed {}, found capacity {} and seed {}",
                               options_.capacity, options_.seed, other.options_.capacity, other.options_.seed);
  }
  if (rows_seen() > kMaxRows || other.rows_seen() > kMaxRows - rows_seen()) {
    throw Error(ErrorCode::kInvalidArgument, "Calibration::merge: the total exceeds 2^63 rows");
  }
  for (const std::int64_t group : other.groups()) {
    if (samples_of(group).empty() || stored_label(group) == other.stored_label(group)) continue;
    refuse_label(label(group), other.label(group));
  }
}

void Calibration::merge(Calibration&& other) {
  if (!samples_.empty() || this == &other) {
    merge(std::as_const(other));
    return;
  }
  check_merge(other);
  if (other.samples_.empty()) return;
  samples_ = std::move(other.samples_);
  labels_ = std::move(other.labels_);
  keys_ = other.keys_;
  numbers_ = other.numbers_;
  stored_.swap(other.stored_);
  other.samples_.clear();
  other.labels_.clear();
  other.stored_.clear();
}

/// Merge the rows of a batch, which may have a row twice.
void Calibration::add_batch(Calibration&& added, RowNumbers numbers, std::size_t rows) {
  if (numbers.given()) {
    for (std::size_t i = 0; i < rows; ++i) added.numbers_.include({numbers[i], numbers[i]});
    if (!may_have(added.numbers_)) added.index_rows(0);
  } else {
    added.numbers_ = {numbers[0], numbers[rows - 1]};
  }
  merge(std::move(added));
}

/// Whether a row with one of these numbers may be stored. Once there is a table, it is kept complete.
bool Calibration::may_have(const NumberRange& numbers) const {
  return stored_.is_made() || (!samples_.empty() && numbers_.overlaps(numbers));
}

void Calibration::merge(const Calibration& other) {
  if (this == &other) {
    merge(Calibration(other));
    return;
  }
  check_merge(other);
  if (other.samples_.empty()) return;
  take_keys(other.keys_);
  Samples fresh;
  std::map<std::int64_t, std::string> labels = other.labels_;
  for (const auto& [group, theirs] : other.samples_) {
    const auto ours = samples_.find(group);
    if (ours == samples_.end()) {
      fresh.emplace_hint(fresh.end(), group, theirs);
    } else {
      make_room(ours->second, theirs.entries.size());
    }
  }
  if (may_have(other.numbers_)) {
    index_rows(other.entries());
    insert_rows(other);
  }
  // No allocation from here on: either all rows are added or none.
  for (const auto& [group, theirs] : other.samples_) {
    const auto found = samples_.find(group);
    if (found == samples_.end()) continue;
    Sample& ours = found->second;
    ours.seen += theirs.seen;
    ours.weighted = ours.weighted || theirs.weighted;
    ours.limit = std::min(ours.limit, theirs.limit);
    for (const Entry& entry : theirs.entries) {
      if (entry.priority <= ours.limit) append(ours, entry);
    }
  }
  samples_.merge(fresh);
  labels_.merge(labels);
  numbers_.include(other.numbers_);
}

void Calibration::name_groups(const GroupLabels& labels) {
  for (const std::int64_t group : groups()) {
    const std::string* const text = labels.find(group);
    if (text == nullptr || *text == label_of(group)) continue;
    const auto [label, is_new] = labels_.emplace(group, *text);
    if (!is_new && label->second != *text) refuse_label(label->second, *text);
  }
}

/// The label of a group; empty for an integer.
std::string Calibration::stored_label(std::int64_t group) const {
  const auto found = labels_.find(group);
  return found == labels_.end() ? std::string() : found->second;
}

std::string Calibration::label(std::int64_t group) const {
  const auto found = labels_.find(group);
  return found == labels_.end() ? label_of(group) : found->second;
}

std::int64_t Calibration::find_group(std::string_view label) const {
  if (label.empty()) return kNoGroup;
  const std::int64_t number = group_number(label);
  return !samples_of(number).empty() && this->label(number) == label ? number : kUnseenGroup;
}

std::int64_t Calibration::find_group(std::int64_t label) const { return find_group(label_of(label)); }

bool Calibration::labelled() const { return !labels_.empty(); }

std::uint64_t Calibration::rows_seen_in(std::int64_t group) const {
  std::uint64_t rows = 0;
  for (const auto& [place, sample] : samples_of(group)) rows += sample.seen;
  return rows;
}

std::uint64_t Calibration::rows_in(std::int64_t group) const {
  std::uint64_t rows = 0;
  for (const auto& [place, sample] : samples_of(group)) rows += std::min<std::uint64_t>(sample.seen, options_.capacity);
  return rows;
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

std::vector<std::int64_t> Calibration::cluster_numbers() const {
  if (!have_clusters(keys_)) return {};
  std::vector<std::int64_t> clusters;
  clusters.reserve(samples_.size());
  for (const auto& [place, sample] : samples_) clusters.push_back(place.cluster);
  std::ranges::sort(clusters);  // those of several groups
  const auto repeated = std::ranges::unique(clusters);
  clusters.erase(repeated.begin(), repeated.end());
  return clusters;
}

namespace {

/// The sizes of clusters, one per sample.
template <class Samples>
ClusterSizes sizes_of(const Samples& clusters) {
  ClusterSizes all;
  std::vector<double> sizes;
  for (const auto& [place, sample] : clusters) {
    ++all.clusters;
    all.rows += sample.seen;
    all.largest = std::max(all.largest, sample.seen);
    sizes.push_back(static_cast<double>(sample.seen));
  }
  all.effective = static_cast<std::uint64_t>(effective_sample_size(sizes));
  return all;
}

}  // namespace

std::uint64_t Calibration::largest_cluster() const {
  std::uint64_t largest = 0;
  for (const auto& [cluster, sample] : samples_) largest = std::max(largest, sample.seen);
  return have_clusters(keys_) ? largest : 0;
}

std::uint64_t Calibration::effective_clusters() const {
  return have_clusters(keys_) ? sizes_of(samples_).effective : 0;
}

std::map<std::int64_t, ClusterSizes> Calibration::cluster_sizes() const {
  std::map<std::int64_t, ClusterSizes> sizes;
  if (!have_clusters(keys_)) return sizes;
  for (const std::int64_t group : groups()) sizes.emplace_hint(sizes.end(), group, sizes_of(samples_of(group)));
  return sizes;
}

std::vector<std::int64_t> Calibration::groups() const {
  std::vector<std::int64_t> groups;
  for (const auto& [place, sample] : samples_) {
    if (groups.empty() || groups.back() != place.group) groups.push_back(place.group);
  }
  return groups;
}

bool Calibration::has_weights() const {
  return std::ranges::any_of(samples_, [](const auto& group) { return group.second.weighted; });
}

std::uint64_t Calibration::effective_rows() const {
  if (!has_weights()) return rows_kept();
  std::vector<double> weights;
  for (const auto& [group, sample] : samples_) {
    for (const Entry& entry : kept(sample)) weights.push_back(entry.weight);
  }
  return static_cast<std::uint64_t>(effective_sample_size(weights));
}

std::uint64_t Calibration::effective_rows(std::int64_t group) const {
  const auto found = samples_.find({.group = group});  // rows of clusters have no weights
  if (found == samples_.end() || !found->second.weighted) return rows_in(group);
  std::vector<double> weights;
  for (const Entry& entry : kept(found->second)) weights.push_back(entry.weight);
  return static_cast<std::uint64_t>(effective_sample_size(weights));
}

std::vector<CalibrationRow> Calibration::rows(std::int64_t group) const {
  std::vector<std::pair<std::uint64_t, CalibrationRow>> all;
  all.reserve(rows_in(group));
  for (const auto& [place, sample] : samples_of(group)) {
    for (const Entry& entry : kept(sample)) {
      all.emplace_back(entry.priority,
                       CalibrationRow{.score = entry.score,
                                      .above = entry.above,
                                      .weight = entry.weight,
                                      .group = have_groups(keys_) ? std::optional(place.group) : std::nullopt,
                                      .cluster = have_clusters(keys_) ? std::optional(place.cluster) : std::nullopt});
    }
  }
  if (have_clusters(keys_)) std::ranges::sort(all, {}, &std::pair<std::uint64_t, CalibrationRow>::first);
  std::vector<CalibrationRow> rows;
  rows.reserve(all.size());
  for (const auto& [priority, row] : all) rows.push_back(row);
  return rows;
}

}  // namespace widthwise
