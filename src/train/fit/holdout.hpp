#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <widthwise/train/fit.hpp>

#include "train/fit/base_model.hpp"
#include "train/fit/splits.hpp"
#include "train/progress_steps.hpp"

namespace widthwise::internal {

/// A localizer trained without the hold-out, with the report of its intervals there.
struct Candidate {
  ResolvedGoal goal;
  GoalReport report;
  Trained trained;
  std::vector<Interval> intervals = {};  ///< of the hold-out, in units
  std::vector<double> scores = {};       ///< interval scores of the hold-out, in units
};

/// Whether the mean interval score of the candidate is smaller by more than so many standard errors of the difference.
[[nodiscard]] bool has_smaller_score(const Candidate& candidate, const Candidate& other, double margin);

/// Trains localizers on the fitting rows without the hold-out and measures them there. All numbers are in units of the
/// typical error. Reports are the same on all workers.
class Holdout {
 public:
  /// The rows, options, trainer and steps must outlive this object. `trainer` may be null if no goal
  /// trains.
  Holdout(const FittingRows& rows, double unit, const Splits& splits, const Workers& workers, const FitOptions& options,
          const LocalizerTrainer* trainer, ProgressSteps& steps);

  /// Whether so many learning rows (of all workers) are few enough to train on the hold-out as well.
  [[nodiscard]] static bool retrains(std::uint64_t learning_rows) { return learning_rows <= kMaxRetrainedRows; }

  /// Train for a goal without the hold-out, and measure the result on the hold-out.
  [[nodiscard]] Candidate try_out(const ResolvedGoal& goal) const;

  /// Measure a goal with the parameters that were trained for another one with the same objective.
  [[nodiscard]] Candidate try_out(const ResolvedGoal& goal, Trained trained) const;

  /// Train the goal of the candidate on all learning rows, for as many iterations; null if the goal trains nothing.
  /// With many rows, those of the hold-out hardly improve it, and the candidate is kept.
  [[nodiscard]] std::shared_ptr<const RowFunction> retrain(const Candidate& candidate) const;

 private:
  static constexpr std::uint64_t kMaxRetrainedRows = 10'000;  // experiments/NOTES.md

  /// Training rows of a localizer, with their own memory.
  struct Part {
    std::vector<double> x;
    std::vector<double> residuals;
    std::vector<double> weights;  // or none
  };
  [[nodiscard]] Part part_of(const std::vector<std::size_t>& positions) const;
  [[nodiscard]] TrainingRows rows_of(const Part& part) const;
  void sample_halves(const RowSplitter& holdout, const Workers& workers, std::size_t max_rows);
  [[nodiscard]] std::vector<std::uint8_t> halves() const;
  void sample_report_rows(const FittingRows& rows, const Splits& splits, const Workers& workers);
  /// Calibrate on one half of the report rows and measure on the other, both ways.
  void measure(const ConformalRule& rule, MatrixView parameters, Candidate& candidate) const;
  [[nodiscard]] std::vector<Interval> intervals(const ConformalRule& rule, MatrixView parameters) const;

  const LocalizerTrainer* trainer_;
  ProgressSteps& steps_;  // one per goal that trains, and one for retrain
  Level level_;           // level of reports
  OutcomeSpace space_;    // in units
  double unit_;
  std::uint64_t seed_;           // seed of reports
  std::uint64_t learning_rows_;  // of all workers
  MatrixView all_x_;
  std::span<const std::uint8_t> categorical_;
  std::vector<double> all_residuals_;
  std::span<const double> all_weights_;  // or none
  Part training_;
  Part holdout_;
  // Rows of reports: the hold-out, or a sample of the hold-outs of all workers.
  std::vector<double> report_rows_;  // the columns of x, then the outcome
  std::vector<double> report_predictions_;
  std::vector<double> report_outcomes_;
  std::vector<double> report_features_;      // standardised, for the worst slab
  std::vector<std::uint8_t> report_halves_;  // which half calibrates the other; empty: random halves
};

}  // namespace widthwise::internal
