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
  if (keys == RowKeys::kClusters || keys_ == RowKeys::kClusters) {
    throw internal::make_error(
        ErrorCode::kInvalidArgument,
        "Calibration: these rows have {}, but the {} in the calibration set have {}; pass {} for "
        "every row, or start from an empty calibration (replace)",
        keys == RowKeys::kClusters ? "clusters" : "no clusters", rows,
        keys_ == RowKeys::kClusters ? "clusters" : "none", keys_ == RowKeys::kClusters ? "a cluster" : "none");
  }
  throw Error(ErrorCode::kInvalidArgument,
              keys == RowKeys::kGroups
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
    const bool is_weighted = row.weight != 1;
    if (row.group || is_weighted) {
      Combination()
          .add(Role::kCluster)
          .add(Role::kGroup, row.group.has_value())
          .add(Role::kWeight, is_weighted)
          .check(kAdd);
    }
    refuse_reserved({&*row.cluster, 1}, row_number, "cluster");
  }
  if (row.group) refuse_reserved({&*row.group, 1}, row_number, "group");
  take_keys(row.cluster ? RowKeys::kClusters : row.group ? RowKeys::kGroups : RowKeys::kNone);
  const std::int64_t group = row.cluster.value_or(row.group.value_or(0));
  const auto found = samples_.find(group);
  Sample fresh;
  Sample& sample = found == samples_.end() ? fresh : found->second;
  const std::uint64_t priority = mix_bits(row_number ^ key());
  const bool kept = priority <= sample.limit;
  const bool is_searched = kept && may_have({row_number, row_number});
  if (is_searched) {
    index_rows(1);
    if (stored_.contains(priority)) refuse_duplicate(priority, {group});
  }
  if (kept) {
    append(sample, {priority, internal::without_negative_zero(row.score), row.weight, row.above});
  }
  ++sample.seen;
  sample.weighted = sample.weighted || row.weight != 1;
  if (found == samples_.end()) samples_.emplace(group, std::move(fresh));
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

/// Add rows to the samples of their groups or clusters, which are `keys`.
void Calibration::add_keyed(RowKeys kind, RowNumbers numbers, std::span<const double> scores,
                            std::span<const bool> above, std::span<const double> weights,
                            std::span<const std::int64_t> keys) {
  // If one sample runs out of memory, the rows of other samples must not be added either.
  Calibration added(options_);
  added.keys_ = kind;
  const std::uint64_t key = this->key();
  added.add_samples(keys, [&](Sample& sample, std::size_t i) {
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
  if (!clusters.empty()) {
    Combination()
        .add(Role::kCluster)
        .add(Role::kGroup, !groups.empty())
        .add(Role::kWeight, !weights.empty())
        .check(kAdd);
    take_keys(RowKeys::kClusters);
    add_keyed(RowKeys::kClusters, numbers, scores, above, {}, clusters);
    return;
  }
  check_need(Role::kWeight, has_weights(), !weights.empty(), kAdd);
  take_keys(groups.empty() ? RowKeys::kNone : RowKeys::kGroups);
  if (!groups.empty()) {
    add_keyed(RowKeys::kGroups, numbers, scores, above, weights, groups);
    return;
  }
  const std::uint64_t key = this->key();
  Calibration added(options_);
  Sample& sample = added.samples_[0];
  if (const auto found = samples_.find(0); found != samples_.end()) sample.limit = found->second.limit;
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

/// Add each row to the sample of its key with add_row(sample, i).
template <class AddRow>
void Calibration::add_samples(std::span<const std::int64_t> keys, const AddRow& add_row) {
  internal::GroupIndex index;
  std::vector<std::uint32_t> place(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) place[i] = index.add(keys[i]);
  std::vector<std::uint64_t> rows(index.size());
  for (const std::uint32_t p : place) ++rows[p];
  std::vector<Sample*> samples;
  samples.reserve(index.size());
  for (std::size_t p = 0; p < index.size(); ++p) {
    samples.push_back(&samples_[index.groups()[p]]);
    samples.back()->entries.reserve(std::min(rows[p], max_entries()));
    samples.back()->seen += rows[p];
  }
  for (std::size_t i = 0; i < keys.size(); ++i) add_row(*samples[place[i]], i);
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

std::map<std::int64_t, std::vector<Calibration::Entry>> Calibration::kept() const {
  std::map<std::int64_t, std::vector<Entry>> all;
  for (const auto& [group, sample] : samples_) all.emplace_hint(all.end(), group, kept(sample));
  return all;
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
      std::vector<std::int64_t> parts;
      for (const auto& [part, sample] : added.samples_) {
        const auto copies = std::ranges::count(sample.entries, entry.priority, &Entry::priority);
        parts.insert(parts.end(), static_cast<std::size_t>(copies), part);
      }
      refuse_duplicate(entry.priority, std::move(parts));
    }
  }
}

/// Throw for a row that was added twice. `parts` are the groups or clusters of its copies that are not in the sample.
void Calibration::refuse_duplicate(std::uint64_t priority, std::vector<std::int64_t> parts) const {
  for (const auto& [group, sample] : samples_) {
    const bool found = std::ranges::find(sample.entries, priority, &Entry::priority) != sample.entries.end();
    if (found) parts.push_back(group);
  }
  std::ranges::sort(parts);
  const char* const what = keys_ == RowKeys::kClusters ? "cluster" : "group";
  std::string where = fmt::format("to {} {}", what, parts.front());
  if (parts.back() != parts.front()) where += fmt::format(" and to {} {}", what, parts.back());
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
  for (const auto& [group, theirs] : other.samples_) {
    const auto ours = samples_.find(group);
    if (ours != samples_.end() && ours->second.label != theirs.label) refuse_label(label(group), other.label(group));
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
  keys_ = other.keys_;
  numbers_ = other.numbers_;
  stored_.swap(other.stored_);
  other.samples_.clear();
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
  std::map<std::int64_t, Sample> fresh;
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
  numbers_.include(other.numbers_);
}

void Calibration::name_groups(const GroupLabels& labels) {
  for (auto& [group, sample] : samples_) {
    const std::string* const text = labels.find(group);
    if (text == nullptr || *text == label_of(group)) continue;
    if (!sample.label.empty() && sample.label != *text) refuse_label(sample.label, *text);
    sample.label = *text;
  }
}

std::string Calibration::label(std::int64_t group) const {
  const auto found = samples_.find(group);
  return found == samples_.end() || found->second.label.empty() ? label_of(group) : found->second.label;
}

std::int64_t Calibration::find_group(std::string_view label) const {
  if (label.empty()) return kNoGroup;
  const std::int64_t number = group_number(label);
  return samples_.contains(number) && this->label(number) == label ? number : kUnseenGroup;
}

std::int64_t Calibration::find_group(std::int64_t label) const { return find_group(label_of(label)); }

bool Calibration::labelled() const {
  return std::ranges::any_of(samples_, [](const auto& group) { return !group.second.label.empty(); });
}

std::uint64_t Calibration::rows_seen_in(std::int64_t group) const {
  const auto found = samples_.find(group);
  return found == samples_.end() || keys_ == RowKeys::kClusters ? 0 : found->second.seen;
}

std::uint64_t Calibration::rows_in(std::int64_t group) const {
  if (keys_ == RowKeys::kClusters) return group == 0 ? rows_kept() : 0;
  const auto found = samples_.find(group);
  return found == samples_.end() ? 0 : std::min<std::uint64_t>(found->second.seen, options_.capacity);
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
  if (keys_ != RowKeys::kClusters) return {};
  const auto keys = std::views::keys(samples_);
  return {keys.begin(), keys.end()};
}

std::uint64_t Calibration::largest_cluster() const {
  std::uint64_t largest = 0;
  for (const auto& [cluster, sample] : samples_) largest = std::max(largest, sample.seen);
  return keys_ == RowKeys::kClusters ? largest : 0;
}

std::uint64_t Calibration::effective_clusters() const {
  if (keys_ != RowKeys::kClusters) return 0;
  std::vector<double> sizes;
  for (const auto& [cluster, sample] : samples_) sizes.push_back(static_cast<double>(sample.seen));
  return static_cast<std::uint64_t>(effective_sample_size(sizes));
}

std::vector<std::int64_t> Calibration::groups() const {
  if (keys_ == RowKeys::kClusters && !samples_.empty()) return {0};
  const auto keys = std::views::keys(samples_);
  return {keys.begin(), keys.end()};
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
  const auto found = samples_.find(group);
  if (found == samples_.end() || !found->second.weighted) return rows_in(group);
  std::vector<double> weights;
  for (const Entry& entry : kept(found->second)) weights.push_back(entry.weight);
  return static_cast<std::uint64_t>(effective_sample_size(weights));
}

std::vector<CalibrationRow> Calibration::rows(std::int64_t group) const {
  std::vector<CalibrationRow> rows;
  if (keys_ == RowKeys::kClusters) {
    if (group == 0) rows = clustered_rows();
    return rows;
  }
  const auto found = samples_.find(group);
  if (found == samples_.end()) return rows;
  const std::vector<Entry> entries = kept(found->second);
  rows.reserve(entries.size());
  for (const Entry& entry : entries) {
    rows.push_back(
        {entry.score, entry.above, entry.weight, keys_ == RowKeys::kGroups ? std::optional(group) : std::nullopt});
  }
  return rows;
}

/// The kept rows of all clusters, by ascending priority.
std::vector<CalibrationRow> Calibration::clustered_rows() const {
  std::vector<std::pair<std::uint64_t, CalibrationRow>> all;
  all.reserve(rows_kept());
  for (const auto& [cluster, entries] : kept()) {
    for (const Entry& entry : entries) {
      all.emplace_back(entry.priority, CalibrationRow{.score = entry.score, .above = entry.above, .cluster = cluster});
    }
  }
  std::ranges::sort(all, {}, &std::pair<std::uint64_t, CalibrationRow>::first);
  std::vector<CalibrationRow> rows;
  rows.reserve(all.size());
  for (const auto& [priority, row] : all) rows.push_back(row);
  return rows;
}

}  // namespace widthwise
