#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <widthwise/objective.hpp>
#include <widthwise/train/trainer.hpp>

/// Probabilistic classifiers of two labels, trained with the engines of localizers.
namespace widthwise::internal {

/// Share of the rows that the number of iterations is chosen on.
inline constexpr double kClassifierHoldout = 0.2;

/// The mean log loss of one margin per row, the log odds minus `offset`. The residuals are labels, 1 or -1.
class LogisticLoss final : public Objective {
 public:
  explicit LogisticLoss(double offset) : offset_(offset) {}

  [[nodiscard]] std::size_t parameter_count() const override { return 1; }
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const override;

 private:
  double offset_;
};

/// Rows with labels, 1 or -1, and weights.
struct LabelledRows {
  std::vector<double> x;
  std::vector<double> labels;
  std::vector<double> weights;

  void add(MatrixView table, std::span<const std::size_t> rows, double label);

  /// Give both labels the same total weight, and all rows a mean weight of 1.
  void balance();
  /// Give all rows a weight of 1.
  void count_once() { weights.assign(labels.size(), 1); }

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] MatrixView view(std::size_t columns) const { return {x.data(), size(), columns}; }
};

/// The rows of a classifier.
struct ClassifierRows {
  LabelledRows training;
  LabelledRows holdout;  ///< chooses the number of iterations
  LabelledRows all;      ///< both, for the final classifier

  /// Add rows of one label: the first ones to the hold-out, the others to the training rows.
  void add(MatrixView table, std::span<const std::size_t> order, double label);
};

/// Margins as functions of x.
struct TrainedClassifier {
  std::shared_ptr<const RowFunction> chosen;  ///< trained on the training rows
  std::shared_ptr<const RowFunction> final;   ///< trained on all rows, for as many iterations
};

[[nodiscard]] TrainedClassifier train_classifier(const LocalizerTrainer& trainer, const ClassifierRows& rows,
                                                 std::size_t columns, std::span<const std::uint8_t> categorical,
                                                 double offset, const ProgressCallback& progress);

/// Write the margins of rows (n) to out (n).
void margins_of(const RowFunction& function, MatrixView x, std::span<double> out);

}  // namespace widthwise::internal
