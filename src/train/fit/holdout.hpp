#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <widthwise/train/fit.hpp>

#include "train/fit/base_model.hpp"
#include "train/fit/splits.hpp"

namespace widthwise::internal {

/// A localizer trained without the hold-out, and what its intervals are like there.
struct Candidate {
  ResolvedGoal goal;
  GoalReport report;
  Trained trained;
};

/// Trains localizers on the fitting rows without the hold-out and measures them there. All numbers are in units of the
/// typical error. What is measured is the same on all workers.
class Holdout {
 public:
  /// The rows, options, trainer and progress callback have to outlive this. `trainer` may be null when no goal trains.
  Holdout(const FittingRows& rows, double unit, const Splits& splits, const Workers& workers, const FitOptions& options,
          const LocalizerTrainer* trainer, const ProgressCallback& progress);

  /// Train for a goal without the hold-out, and measure the result on the hold-out.
  [[nodiscard]] Candidate try_out(const ResolvedGoal& goal) const;

  /// Train the candidate's goal on all fitting rows, for as many iterations; null when the goal trains nothing.
  [[nodiscard]] std::shared_ptr<const RowFunction> retrain(const Candidate& candidate) const;

 private:
  /// Rows of a localizer's training, as owned numbers.
  struct Part {
    std::vector<double> x;
    std::vector<double> residuals;
  };
  [[nodiscard]] Part part_of(const std::vector<std::size_t>& positions) const;
  [[nodiscard]] TrainingRows rows_of(const Part& part) const;
  void sample_report_rows(const FittingRows& rows, const Splits& splits, const Workers& workers);
  /// Calibrate on one half of the report rows and measure on the other, both ways.
  [[nodiscard]] GoalReport measure(const ConformalRule& rule, MatrixView parameters) const;
  [[nodiscard]] std::vector<Interval> intervals(const ConformalRule& rule, MatrixView parameters) const;

  const LocalizerTrainer* trainer_;
  const ProgressCallback& progress_;
  Level level_;         // that reports are made for
  OutcomeRange range_;  // in units
  double unit_;
  std::uint64_t seed_;  // of reports
  MatrixView all_x_;
  std::span<const std::uint8_t> categorical_;
  std::vector<double> all_residuals_;
  Part training_;
  Part holdout_;
  // Rows that reports are made from: the hold-out, or a sample of all workers' hold-outs.
  std::vector<double> report_rows_;  // the columns of x, then the outcome
  std::vector<double> report_predictions_;
  std::vector<double> report_outcomes_;
  std::vector<double> report_features_;  // standardised, for the worst slab
};

}  // namespace widthwise::internal
