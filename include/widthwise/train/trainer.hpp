#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <widthwise/interface.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/progress.hpp>

namespace widthwise {

/// What a localizer is trained on.
struct TrainingRows {
  MatrixView x;            ///< n x inputs, the prediction f(x) the last column; NaN is a missing value
  ResidualRows residuals;  ///< out-of-sample errors of the base model (n), of a mean size near 1
};

/// A localizer, and how it came about.
struct Trained {
  std::shared_ptr<const RowFunction> function;
  std::size_t iterations = 0;  ///< rounds or epochs of training it holds
  double loss = 0;             ///< of the objective over the hold-out at that length; NaN without one
};

/// Fits g so that an objective is least: the one thing a training engine has to do here.
/// Thread safety: const methods may run concurrently.
class LocalizerTrainer : public Interface {
 public:
  /// "trees", "net": what the model file and the command line call it.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Name and version of the engine, for the model file's notes: "xgboost 3.2.0".
  [[nodiscard]] virtual std::string engine() const = 0;

  /// The options it was made with, for the model file's notes: "learning_rate=0.05 max_depth=4".
  [[nodiscard]] virtual std::string settings() const { return {}; }

  /// Train on `rows`, keeping the iterations at which the objective over `holdout` was least.
  [[nodiscard]] virtual Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& objective,
                                      const ProgressCallback& progress) const = 0;

  /// Train on all rows, as long as `iterations` says for this many rows more: what train found, made a little longer.
  [[nodiscard]] virtual Trained retrain(const TrainingRows& rows, const Objective& objective, std::size_t iterations,
                                        const ProgressCallback& progress) const = 0;
};

/// Fits f where the user brings no predictions.
/// Thread safety: const methods may run concurrently.
class BaseTrainer : public Interface {
 public:
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string engine() const = 0;
  [[nodiscard]] virtual std::string settings() const { return {}; }

  /// Fit outcomes y (n) by x (n x inputs; NaN is a missing value). `stage` names the work in the progress reports.
  [[nodiscard]] virtual std::shared_ptr<const RowFunction> train(MatrixView x, std::span<const double> y,
                                                                 std::string_view stage,
                                                                 const ProgressCallback& progress) const = 0;
};

}  // namespace widthwise
