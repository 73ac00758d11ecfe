#include <widthwise/evaluator.hpp>

#include <algorithm>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/track.hpp>
#include <widthwise/train/conditional_coverage.hpp>

#include "base/message.hpp"
#include "base/row_sample.hpp"
#include "train/progress_steps.hpp"

namespace widthwise {
namespace {

using internal::RowSample;

/// Bounds of a block of rows at all levels take at most twice this many numbers.
constexpr std::size_t kBlockNumbers = std::size_t{1} << 21;

/// Throw for what needs independent rows and a model whose rows are not.
void check_options(const Model& model, const EvaluatorOptions& options) {
  model.scheme()
      .combination()
      .add(Choice::kPictures, !options.counted_levels.empty())
      .add(Choice::kBins, options.by_column)
      .add(Choice::kConditional, options.classifier != nullptr)
      .check("");
}

}  // namespace

Evaluator::Evaluator(const Model& model, EvaluatorOptions options)
    : model_(&model),
      origin_({.guarantee = model.parts().guarantee,
               .features = model.parts().features,
               .categories = model.parts().categories}),
      options_(std::move(options)),
      sample_(std::make_unique<RowSample>(kMaxSearchRows, 0)) {
  if (options_.levels.empty()) options_.levels = model.parts().levels;
  check_options(model, options_);
  bounds_.resize(options_.levels.size());
  covered_.resize(options_.counted_levels.size());
  if (options_.in_order) exchangeability_ = monitor_of(model, *options_.in_order);
  if (model.scheme().refusal(Choice::kOutcomeQuantiles).empty() && model.calibration_rows() > 0) crps_.emplace();
}

Evaluator::Evaluator(IntervalOrigin origin, EvaluatorOptions options)
    : model_(nullptr), origin_(std::move(origin)), options_(std::move(options)) {
  if (options_.levels.empty() || !options_.counted_levels.empty() || options_.in_order) {
    throw Error(ErrorCode::kInvalidArgument,
                "Evaluator: given intervals need their levels, and have no others and no order");
  }
  if (!origin_.features.empty()) sample_ = std::make_unique<RowSample>(kMaxSearchRows, 0);
  bounds_.resize(options_.levels.size());
}

Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&& other) noexcept = default;

// ---- rows

void Evaluator::add(const Rows& rows, std::span<const double> outcomes) {
  const std::size_t n = rows.x.rows();
  if (outcomes.size() != n) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "Evaluator::add: {} rows, but {} outcomes", n,
                               outcomes.size());
  }
  const std::size_t levels = options_.levels.size() + options_.counted_levels.size();
  const std::size_t block = std::max<std::size_t>(1, kBlockNumbers / levels);
  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t count = std::min(block, n - first);
    add_block(rows.slice(first, count), outcomes.subspan(first, count));
  }
}

void Evaluator::add_block(const Rows& rows, std::span<const double> outcomes) {
  const std::size_t n = rows.x.rows();
  std::vector<Level> levels = options_.levels;
  levels.insert(levels.end(), options_.counted_levels.begin(), options_.counted_levels.end());
  const std::size_t k = levels.size();
  std::vector<double> predictions(n);
  std::vector<double> lower(n * k);
  std::vector<double> upper(n * k);
  model_->sketch(sketch_, rows, outcomes);
  if (exchangeability_) observe(*exchangeability_, *model_, rows, outcomes);
  model_->intervals(rows, levels, predictions, {lower.data(), n, k}, {upper.data(), n, k});
  if (crps_) add_crps(*crps_, rows, outcomes);
  sample_rows(rows.x, predictions);
  add_bounds({lower.data(), n, k}, {upper.data(), n, k}, outcomes);
  predictions_.insert(predictions_.end(), predictions.begin(), predictions.end());
  for (const std::int64_t group : rows.groups) groups_.push_back(model_->quantile_group(group));
  clusters_.insert(clusters_.end(), rows.clusters.begin(), rows.clusters.end());
  if (rows.ids.empty()) return;
  ids_.resize(outcomes_.size() - n);
  ids_.insert(ids_.end(), rows.ids.begin(), rows.ids.end());
}

void Evaluator::add_intervals(MatrixView lower, MatrixView upper, std::span<const double> outcomes, MatrixView x,
                              std::span<const double> predictions) {
  const std::size_t n = outcomes.size();
  const auto fits = [&](MatrixView bounds) { return bounds.rows() == n && bounds.columns() == bounds_.size(); };
  if (!fits(lower) || !fits(upper) || x.columns() != origin_.features.size() || (x.columns() > 0 && x.rows() != n) ||
      (!predictions.empty() && predictions.size() != n)) {
    throw internal::make_error(ErrorCode::kShapeMismatch,
                               "Evaluator::add_intervals: bounds, features or predictions do not fit {} outcomes, {} "
                               "levels and {} features",
                               n, bounds_.size(), origin_.features.size());
  }
  if (sample_ != nullptr) sample_rows(x, predictions);
  add_bounds(lower, upper, outcomes);
  predictions_.insert(predictions_.end(), predictions.begin(), predictions.end());
}

void Evaluator::sample_rows(MatrixView x, std::span<const double> predictions) {
  const std::size_t features = x.columns();
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const std::size_t place = sample_->place_of_next();
    if (place == RowSample::kNowhere) continue;
    sampled_.resize(sample_->size());
    sampled_features_.resize(sample_->size() * features);
    sampled_[place] = outcomes_.size() + i;
    std::ranges::copy(x.row(i), sampled_features_.begin() + static_cast<std::ptrdiff_t>(place * features));
    if (predictions.empty()) continue;
    sampled_predictions_.resize(sample_->size());
    sampled_predictions_[place] = predictions[i];
  }
}

void Evaluator::add_crps(Crps& crps, const Rows& rows, std::span<const double> outcomes) const {
  const std::size_t n = rows.x.rows();
  const std::size_t m = crps.probabilities().size();
  std::vector<double> quantiles(n * m);
  model_->quantiles(rows, crps.probabilities(), {quantiles.data(), n, m});
  crps.add({quantiles.data(), n, m}, outcomes);
}

void Evaluator::add_bounds(MatrixView lower, MatrixView upper, std::span<const double> outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (std::size_t j = 0; j < bounds_.size(); ++j) {
      bounds_[j].lower.push_back(lower(i, j));
      bounds_[j].upper.push_back(upper(i, j));
    }
    for (std::size_t j = 0; j < covered_.size(); ++j) {
      const std::size_t column = bounds_.size() + j;
      if (lower(i, column) <= outcomes[i] && outcomes[i] <= upper(i, column)) ++covered_[j];
    }
  }
  outcomes_.insert(outcomes_.end(), outcomes.begin(), outcomes.end());
}

// ---- the report

CalibrationRanks Evaluator::ranks(const Level& level) const {
  if (model_ == nullptr) {
    return origin_.calibration_rows ? CalibrationRanks::of_rows(level, *origin_.calibration_rows, origin_.guarantee)
                                    : CalibrationRanks::of_level(level);
  }
  return model_->law(level, groups_);
}

IntervalRows Evaluator::rows_at(std::size_t level) const {
  IntervalRows rows{bounds_[level].lower, bounds_[level].upper, outcomes_};
  if (model_ == nullptr || model_->parts().rule.may_be_empty()) rows.predictions = predictions_;
  return rows;
}

SearchRows Evaluator::search() const {
  const MatrixView features(sampled_features_.data(), sampled_.size(), origin_.features.size());
  return {sampled_, features, sampled_predictions_, origin_.categories};
}

EvaluationReport Evaluator::begin_report() const {
  EvaluationReport report{.rows = outcomes_.size(),
                          .guarantee = origin_.guarantee,
                          .features = origin_.features,
                          .exchangeability = exchangeability_,
                          .conditional = options_.classifier != nullptr};
  if (crps_) report.crps = crps_->summary();
  if (model_ == nullptr) {
    report.model = EvaluatedModel{
        .level = options_.levels.front(), .calibration_rows = origin_.calibration_rows.value_or(0), .is_known = false};
    return report;
  }
  report.model = EvaluatedModel::of(*model_);
  report.seen = seen_rows(*model_, sketch_, clusters_);
  report.missed_by_range = MissedByRange::of(*model_, outcomes_);
  report.outcome_advice = OutcomeAdvice::of(*model_, outcomes_, bounds_.front().lower, bounds_.front().upper);
  return report;
}

/// Throw if given intervals are finite, but so few calibration rows give infinite ones.
void Evaluator::check_calibration_rows(const LevelEvaluation& found) const {
  const bool is_finite = found.intervals.infinite < found.intervals.coverage.trials;
  if (!origin_.calibration_rows || found.verdict != Verdict::kInfinite || !is_finite) return;
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "calibration_rows is {}, but finite intervals of level {} need at least {}, and these are "
                             "finite; pass the number of calibration rows, or None to compare coverage with the level",
                             *origin_.calibration_rows, found.level.to_string(),
                             origin_.guarantee.min_rows(found.level));
}

void Evaluator::estimate_erts(EvaluationReport& report, const ProgressCallback& progress) const {
  internal::ProgressSteps steps(progress);
  steps.plan("level", 1, internal::ProgressSteps::Length::kKnown, bounds_.size());
  for (std::size_t j = 0; j < bounds_.size(); ++j) {
    report.levels[j].ert =
        estimate_ert(*options_.classifier, rows_at(j), search(), options_.levels[j], {}, steps.next());
  }
}

EvaluationReport Evaluator::report(const std::optional<EvaluatedColumn>& by, const ProgressCallback& progress) const {
  if (outcomes_.empty()) throw Error(ErrorCode::kBadData, "no rows");
  EvaluationReport report = begin_report();
  const bool reads_clusters = model_ != nullptr && model_->scheme().reads(Role::kCluster, Step::kEvaluate);
  for (std::size_t j = 0; j < bounds_.size(); ++j) {
    const Level& level = options_.levels[j];
    const CalibrationRanks law = ranks(level);
    // A model without calibration rows has no verdict to count clusters for.
    const bool judges_rows = reads_clusters && !law.sets;
    const EvaluationOptions options{.levels = bounds_.size(),
                                    .clusters = judges_rows ? std::span<const std::int64_t>() : std::span(clusters_),
                                    .by = by};
    report.levels.push_back(evaluate(rows_at(j), level, law, search(), options));
    if (!ids_.empty()) report.levels.back().listed = list_rows(rows_at(j), ids_);
    check_calibration_rows(report.levels.back());
  }
  if (options_.classifier != nullptr) estimate_erts(report, progress);
  return report;
}

// ---- the report

std::vector<CoverageSpread> Evaluator::expected() const {
  const double confidence = 1 - (1 - kVerdictConfidence) / static_cast<double>(covered_.size());
  std::vector<CoverageSpread> expected;
  for (const Level& level : options_.counted_levels) {
    expected.push_back(expected_coverage(ranks(level), outcomes_.size(), confidence));
  }
  return expected;
}

EvaluationPage Evaluator::page(const EvaluationReport& report) const {
  if (model_ == nullptr) throw Error(ErrorCode::kInvalidArgument, "Evaluator::page: expected the intervals of a model");
  EvaluationPage page{.model = *model_,
                      .report = report,
                      .rows = {},
                      .predictions = predictions_,
                      .levels = options_.counted_levels,
                      .covered = covered_,
                      .expected = expected(),
                      .search = search()};
  for (std::size_t j = 0; j < bounds_.size(); ++j) page.rows.push_back(rows_at(j));
  return page;
}

}  // namespace widthwise
