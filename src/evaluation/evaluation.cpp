#include <widthwise/evaluation.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/roles.hpp>

#include "base/names.hpp"
#include "base/text.hpp"
#include "evaluation/diagnostics/bins.hpp"
#include "evaluation/diagnostics/rows.hpp"
#include "evaluation/parts.hpp"

namespace widthwise {
namespace {

using internal::BinRows;
using internal::count;
using internal::count_of;
using internal::EvennessTest;
using internal::groups_text;
using internal::percent;
using internal::percent_range;
using internal::PlaceTest;
using internal::significant;
using internal::without_rows;

constexpr std::size_t kParts = 10;

// Minimum shares of the rows in a searched range: short ranges show strong local deficits, long ones weak wide
// deficits.
constexpr std::array<double, 3> kRangeShares = {0.05, 0.1, 0.2};
constexpr double kRoomForChance = 1.5;  // factor on the search rows, to leave enough rows to measure

// Groups without a label of their own.
constexpr const char* kUnseenName = "(not calibrated)";
constexpr const char* kNoLabelName = "(no label)";

/// The intervals of some rows.
struct SampledRows {
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> outcomes;

  SampledRows(const IntervalRows& rows, std::span<const std::size_t> numbers) {
    for (const std::size_t row : numbers) {
      lower.push_back(rows.lower[row]);
      upper.push_back(rows.upper[row]);
      outcomes.push_back(rows.outcomes[row]);
    }
  }

  [[nodiscard]] IntervalRows rows() const { return {lower, upper, outcomes}; }
};

// ---- the verdict

std::string calibration_text(std::uint64_t rows, const CalibrationRanks& calibration) {
  return (calibration.approximate_because.empty() ? "" : "an effective sample size of ") +
         count_of(rows, "calibration row") + groups_text(calibration);
}

/// The verdict on intervals whose coverage has a bound instead of a law.
std::string say_of_bound(const LevelEvaluation& found, const CoverageBound& bound) {
  const Proportion& coverage = found.intervals.coverage;
  const std::string measured =
      "Coverage of " + percent(coverage.share) + " on " + count_of(coverage.trials, "test row");
  if (found.verdict == Verdict::kTooLow) {
    return "Not valid here. " + measured + " is below " + percent(found.expected.low) +
           ", which exchangeable rows reach in " + significant(100 * found.confidence) + "% of cases. " + bound.text +
           " These rows are harder than those of the fit: fit again with rows like these.";
  }
  return "Valid. " + measured + " agrees with the guarantee. " + bound.text;
}

/// The rows that the verdict leaves out; empty if there are none.
std::string left_out_text(const LevelEvaluation& found) {
  if (!found.judged) return "";
  const std::uint64_t pooled = found.intervals.coverage.trials - found.judged->trials;
  return " The verdict leaves out " + count_of(pooled, "row") +
         " of pooled groups: their coverage is guaranteed on average, but has no known law to test it by.";
}

/// The verdict on the coverage of the rows that it is about.
std::string say_of_rows(const LevelEvaluation& found, const CalibrationRanks& calibration, const Proportion& coverage) {
  const std::string measured = "Coverage of " + percent(coverage.share) +
                               (found.judged ? " of the rows with a quantile of their own group" : "");
  const std::string law = calibration.of_level_itself               ? "the binomial range of the level for "
                          : calibration.approximate_because.empty() ? "the range expected for "
                                                                    : "the approximate range expected for ";
  const std::string expected =
      law + (calibration.of_level_itself ? "" : calibration_text(found.expected.rows, calibration) + " and ") +
      count_of(coverage.trials, "test row") + " (" + percent_range(found.expected.low, found.expected.high) + ", in " +
      significant(100 * found.confidence) + "% of cases)";
  const std::string harder =
      calibration.of_level_itself
          ? "."
          : ". These rows are harder than the calibration rows: calibrate again with rows like these.";
  if (found.verdict == Verdict::kTooLow && coverage.share >= found.level.value()) {
    return "Lower than expected. " + measured + " reaches the level, but is below " + expected + harder;
  }
  if (found.verdict == Verdict::kTooLow) return "Not valid here. " + measured + " is below " + expected + harder;
  if (found.verdict == Verdict::kTooHigh) {
    return "Valid, but wider than needed. " + measured + " is above " + expected +
           (calibration.of_level_itself ? "." : ". These rows are easier than the calibration rows.");
  }
  if (coverage.share > found.expected.high) {
    const double on_bounds = static_cast<double>(found.intervals.coverage.successes - found.intervals.inside);
    return "Valid. " + measured + " is above " + expected +
           " because scores are tied: " + percent(on_bounds / static_cast<double>(found.intervals.coverage.trials)) +
           " of the outcomes lie on a bound.";
  }
  return "Valid. " + measured + " is within " + expected + ".";
}

std::string say(const LevelEvaluation& found, const CalibrationRanks& calibration) {
  const Proportion& coverage = found.intervals.coverage;
  if (found.verdict == Verdict::kNotJudged) {
    return "No verdict: the finite intervals are all of pooled groups, whose coverage is guaranteed on average, but "
           "has no known law to test it by. Measured coverage is " +
           percent(coverage.share) + " on " + count_of(coverage.trials, "test row") + ".";
  }
  if (found.verdict == Verdict::kInfinite && !calibration.infinite_because.empty()) {
    return "No verdict: intervals are infinite because " + calibration.infinite_because + ".";
  }
  if (found.verdict == Verdict::kInfinite) {
    const bool grouped = !calibration.row_groups.empty();
    return "No verdict: intervals are infinite because the level needs " +
           count_of(calibration.min_rows, "calibration row") + (grouped ? " per group" : "") + "; the model has " +
           count(found.expected.rows) + groups_text(calibration) + ".";
  }
  if (calibration.bound) return say_of_bound(found, *calibration.bound);
  return say_of_rows(found, calibration, found.judged.value_or(coverage)) + left_out_text(found);
}

/// With ties, the lower tail is tested with the covered rows and the upper tail with the rows strictly inside: the
/// count with ties broken at random lies between the two (docs/mathematics.md).
Verdict judge(const IntervalSummary& summary, const CoverageSpread& expected, bool all_infinite) {
  if (all_infinite) return Verdict::kInfinite;
  const auto trials = static_cast<double>(summary.coverage.trials);
  if (summary.coverage.share < expected.low) return Verdict::kTooLow;
  if (static_cast<double>(summary.inside) / trials > expected.high) return Verdict::kTooHigh;
  return Verdict::kValid;
}

/// The verdict on the rows whose groups have a quantile of their own.
void judge_without_pooled(LevelEvaluation& result, const IntervalRows& rows, const internal::RowRanks& ranks) {
  const std::vector<std::size_t> judged = ranks.rows_with_law();
  const std::vector<RankedRows> counts = ranks.count_with_law(judged);
  const auto is_finite = [](const RankedRows& group) { return group.test_rows > 0 && group.rank <= group.rows; };
  if (std::ranges::none_of(counts, is_finite)) {
    result.verdict = Verdict::kNotJudged;
    return;
  }
  const IntervalSummary summary = summarise(SampledRows(rows, judged).rows(), result.level);
  result.judged = summary.coverage;
  result.expected = measured_coverage_spread(counts, result.confidence);
  result.verdict = judge(summary, result.expected, false);
}

// ---- weak places

std::vector<std::size_t> looked_up(std::span<const std::size_t> rows, std::span<const std::size_t> numbers) {
  std::vector<std::size_t> result;
  result.reserve(rows.size());
  for (const std::size_t row : rows) result.push_back(numbers[row]);
  return result;
}

/// Of the weakest ranges of several lengths, return the one with the smallest p-value on the search half. The number of
/// rows that measure a range depends only on features, so it may be used for the choice.
std::optional<FeatureSlab> search_range(const IntervalRows& sampled, MatrixView features, const Level& level) {
  const double half = static_cast<double>(sampled.outcomes.size()) / 2;
  std::optional<FeatureSlab> best;
  double clearest = 0;
  for (const double share : kRangeShares) {
    if (share * half < kRoomForChance * static_cast<double>(kMinSlabRows)) continue;
    std::optional<FeatureSlab> range = weakest_slab(sampled, features, {.min_share = share});
    if (!range) continue;
    const double clearness =
        (level.value() - range->search_coverage) * std::sqrt(static_cast<double>(range->coverage.trials));
    if (best && clearness <= clearest) continue;
    clearest = clearness;
    best = std::move(range);
  }
  return best;
}

bool is_categorical(const SearchRows& search, std::size_t feature) {
  return !search.categories.empty() && search.categories[feature].size() > 0;
}

/// The features that are numbers: the numbers of labels have no order to search in.
class NumericFeatures {
 public:
  explicit NumericFeatures(const SearchRows& search) : all_(search.features) {
    for (std::size_t j = 0; j < all_.columns(); ++j) {
      if (!is_categorical(search, j)) columns_.push_back(j);
    }
    if (columns_.size() == all_.columns()) return;
    for (std::size_t i = 0; i < all_.rows(); ++i) {
      for (const std::size_t j : columns_) values_.push_back(all_(i, j));
    }
  }

  [[nodiscard]] MatrixView view() const {
    return columns_.size() == all_.columns() ? all_ : MatrixView(values_.data(), all_.rows(), columns_.size());
  }

  /// The index of a column of `view` among all features.
  [[nodiscard]] std::size_t feature(std::size_t column) const { return columns_[column]; }

  /// A direction of the columns of `view` as one of all features, which is 0 for categories.
  [[nodiscard]] std::vector<double> of_all(std::span<const double> direction) const {
    std::vector<double> result(all_.columns(), 0);
    for (std::size_t j = 0; j < columns_.size(); ++j) result[columns_[j]] = direction[j];
    return result;
  }

 private:
  MatrixView all_;
  std::vector<std::size_t> columns_;
  std::vector<double> values_;  // of the columns, unless these are all
};

/// Search for the range and the slab of lowest coverage on one half, and test them on the other.
void search_places(LevelEvaluation& result, EvennessTest& places, const IntervalRows& sampled,
                   const SearchRows& search) {
  const NumericFeatures numeric(search);
  const MatrixView view = numeric.view();
  if (view.columns() == 0) return;
  const std::vector<std::size_t> chosen = looked_up(slab_halves(view.rows()).search, search.rows);
  const std::vector<double> features = standardised(view);
  WorstSlab slab = worst_slab(sampled, {features.data(), view.rows(), view.columns()});
  slab.direction = numeric.of_all(slab.direction);
  if (slab.coverage.trials >= kMinSlabRows) {
    result.slab_is_weak = places.add_searched_slab({.kind = PlaceKind::kSlab, .coverage = slab.coverage}, chosen,
                                                   looked_up(slab.measured, search.rows));
    result.slab = std::move(slab);
  }
  std::optional<FeatureSlab> range = search_range(sampled, view, result.level);
  if (range && range->coverage.trials >= kMinSlabRows) {
    range->feature = numeric.feature(range->feature);
    result.range_is_weak = places.add_searched_range({.kind = PlaceKind::kRange,
                                                      .feature = range->feature,
                                                      .low = range->low,
                                                      .high = range->high,
                                                      .reaches_min = range->reaches_min,
                                                      .reaches_greatest = range->reaches_greatest,
                                                      .coverage = range->coverage},
                                                     chosen, looked_up(range->measured, search.rows));
    result.weakest = std::move(range);
  }
}

/// The kind of the bins of a feature; the number of features means the prediction.
PlaceKind kind_of(const SearchRows& search, std::size_t feature) {
  if (feature == search.features.columns()) return PlaceKind::kPrediction;
  return is_categorical(search, feature) ? PlaceKind::kCategory : PlaceKind::kFeature;
}

/// Bins of every feature and of the prediction, with the number of the feature.
struct CutFeature {
  std::size_t feature;
  std::vector<BinRows> bins;
  double min_p_value = 1;
};

std::vector<CutFeature> cut_features(const IntervalRows& sampled, const SearchRows& search) {
  const std::size_t bins = std::min(kParts, search.rows.size() / kMinBinRows);
  std::vector<CutFeature> cut;
  std::vector<double> values(search.rows.size());
  for (std::size_t j = 0; j < search.features.columns(); ++j) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = search.features(i, j);
    cut.push_back({.feature = j,
                   .bins = is_categorical(search, j)
                               ? internal::bins_by_label(sampled, values, search.categories[j], kMinBinRows)
                               : internal::bins_by_feature(sampled, values, bins)});
  }
  if (!search.predictions.empty()) {
    cut.push_back(
        {.feature = search.features.columns(), .bins = internal::bins_by_feature(sampled, search.predictions, bins)});
  }
  return cut;
}

/// Give the bins of groups their labels and order them: integers, texts, groups without a label of their own. The
/// number of a group whose label is a text means nothing.
void name_bins(std::vector<BinRows>& bins, const CalibrationRanks& calibration) {
  std::unordered_map<std::int64_t, std::string_view> labels = {{kNoGroup, kNoLabelName}, {kUnseenGroup, kUnseenName}};
  for (const GroupRank& group : calibration.groups) labels[group.group] = group.label;
  for (BinRows& bin : bins) {
    const std::int64_t group = calibration.row_groups[bin.rows.front()];
    const auto found = labels.find(group);
    const std::string number = label_of(group);
    bin.bin.label = found == labels.end() || found->second.empty() ? number : std::string(found->second);
    if (bin.bin.label != number) bin.bin.low = bin.bin.high = std::numeric_limits<double>::quiet_NaN();
  }
  const auto key = [&](const BinRows& bin) {
    const bool is_number = !std::isnan(bin.bin.low);
    return std::tuple(!is_number, is_reserved_group(calibration.row_groups[bin.rows.front()]),
                      is_number ? std::string_view() : std::string_view(bin.bin.label));
  };
  std::ranges::stable_sort(bins, {}, key);
}

/// The distinct values of a column as labels; empty if they are not just a few integers.
std::optional<Labels> few_integers(std::span<const double> values) {
  std::set<double> distinct;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    // Integers up to 2^53 are exact.
    if (std::trunc(value) != value || std::abs(value) > 0x1p53) return std::nullopt;
    distinct.insert(value);
    if (distinct.size() > kMaxSingleValues) return std::nullopt;
  }
  Labels labels;
  for (const double value : distinct) labels.add(label_of(static_cast<std::int64_t>(value)));
  return labels;
}

std::vector<BinRows> bins_by_column(const IntervalRows& rows, const EvaluatedColumn& column) {
  if (column.labels != nullptr) {
    const std::size_t min_rows = column.labels->size() > kMaxSingleValues ? kMinBinRows : 0;
    return internal::bins_by_label(rows, column.values, *column.labels, min_rows);
  }
  const std::optional<Labels> integers = few_integers(column.values);
  if (!integers) return internal::bins_by_feature(rows, column.values, kParts);
  std::vector<double> numbers;
  numbers.reserve(column.values.size());
  for (const double value : column.values) {
    numbers.push_back(std::isnan(value) ? value : integers->number_of(label_of(static_cast<std::int64_t>(value))));
  }
  return internal::bins_by_label(rows, numbers, *integers, 0);
}

/// Bins of the features, if there are enough rows; they are tested and must not move until the test is finished.
std::vector<CutFeature> test_features(LevelEvaluation& result, EvennessTest& places, const IntervalRows& rows,
                                      const SearchRows& search) {
  if (search.features.columns() == 0 || search.rows.size() < kMinSearchRows) return {};
  const SampledRows sampled(rows, search.rows);
  search_places(result, places, sampled.rows(), search);
  std::vector<CutFeature> by_feature = cut_features(sampled.rows(), search);
  for (CutFeature& cut : by_feature) {
    cut.min_p_value = places.add(kind_of(search, cut.feature), cut.feature, cut.bins, search.rows);
  }
  return by_feature;
}

/// The column that was asked for may be a feature; its places are named once.
void drop_repeated(std::vector<WeakPlace>& places, const std::optional<EvaluatedColumn>& by) {
  if (!by || !by->feature) return;
  std::erase_if(places, [&](const WeakPlace& place) {
    return (place.kind == PlaceKind::kFeature || place.kind == PlaceKind::kCategory) && place.feature == *by->feature;
  });
}

void find_weak_places(LevelEvaluation& result, const IntervalRows& rows, const CalibrationRanks& calibration,
                      const SearchRows& search, const EvaluationOptions& options, const PlaceTest& test) {
  const std::optional<EvaluatedColumn>& by = options.by;
  EvennessTest places(test, result.level, options.levels);
  std::vector<BinRows> by_width = internal::bins_by_width(rows, kParts);
  std::vector<BinRows> by_group;
  if (!calibration.row_groups.empty()) {
    by_group = internal::bins_by_group(rows, calibration.row_groups);
    name_bins(by_group, calibration);
  }
  std::vector<BinRows> by_column;
  if (by) by_column = bins_by_column(rows, *by);
  std::vector<CutFeature> by_feature;
  if (result.verdict != Verdict::kInfinite && rows.outcomes.size() >= kMinSearchRows) {
    places.add(PlaceKind::kWidth, 0, by_width, {});
    places.add(PlaceKind::kGroup, 0, by_group, {});
    places.add(PlaceKind::kColumn, 0, by_column, {});
    by_feature = test_features(result, places, rows, search);
  }
  std::move(places).finish(result);
  drop_repeated(result.weak_places, by);
  result.by_width = without_rows(by_width);
  result.by_group = without_rows(by_group);
  if (by) result.by = ColumnBins{.name = by->name, .bins = without_rows(by_column)};
  // The feature of the searched range comes first if that range is weak, then ascending p-values.
  std::ranges::stable_sort(by_feature, {}, [&](const CutFeature& cut) {
    return result.range_is_weak && cut.feature == result.weakest->feature ? -1 : cut.min_p_value;
  });
  bool has_category = false;
  for (const CutFeature& cut : by_feature) {
    const bool category = kind_of(search, cut.feature) == PlaceKind::kCategory;
    const bool is_kept = result.by_feature.size() < kMaxFeaturesKept || (category && !has_category);
    if (!is_kept || cut.bins.size() == 1) continue;
    result.by_feature.push_back({.feature = cut.feature, .bins = without_rows(cut.bins)});
    has_category = has_category || category;
  }
}

constexpr auto kVerdictNames = std::to_array<internal::Named<Verdict>>({
    {Verdict::kValid, "valid"},
    {Verdict::kTooLow, "too low"},
    {Verdict::kTooHigh, "too high"},
    {Verdict::kInfinite, "infinite"},
    {Verdict::kNotJudged, "not judged"},
});

constexpr auto kPlaceNames = std::to_array<internal::Named<PlaceKind>>({
    {PlaceKind::kRange, "range"},
    {PlaceKind::kCategory, "category"},
    {PlaceKind::kColumn, "column"},
    {PlaceKind::kFeature, "feature"},
    {PlaceKind::kGroup, "group"},
    {PlaceKind::kPrediction, "prediction"},
    {PlaceKind::kWidth, "width"},
    {PlaceKind::kSlab, "slab"},
});

}  // namespace

std::string_view name_of(Verdict verdict) { return internal::name_in(kVerdictNames, verdict); }

std::string_view name_of(PlaceKind kind) { return internal::name_in(kPlaceNames, kind); }

CoverageSpread expected_coverage(const CalibrationRanks& calibration, std::size_t n, double confidence) {
  const internal::RowRanks ranks(calibration, n);
  CoverageSpread spread = measured_coverage_spread(ranks.count(), confidence);
  if (spread.mean == 1) return spread;
  if (!calibration.bound) {
    const std::vector<std::size_t> judged = ranks.rows_with_law();
    if (judged.size() == n) return spread;
    const double share = static_cast<double>(judged.size()) / static_cast<double>(n);
    const CoverageSpread of_judged =
        judged.empty() ? CoverageSpread{} : measured_coverage_spread(ranks.count_with_law(judged), confidence);
    spread.low = share * of_judged.low;
    spread.high = share * of_judged.high + (1 - share);
    return spread;
  }
  // Half of the error rate is for the training set, the other half for the test rows (Hoeffding).
  const double failure = (1 - confidence) / 2;
  const double deviation = std::sqrt(-std::log(failure) / (2 * static_cast<double>(n)));
  spread.low = std::max(0.0, calibration.bound->of_model(failure) - deviation);
  spread.high = 1;
  return spread;
}

LevelEvaluation evaluate(const IntervalRows& rows, const Level& level, const CalibrationRanks& calibration,
                         const SearchRows& search, const EvaluationOptions& options) {
  if (options.levels == 0) throw Error(ErrorCode::kInvalidArgument, "evaluate: expected at least 1 level, found 0");
  if (!search.categories.empty()) {
    internal::check_size(search.categories.size(), search.features.columns(), "lists of categories", "evaluate");
  }
  const auto levels = static_cast<double>(options.levels);
  LevelEvaluation result{.level = level,
                         .intervals = summarise(rows, level),
                         .expected = {},
                         .confidence = 1 - (1 - kVerdictConfidence) / levels,
                         .summary = {},
                         .slab = {},
                         .weakest = {}};
  internal::check_clusters(rows, calibration, options);
  Combination()
      .add(Role::kCluster, calibration.sets.has_value())
      .add(Choice::kBins, options.by.has_value())
      .check("evaluate");
  if (calibration.sets) {
    internal::judge_clusters(result, rows, calibration, *calibration.sets, options.clusters);
    return result;
  }
  const internal::RowRanks ranks(calibration, rows.outcomes.size());
  const std::vector<RankedRows> ranked = ranks.count();
  const bool all_infinite =
      std::ranges::all_of(ranked,
                          [](const RankedRows& group) { return group.test_rows == 0 || group.rank > group.rows; }) ||
      (!calibration.infinite_because.empty() && result.intervals.infinite == result.intervals.coverage.trials);
  result.expected = expected_coverage(calibration, rows.outcomes.size(), result.confidence);
  if (!calibration.bound && ranks.rows_with_law().size() < rows.outcomes.size()) {
    judge_without_pooled(result, rows, ranks);
  } else {
    result.verdict = judge(result.intervals, result.expected, all_infinite);
  }
  result.summary = say(result, calibration);
  find_weak_places(result, rows, calibration, search, options, PlaceTest(rows, level, ranks));
  return result;
}

void mark_weak(std::span<Bin> bins, const Level& level, std::optional<std::uint64_t> calibration_rows) {
  const std::uint64_t n = calibration_rows.value_or(kKnownQuantile);
  std::vector<double> p_values;
  std::vector<Bin*> tested;
  for (Bin& bin : bins) {
    bin.weak = false;
    const Proportion& coverage = bin.coverage;
    if (coverage.trials < kMinBinRows) continue;
    const RankedRows group{.rows = n, .rank = level.rank(n), .test_rows = coverage.trials};
    p_values.push_back(
        coverage.share >= level.value() ? 1 : CoveredCount(std::span(&group, 1)).at_most(coverage.successes));
    tested.push_back(&bin);
  }
  const std::vector<bool> weak = internal::reject_by_holm(p_values, kWeakPlaceError);
  for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->weak = weak[i];
}

}  // namespace widthwise
