#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <widthwise/interface.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/row_function.hpp>

namespace widthwise {

/// Progress of a long operation.
struct Progress {
  std::string_view stage;  ///< current stage: "base model, fold 2 of 5"
  std::size_t done = 0;    ///< steps done
  std::size_t total = 0;   ///< maximum number of steps; training may stop early
  double loss = 0;         ///< hold-out loss; NaN if there is none
};

/// Called repeatedly, at least about every second. Returns false to cancel; the operation then throws kCancelled. May
/// be empty.
using ProgressCallback = std::function<bool(const Progress&)>;

/// Call the callback, if there is one; throw kCancelled if it returns false.
void report(const ProgressCallback& callback, const Progress& progress);

/// The inputs of training.
struct InputRows {
  /// Rows of numbers only, each with weight 1.
  InputRows(MatrixView numbers) : x(numbers) {}  // NOLINT(google-explicit-constructor): most rows are numbers alone
  /// Rows with categorical inputs or sample weights; either span may be empty.
  InputRows(MatrixView values, std::span<const std::uint8_t> categories, std::span<const double> sample_weights = {})
      : x(values), categorical(categories), weights(sample_weights) {}

  MatrixView x;                                    ///< n x inputs; NaN is a missing value
  std::span<const std::uint8_t> categorical = {};  ///< inputs: 1 if x is the number of a category; empty: none is
  std::span<const double> weights = {};            ///< n sample weights >= 0; empty: every row counts once
};

/// The training data of a localizer.
struct TrainingRows {
  MatrixView x;            ///< n x inputs, with the prediction f(x) as the last column; NaN is a missing value
  ResidualRows residuals;  ///< out-of-sample errors of the base model (n), of mean absolute value near 1
  std::span<const std::uint8_t> categorical = {};  ///< as in InputRows
};

/// A trained localizer.
struct Trained {
  std::shared_ptr<const RowFunction> function;  ///< (x, f(x)) -> parameters; evaluating it needs no engine
  std::size_t iterations = 0;                   ///< rounds or epochs of training
  double loss = 0;                              ///< hold-out loss after these iterations; NaN without a hold-out
};

/// Fits g by minimising an objective. This is the interface of training engines.
/// Thread safety: const methods may run concurrently.
class LocalizerTrainer : public Interface {
 public:
  /// The name in the model file and on the command line: "trees", "net".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Name and version of the engine, for the model file's notes: "xgboost 3.2.0".
  [[nodiscard]] virtual std::string engine() const = 0;

  /// The options it was made with, for the model file's notes: "learning_rate=0.05 max_depth=4".
  [[nodiscard]] virtual std::string settings() const { return {}; }

  /// Whether inputs may be categories. If not, fit refuses tables with categories.
  [[nodiscard]] virtual bool takes_categories() const { return false; }

  /// Train on `rows`, and keep the iterations with the smallest objective on `holdout`.
  [[nodiscard]] virtual Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& objective,
                                      const ProgressCallback& progress) const = 0;

  /// Train on all rows for `iterations` of `train`, increased slightly because there are more rows.
  [[nodiscard]] virtual Trained retrain(const TrainingRows& rows, const Objective& objective, std::size_t iterations,
                                        const ProgressCallback& progress) const = 0;
};

class BaseTrainer;

/// Models that are trained in steps, of which fewer may predict new rows better. Workers call these functions together.
class TrainingSteps : public Interface {
 public:
  /// The loss after every step on rows that the model has not seen, summed over these rows of all workers.
  [[nodiscard]] virtual std::vector<double> losses(const RowFunction& model, const InputRows& rows,
                                                   std::span<const double> y) const = 0;

  /// The model as if it had been trained with so many steps, at least one.
  [[nodiscard]] virtual std::shared_ptr<const RowFunction> shortened(const RowFunction& model,
                                                                     std::size_t steps) const = 0;

  /// The trainer of models with so many steps, at least one and at most as many as now.
  [[nodiscard]] virtual std::unique_ptr<const BaseTrainer> trainer(std::size_t steps) const = 0;
};

/// Fits f if the user gives no predictions.
/// Thread safety: const methods may run concurrently.
class BaseTrainer : public Interface {
 public:
  [[nodiscard]] virtual std::string_view name() const = 0;  ///< as LocalizerTrainer::name: "trees", "quantiles"
  [[nodiscard]] virtual std::string engine() const = 0;     ///< name and version of the engine, for the notes
  [[nodiscard]] virtual std::string settings() const { return {}; }      ///< options, for the notes; empty: none
  [[nodiscard]] virtual bool takes_categories() const { return false; }  ///< if not, fit refuses categories

  /// Whether rows may have sample weights. If not, fit refuses tables with them.
  [[nodiscard]] virtual bool takes_weights() const { return false; }

  /// Numbers per row that its models predict: 1, f(x), or 2, a lower and an upper quantile.
  [[nodiscard]] virtual std::size_t outputs() const { return 1; }

  /// Fit outcomes y (n). `stage` is the stage in progress reports.
  [[nodiscard]] virtual std::shared_ptr<const RowFunction> train(const InputRows& rows, std::span<const double> y,
                                                                 std::string_view stage,
                                                                 const ProgressCallback& progress) const = 0;

  /// How to choose the number of steps out of sample; null if there is nothing to choose. Valid as long as the trainer.
  [[nodiscard]] virtual const TrainingSteps* steps() const { return nullptr; }
};

}  // namespace widthwise
