#include "train/fit/holdout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <widthwise/diagnostics.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/random.hpp>
#include <widthwise/transform.hpp>

#include "train/fit/rows.hpp"
#include "train/fit/splits.hpp"

namespace widthwise::internal {

Holdout::Holdout(const FittingRows& rows, double unit, const Splits& splits, const Workers& workers,
                 const FitOptions& options, const LocalizerTrainer* trainer, ProgressSteps& steps)
    : trainer_(trainer),
      steps_(steps),
      level_(options.levels.front()),
      space_(options.outcome_space.in_units(unit)),
      unit_(unit),
      seed_(stream_seed(options.seed, Stream::kReport)),
      learning_rows_(splits.learning_rows()),
      all_x_(rows.x.all()),
      categorical_(rows.categorical),
      all_weights_(rows.weights) {
  all_residuals_.reserve(rows.residuals.size());
  for (const double residual : rows.residuals) all_residuals_.push_back(residual / unit);
  training_ = part_of(splits.training());
  holdout_ = part_of(splits.holdout());
  sample_report_rows(rows, splits, workers);
}

Holdout::Part Holdout::part_of(const std::vector<std::size_t>& positions) const {
  Part part;
  part.x.reserve(positions.size() * all_x_.columns());
  for (const std::size_t row : positions) part.x.insert(part.x.end(), all_x_.row(row).begin(), all_x_.row(row).end());
  part.residuals = taken(all_residuals_, positions);
  if (!all_weights_.empty()) part.weights = taken(all_weights_, positions);
  return part;
}

TrainingRows Holdout::rows_of(const Part& part) const {
  return {{part.x.data(), part.residuals.size(), all_x_.columns()}, {part.residuals, part.weights}, categorical_};
}

void Holdout::sample_report_rows(const FittingRows& rows, const Splits& splits, const Workers& workers) {
  constexpr std::size_t kMaxRows = 20'000;  // limit with several workers
  const std::size_t columns = all_x_.columns();
  const RowSplitter holdout = splits.learning().splitter.of(splits.holdout());
  sample_halves(holdout, workers, kMaxRows);
  std::vector<double> own;  // the columns of x, then the outcome
  own.reserve(splits.holdout().size() * (columns + 1));
  for (const std::size_t row : splits.holdout()) {
    own.insert(own.end(), all_x_.row(row).begin(), all_x_.row(row).end());
    own.push_back(rows.y[row]);
  }
  report_rows_ = workers.sample(std::move(own), columns + 1, holdout.numbers(), kMaxRows);
  const std::size_t n = report_rows_.size() / (columns + 1);
  const MatrixView features(report_rows_.data(), n, rows.x.features().columns(), columns + 1);
  report_features_ = workers.standardised_sample(rows.x.features(), splits.holdout(), features);
  for (std::size_t i = 0; i < n; ++i) {
    const double* row = report_rows_.data() + i * (columns + 1);
    report_predictions_.push_back(row[columns - 1] / unit_);
    report_outcomes_.push_back(row[columns] / unit_);
  }
}

void Holdout::sample_halves(const RowSplitter& holdout, const Workers& workers, std::size_t max_rows) {
  const std::vector<std::uint8_t> halves = holdout.halves(seed_);
  if (halves.empty()) return;
  for (const double half : workers.sample({halves.begin(), halves.end()}, 1, holdout.numbers(), max_rows)) {
    report_halves_.push_back(half == 0 ? 0 : 1);
  }
}

std::vector<std::uint8_t> Holdout::halves() const {
  if (!report_halves_.empty()) return report_halves_;
  const std::size_t n = report_outcomes_.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(seed_).shuffle(std::span(order));
  std::vector<std::uint8_t> halves(n);
  for (std::size_t i = 1; i < n; i += 2) halves[order[i]] = 1;
  return halves;
}

Candidate Holdout::try_out(const ResolvedGoal& goal) const {
  if (goal.objective == nullptr) return try_out(goal, {});
  return try_out(goal, trainer_->train(rows_of(training_), rows_of(holdout_), *goal.objective, steps_.next()));
}

Candidate Holdout::try_out(const ResolvedGoal& goal, Trained trained) const {
  const std::size_t n = report_outcomes_.size();
  const std::size_t columns = all_x_.columns();
  std::vector<double> values(n * goal.rule.parameter_count());
  const MutableMatrixView parameters(values.data(), n, goal.rule.parameter_count());
  if (trained.function != nullptr)
    trained.function->evaluate({report_rows_.data(), n, columns, columns + 1}, parameters);
  Candidate candidate{goal, {}, std::move(trained)};
  measure(goal.rule, parameters, candidate);
  GoalReport& report = candidate.report;
  report.goal = goal.objective == nullptr ? "fixed" : goal.goal.to_string();
  report.score_transform = goal.rule.transform().name();
  report.iterations = candidate.trained.iterations;
  return candidate;
}

std::vector<Interval> Holdout::intervals(const ConformalRule& rule, MatrixView parameters) const {
  const std::size_t n = report_outcomes_.size();
  const std::vector<std::uint8_t> half_of = halves();
  std::vector<double> scores(n);
  rule.scores({report_predictions_, parameters}, report_outcomes_, scores);
  std::vector<Interval> intervals(n);
  for (std::uint8_t half = 0; half < 2; ++half) {
    Calibration calibration;
    for (std::size_t row = 0; row < n; ++row) {
      if (half_of[row] != half) continue;
      calibration.add(row, {.score = scores[row], .above = report_outcomes_[row] > report_predictions_[row]});
    }
    const ConformalPredictor predictor(rule, std::move(calibration));
    for (std::size_t row = 0; row < n; ++row) {
      if (half_of[row] == half) continue;
      const auto own = parameters.columns() == 0 ? std::span<const double>() : parameters.row(row);
      intervals[row] = predictor.interval(report_predictions_[row], own, level_, space_);
    }
  }
  return intervals;
}

void Holdout::measure(const ConformalRule& rule, MatrixView parameters, Candidate& candidate) const {
  std::vector<double> lower;
  std::vector<double> upper;
  candidate.intervals = intervals(rule, parameters);
  for (std::size_t i = 0; i < candidate.intervals.size(); ++i) {
    const Interval& interval = candidate.intervals[i];
    const double outcome = report_outcomes_[i];
    const double outside = std::max({interval.lower - outcome, outcome - interval.upper, 0.0});
    lower.push_back(interval.lower);
    upper.push_back(interval.upper);
    candidate.scores.push_back(interval.upper - interval.lower + 2 / (1 - level_.value()) * outside);
  }
  const IntervalRows rows{lower, upper, report_outcomes_,
                          rule.may_be_empty() ? report_predictions_ : std::span<const double>()};
  const IntervalSummary summary = summarise(rows, level_);
  const std::size_t n = lower.size();
  GoalReport& report = candidate.report;
  report.mean_width = unit_ * summary.mean_width;
  report.finite_mean_width = unit_ * summary.finite_mean_width;
  report.coverage = summary.coverage.share;
  report.infinite = static_cast<double>(summary.infinite) / static_cast<double>(n);
  report.empty = static_cast<double>(summary.empty) / static_cast<double>(n);
  // Rows that are kept together are not independent, so the slab would have no valid confidence interval.
  if (n >= 2 && report_halves_.empty()) {
    const MatrixView features(report_features_.data(), n, report_features_.size() / n);
    const Proportion slab = worst_slab(rows, features, {.seed = seed_}).coverage;
    if (slab.trials >= kMinSlabRows) report.worst_slab = slab;
  }
}

std::shared_ptr<const RowFunction> Holdout::retrain(const Candidate& candidate) const {
  const auto& objective = candidate.goal.objective;
  if (objective == nullptr || !retrains(learning_rows_)) return candidate.trained.function;
  return trainer_
      ->retrain({all_x_, {all_residuals_, all_weights_}, categorical_}, *objective, candidate.trained.iterations,
                steps_.next())
      .function;
}

bool has_smaller_score(const Candidate& candidate, const Candidate& other, double margin) {
  const auto n = static_cast<double>(candidate.scores.size());
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < candidate.scores.size(); ++i) {
    const double gain = other.scores[i] - candidate.scores[i];
    sum += gain;
    squares += gain * gain;
  }
  const double mean = sum / n;
  // False if intervals are infinite.
  return mean > margin * std::sqrt((squares / n - mean * mean) / n);
}

}  // namespace widthwise::internal
