#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>
#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/roles.hpp>

#include "base/message.hpp"
#include "conformal/calibration/checks.hpp"
#include "conformal/calibration/group_index.hpp"

namespace widthwise {
namespace {

using internal::kInfinity;

/// The exact sum of a few doubles, as non-overlapping partial sums (Shewchuk 1997), to determine its sign.
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
  std::array<double, 32> partials_{};
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

/// Throw if scores with weights have no such guarantee.
void refuse_weights(const Guarantee& guarantee) {
  if (!guarantee.is_marginal()) Combination().add(Role::kWeight).add(guarantee).check("");
}

/// See SortedScores.
void check_pool(const Calibration& calibration, std::uint64_t pool_below) {
  if (pool_below > calibration.options().capacity) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "cannot pool groups of fewer than {} rows: a calibration keeps {} per group", pool_below,
                               internal::rows_text(calibration.options().capacity));
  }
}

/// Sort the scores of the rows above their prediction, of the others, and of both together.
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

double SortedScores::Group::stored(double test_weight) const { return std::ldexp(unit * test_weight, weight_shift); }

/// The weight level * (total + test_weight) at which the quantile of a group lies. Comparisons with a sum of weights
/// are exact: with rounding, weights of 1 would sometimes give a rank that is off by one.
class SortedScores::Threshold {
 public:
  Threshold(const Group& group, const Guarantee& guarantee, const Level& level, double test_weight)
      : numerator_(level.numerator()),
        denominator_(level.denominator()),
        total_(group.total),
        remainder_(group.remainder) {
    if (group.all.weights.empty() && test_weight == 1) {
      rank_ = guarantee.rank(level, group.all.scores.size());
      return;
    }
    refuse_weights(guarantee);
    test_weight_ = group.stored(test_weight);
    need_ = numerator_.high * (total_.high + test_weight_);
  }

  /// Whether weight - less is at least the threshold.
  [[nodiscard]] bool reached(Sum weight, Sum less = {}) const {
    if (rank_) return weight.high - less.high >= static_cast<double>(*rank_);
    // The weights sum to less than 2^64 and a level is above 2^-64, so no sum can reach this weight.
    if (test_weight_ > 0x1p200) return false;
    const double have = weight.high * denominator_.high;
    const double not_have = less.high * denominator_.high;
    const double gap = (have - not_have) - need_;
    // The gap has at most eight rounding errors.
    if (std::abs(gap) > 0x1p-49 * (have + not_have + need_)) return gap > 0;
    ExactSum exact;
    for (const double w : {weight.high, weight.low, -less.high, -less.low}) {
      exact.add_product(w, denominator_.high);
      exact.add_product(w, denominator_.low);
    }
    for (const double w : {total_.high, total_.low, test_weight_}) {
      exact.add_product(-w, numerator_.high);
      exact.add_product(-w, numerator_.low);
    }
    return !exact.negative();
  }

  /// Return the first i at which the cumulative weight reaches the threshold, or the number of rows if none does.
  [[nodiscard]] std::size_t first_reached(const Ranked& ranked) const {
    const std::size_t n = ranked.scores.size();
    if (rank_) {
      const auto before = static_cast<std::uint64_t>(ranked.before.high);
      return *rank_ <= before ? 0 : std::min<std::uint64_t>(n, *rank_ - before - 1);
    }
    return *std::ranges::partition_point(std::views::iota(std::size_t{0}, n),
                                         [&](std::size_t i) { return !reached(ranked.weight_up_to(i)); });
  }

  /// The same for the rows of one side by descending score, which come first in the order of the other side: return
  /// the last i at which the weight of the rows from i on reaches the threshold, or the number of rows if none does.
  [[nodiscard]] std::size_t last_reached(const Ranked& ranked) const {
    const std::size_t n = ranked.scores.size();
    if (rank_) return *rank_ <= n ? n - *rank_ : n;
    const std::size_t reached_rows =
        *std::ranges::partition_point(std::views::iota(std::size_t{0}, n), [&](std::size_t i) {
          Sum less = i == 0 ? ranked.before : ranked.weight_up_to(i - 1);
          accumulate(less, remainder_);
          return reached(total_, less);
        });
    return reached_rows == 0 ? n : reached_rows - 1;
  }

 private:
  SplitInteger numerator_;
  SplitInteger denominator_;
  Sum total_;
  double remainder_;
  double test_weight_ = 1;
  double need_ = 0;
  std::optional<std::uint64_t> rank_;  // if all weights are 1
};

void SortedScores::accumulate(Sum& sum, double weight) {
  const double high = sum.high + weight;
  const double part = high - sum.high;
  const double low = sum.low + ((sum.high - (high - part)) + (weight - part));
  sum.high = high + low;
  sum.low = low - (sum.high - high);
}

SortedScores::Group SortedScores::rank_rows(std::span<const Calibration::Entry> entries) {
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

SortedScores::SortedScores(const Calibration& calibration, const Guarantee& guarantee, std::uint64_t pool_below,
                           const ClusterRule& clusters)
    : weighted_(calibration.has_weights()), by_group_(have_groups(calibration.keys())), guarantee_(guarantee) {
  const bool by_cluster = have_clusters(calibration.keys());
  Combination()
      .add(guarantee)
      .add(Role::kWeight, weighted_)
      .add(Role::kCluster, by_cluster)
      .add(Choice::kPooledGroups, pool_below > 0)
      .check("");
  check_pool(calibration, pool_below);
  if (by_cluster) {
    rank_groups_of_clusters(calibration, clusters);
    return;
  }
  auto index = std::make_shared<internal::GroupIndex>();
  const bool pools = pool_below > 0 && by_group_;
  std::vector<Calibration::Entry> rest;
  for (const auto& [place, sample] : calibration.samples_) {
    if (pools && sample.seen <= pool_below) rest.insert(rest.end(), sample.entries.begin(), sample.entries.end());
    if (pools && sample.seen < pool_below) continue;
    (void)index->add(place.group);
    const bool complete = sample.entries.size() <= calibration.options_.capacity;
    groups_.push_back(complete ? rank_rows(sample.entries) : rank_rows(calibration.kept(sample)));
  }
  index_ = std::move(index);
  if (pools) rest_ = rank_rows(rest);
}

const SortedScores::Group* SortedScores::find(std::int64_t group) const {
  if (index_ == nullptr || group == kNoGroup) return nullptr;
  const std::uint32_t place = is_reserved_group(group) ? internal::GroupIndex::kNone : index_->find(group);
  if (place != internal::GroupIndex::kNone) return &groups_[place];
  return rest_ ? &*rest_ : nullptr;
}

std::int64_t SortedScores::quantile_group(std::int64_t group) const {
  const Group* found = find(group);
  if (found == nullptr) return group == kNoGroup ? kNoGroup : kUnseenGroup;
  return rest_ && found == &*rest_ ? kRestGroup : group;
}

std::size_t SortedScores::rows(std::int64_t group) const {
  const Group* found = find(group);
  return found == nullptr ? 0 : found->all.scores.size();
}

bool SortedScores::has_group(std::int64_t group) const { return find(group) != nullptr; }

std::vector<std::int64_t> SortedScores::groups() const {
  if (index_ == nullptr) return {};
  return {index_->groups().begin(), index_->groups().end()};
}

/// Without a test weight, that of any new row in a calibration without weights, and an error otherwise: weights are
/// likelihood ratios up to a factor, so the test weight is needed to fix their scale.
double SortedScores::checked_weight(const char* where, std::optional<double> test_weight) const {
  if (!test_weight && weighted_) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "SortedScores::{}: the calibration has weights, so test_weight is required; pass the "
                               "likelihood ratio of the row, on the scale of the calibration weights",
                               where);
  }
  if (test_weight && clusters_ > 0 && form_ == ClusterForm::kClusters) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "SortedScores::{}: each cluster counts once, so the new row has weight 1; pass no "
                               "test_weight",
                               where);
  }
  const double weight = test_weight.value_or(new_weight_);
  if (clusters_ > 0 && !(weight >= 1)) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "SortedScores::{}: expected the number of rows of a cluster, at least 1, found {}",
                               where, weight);
  }
  if (!(weight > 0)) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "SortedScores::{}: expected a positive test weight, found {}", where, weight);
  }
  return weight;
}

double SortedScores::quantile(const Level& level, std::int64_t group, std::optional<double> test_weight,
                              WhenTooFew when_too_few) const {
  const double weight = checked_weight("quantile", test_weight);
  const Group* found = find(group);
  if (found == nullptr) return kInfinity;
  const std::vector<double>& scores = found->all.scores;
  const std::size_t index = Threshold(*found, guarantee_, level, weight).first_reached(found->all);
  if (index < scores.size()) return scores[index];
  if (when_too_few == WhenTooFew::kError && clusters_ > 0 && form_ == ClusterForm::kRows) {
    throw internal::make_error(
        ErrorCode::kTooFewRows,
        "SortedScores::quantile: level {} needs more rows for a new cluster of {} rows, found {} "
        "in {} clusters",
        level.to_string(), weight, scores.size(), found->clusters);
  }
  if (when_too_few == WhenTooFew::kError && clusters_ > 0) {
    throw internal::make_error(ErrorCode::kTooFewRows, "SortedScores::quantile: level {} needs {} clusters, found {}",
                               level.to_string(), level.min_rows(), found->clusters);
  }
  if (when_too_few == WhenTooFew::kError) {
    const std::string where = fmt::format("SortedScores::quantile: level {} needs ", level.to_string());
    const std::string rows = fmt::format(", found {} in group {}", scores.size(), group);
    throw Error(ErrorCode::kTooFewRows, where +
                                            (found->all.weights.empty() && weight == 1
                                                 ? internal::rows_text(guarantee_.min_rows(level))
                                                 : fmt::format("more rows for a test weight of {}", weight)) +
                                            rows);
  }
  return kInfinity;
}

void SortedScores::quantiles(std::span<const std::int64_t> groups, std::span<const double> test_weights,
                             std::span<const Level> levels, MutableMatrixView out, WhenTooFew when_too_few) const {
  const std::size_t k = levels.size();
  const auto group_of = [&](std::size_t i) { return groups.empty() ? 0 : groups[i]; };
  if (!test_weights.empty()) {
    for (std::size_t i = 0; i < out.rows(); ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        out(i, j) = quantile(levels[j], group_of(i), test_weights[i], when_too_few);
      }
    }
    return;
  }
  internal::GroupIndex seen;
  std::vector<double> found;
  for (std::size_t i = 0; i < out.rows(); ++i) {
    const std::size_t place = seen.add(group_of(i));
    if (place * k == found.size()) {
      for (const Level& level : levels) found.push_back(quantile(level, group_of(i), std::nullopt, when_too_few));
    }
    std::copy_n(found.data() + place * k, k, out.row(i).data());
  }
}

SidedScore SortedScores::sided_quantile(const Level& level, bool below, std::int64_t group,
                                        std::optional<double> test_weight) const {
  const double weight = checked_weight("sided_quantile", test_weight);
  const Group* found = find(group);
  if (found == nullptr) return {kInfinity, below};
  // An upper bound first passes the rows below their prediction, by descending score, then those above, by ascending
  // score.
  const Ranked& side = below ? found->above : found->below;
  const Ranked& first = &side == &found->above ? found->below : found->above;
  const Threshold threshold(*found, guarantee_, level, weight);
  const std::size_t crossing = threshold.last_reached(first);
  if (crossing < first.scores.size()) return {first.scores[crossing], !below};
  const std::size_t index = threshold.first_reached(side);
  return {index < side.scores.size() ? side.scores[index] : kInfinity, below};
}

double SortedScores::p_value(double score, std::int64_t group, std::optional<double> test_weight) const {
  const double checked = checked_weight("p_value", test_weight);
  const Group* found = find(group);
  if (found == nullptr) return 1;
  const Ranked& all = found->all;
  const auto less = static_cast<std::size_t>(std::ranges::lower_bound(all.scores, score) - all.scores.begin());
  const Sum before = less == 0 ? all.before : all.weight_up_to(less - 1);
  const double weight = found->stored(checked);
  if (std::isinf(weight)) return 1;
  const double rest = (found->total.high - before.high) + (found->total.low - before.low);
  return std::min(1.0, (rest + weight) / (found->total.high + weight));
}

}  // namespace widthwise
