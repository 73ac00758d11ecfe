#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <widthwise/random.hpp>
#include <widthwise/train/fit.hpp>

#include "train/fit/blocks.hpp"
#include "train/fit/copies.hpp"
#include "train/fit/cross_fit.hpp"
#include "train/workers/workers.hpp"

namespace widthwise::internal {

/// Each random choice of a fit has a separate stream of the seed, so that the choices are independent.
enum class Stream : std::uint64_t { kSplit = 1, kFolds, kHoldout, kReport, kCross, kShift, kLearning };

[[nodiscard]] inline std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return mix_bits(seed ^ mix_bits(static_cast<std::uint64_t>(stream)));
}

/// Splits the rows of a table: at random, or keeping blocks of rows together (RowBlocks). A single process makes splits
/// of exact sizes. With several workers, the split of a row depends only on its number, or on that of its cluster, so
/// that it does not depend on which worker holds the row.
class RowSplitter {
 public:
  /// `numbers` (n) are the numbers of the rows; a single process ignores them. `workers` must outlive this object.
  RowSplitter(std::vector<std::uint64_t> numbers, RowBlocks blocks, const Workers& workers)
      : numbers_(std::move(numbers)), blocks_(std::move(blocks)), workers_(&workers) {}

  /// A share of the rows, and the others, as positions from 0 to n - 1.
  struct Split {
    std::vector<std::size_t> share;
    std::vector<std::size_t> rest;
  };
  /// A single process puts at least `min_rows` rows into the share and leaves at least as many. With clusters or times,
  /// these are the errors and the sizes of RowBlocks::share.
  [[nodiscard]] Split split(double share, std::size_t min_rows, std::uint64_t seed) const;

  /// Assign each row to one of `count` folds. Throws kInvalidArgument for fewer than 2 folds, and kTooFewRows for more
  /// folds than rows, clusters or times; with several workers, only if one fold has all clusters.
  [[nodiscard]] Folds folds(std::size_t count, std::uint64_t seed) const;

  /// A splitter for some of the rows.
  [[nodiscard]] RowSplitter of(std::span<const std::size_t> rows) const;

  [[nodiscard]] std::span<const std::uint64_t> numbers() const { return numbers_; }

  /// Which half each row belongs to (n), 0 or 1, without separating blocks; empty if there are no blocks.
  [[nodiscard]] std::vector<std::uint8_t> halves(std::uint64_t seed) const;

 private:
  [[nodiscard]] Folds folds_by_hash(std::span<const std::uint64_t> numbers, std::size_t count,
                                    std::uint64_t seed) const;

  std::vector<std::uint64_t> numbers_;
  RowBlocks blocks_;
  const Workers* workers_;
};

/// Some rows of the table of a fit.
struct TablePart {
  TablePart(const RowSplitter& table, std::vector<std::size_t> positions)
      : rows(std::move(positions)), splitter(table.of(rows)) {}
  /// Some of the rows of another part, by their positions in it.
  TablePart(const TablePart& part, std::span<const std::size_t> positions) : splitter(part.splitter.of(positions)) {
    rows.reserve(positions.size());
    for (const std::size_t position : positions) rows.push_back(part.rows[position]);
  }

  std::vector<std::size_t> rows;  ///< positions in the table
  RowSplitter splitter;           ///< with the numbers of these rows
};

/// The rows of a fit that calibrate, and the others. Of copies, one calibrates: new rows are like the distinct rows.
struct SetAside {
  /// None calibrate if the deployed model did not predict the rows (cv_predictions). Throws kTooFewRows for too few
  /// clusters or times, kInvalidArgument if no row is left to fit.
  SetAside(const FitTable& table, const FitOptions& options, const Workers& workers);
  /// Of a plan: its calibration rows, and the fitting rows that are predicted.
  SetAside(const FitTable& table, const SplitPart& part, const Workers& workers);

  TablePart calibration;
  TablePart fitting;

 private:
  SetAside(const RowSplitter& table, RowSplitter::Split split, std::span<const std::int64_t> copies)
      : calibration(table, distinct_rows(std::move(split.share), copies)), fitting(table, std::move(split.rest)) {}
};

/// The folds of fitting rows, at most one per row. One fold (kOneSplit) has some of the rows: the others are in none,
/// and all base models are fitted to them. Throws the errors of RowSplitter::folds.
[[nodiscard]] Folds cross_fitting_folds(const TablePart& fitting, const FitOptions& options, const Workers& workers);

/// The folds that cross-calibration makes unless it is told how many.
inline constexpr std::size_t kFoldsOfFewRows = 5;

/// How the rows of one fit are split. Calibration rows are set aside before anything is fitted.
class Splits {
 public:
  /// Throws the errors of SetAside and cross_fitting_folds, and kTooFewRows if no row is left for the hold-out.
  Splits(const FitTable& table, const FitOptions& options, const Workers& workers);
  /// By a plan.
  Splits(const FitTable& table, const SplitPart& part, const FitOptions& options, const Workers& workers);

  [[nodiscard]] const TablePart& calibration() const { return rows_.calibration; }
  /// Rows that the base model is fitted to, or that it may be fitted to out of sample.
  [[nodiscard]] const TablePart& fitting() const { return rows_.fitting; }
  /// Rows that something was fitted to, of which those without predictions are no fitting rows.
  [[nodiscard]] const std::vector<std::size_t>& seen() const { return seen_.empty() ? fitting().rows : seen_; }
  /// Folds of the fitting rows; none if the table has predictions.
  [[nodiscard]] const Folds& folds() const { return folds_; }
  /// The fitting rows whose errors train the localizer, as rows of the table and as positions among the fitting rows.
  [[nodiscard]] const TablePart& learning() const { return learning_; }
  [[nodiscard]] const std::vector<std::size_t>& learning_positions() const { return learning_positions_; }
  /// Positions among the learning rows of the hold-out and of the other rows.
  [[nodiscard]] const std::vector<std::size_t>& holdout() const { return holdout_.share; }
  [[nodiscard]] const std::vector<std::size_t>& training() const { return holdout_.rest; }

  /// Rows over all workers.
  [[nodiscard]] std::uint64_t calibration_rows() const { return calibration_rows_; }
  [[nodiscard]] std::uint64_t fitting_rows() const { return fitting_rows_; }
  [[nodiscard]] std::uint64_t learning_rows() const { return learning_rows_; }
  /// For reports: the fitting rows, with those that fitted the estimator of one split.
  [[nodiscard]] std::uint64_t fit_rows() const { return fit_rows_; }
  [[nodiscard]] std::uint64_t holdout_rows() const { return holdout_rows_; }

 private:
  void count(const Workers& workers);
  void learn(const FitOptions& options, const Workers& workers);
  void hold_out(const FitOptions& options, const Workers& workers);
  void check_clusters(const FitTable& table, const FitOptions& options) const;

  SetAside rows_;
  std::vector<std::size_t> seen_;
  bool one_split_ = false;  // of a plan
  Folds folds_;
  std::vector<std::size_t> learning_positions_;
  TablePart learning_;
  RowSplitter::Split holdout_;
  std::uint64_t calibration_rows_ = 0;
  std::uint64_t fitting_rows_ = 0;
  std::uint64_t learning_rows_ = 0;
  std::uint64_t fit_rows_ = 0;
  std::uint64_t holdout_rows_ = 0;
};

/// The columns of predictions of a table: one, or two of quantiles.
[[nodiscard]] inline std::size_t prediction_columns(const FitTable& table) {
  return table.upper_prediction.empty() ? 1 : 2;
}

/// Predictions of the table for training: of the deployed model, cross-validated, or none.
[[nodiscard]] inline std::span<const double> given_predictions(const FitTable& table) {
  return table.cv_predictions.empty() ? table.rows.predictions : table.cv_predictions;
}

}  // namespace widthwise::internal
