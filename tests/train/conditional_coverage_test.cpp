#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/conditional_coverage.hpp>

#include "support/errors.hpp"
#include "support/intervals.hpp"

namespace widthwise {
namespace {

/// A margin of 5 for rows that were trained on, identified by their first input, and 0 for others.
class Memory final : public RowFunction {
 public:
  explicit Memory(std::set<double> known, std::size_t inputs) : known_(std::move(known)), inputs_(inputs) {}

  [[nodiscard]] std::size_t inputs() const override { return inputs_; }
  [[nodiscard]] std::size_t outputs() const override { return 1; }
  void evaluate(MatrixView x, MutableMatrixView out) const override {
    for (std::size_t i = 0; i < x.rows(); ++i) out(i, 0) = known_.contains(x(i, 0)) ? 5 : 0;
  }

 private:
  std::set<double> known_;
  std::size_t inputs_;
};

/// Remembers the rows; checks that the rows of one training and its hold-out differ.
class MemoryTrainer final : public LocalizerTrainer {
 public:
  [[nodiscard]] std::string_view name() const override { return "memory"; }
  [[nodiscard]] std::string engine() const override { return "none"; }

  [[nodiscard]] Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& /*objective*/,
                              const ProgressCallback& /*progress*/) const override {
    EXPECT_EQ(rows.x.rows(), rows.residuals.residuals.size());
    const std::set<double> training = first_inputs(rows.x);
    for (const double held : first_inputs(holdout.x)) EXPECT_FALSE(training.contains(held));
    return {.function = std::make_shared<Memory>(training, rows.x.columns()), .iterations = 1};
  }

  [[nodiscard]] Trained retrain(const TrainingRows& rows, const Objective& /*objective*/, std::size_t /*iterations*/,
                                const ProgressCallback& /*progress*/) const override {
    return {.function = std::make_shared<Memory>(first_inputs(rows.x), rows.x.columns())};
  }

 private:
  static std::set<double> first_inputs(MatrixView x) {
    std::set<double> found;
    for (std::size_t i = 0; i < x.rows(); ++i) found.insert(x(i, 0));
    return found;
  }
};

struct NumberedRows : Intervals {
  std::vector<double> x;
  std::vector<std::uint8_t> flags;
  std::vector<std::size_t> rows;

  NumberedRows(std::size_t n, double coverage) : x(n), rows(n) {
    Random random(1);
    std::iota(x.begin(), x.end(), 0.0);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    for (std::size_t i = 0; i < n; ++i) {
      flags.push_back(random.uniform() < coverage ? 1 : 0);
      add(-1, 1, flags.back() != 0 ? 0 : 2);
    }
  }
};

TEST(ConditionalCoverage, NoRowIsPredictedByAClassifierThatWasTrainedOnIt) {
  const NumberedRows rows(500, 0.9);
  std::vector<double> probabilities(500);
  cross_fit_coverage(MemoryTrainer(), MatrixView::column(rows.x), rows.flags, {}, probabilities);
  // The margin is 0: the probability is the share of covered rows in the other folds, of 400 rows.
  const double share = std::accumulate(rows.flags.begin(), rows.flags.end(), 0.0) / 500;
  for (const double p : probabilities) EXPECT_NEAR(p, share, 0.03);
}

TEST(ConditionalCoverage, WithoutMissesTheProbabilityIsNearlyOne) {
  const NumberedRows rows(200, 1);
  std::vector<double> probabilities(200);
  cross_fit_coverage(MemoryTrainer(), MatrixView::column(rows.x), rows.flags, {}, probabilities);
  for (const double p : probabilities) EXPECT_NEAR(p, 160.5 / 161, 1e-12);
}

TEST(ConditionalCoverage, TheErtNeedsRowsAndInputs) {
  const NumberedRows few(kMinSearchRows - 1, 0.9);
  EXPECT_FALSE(estimate_ert(MemoryTrainer(), few.Intervals::rows(), {few.rows, MatrixView::column(few.x)}, 0.9));
  const NumberedRows enough(kMinSearchRows, 0.9);
  const IntervalRows intervals = enough.Intervals::rows();
  EXPECT_FALSE(estimate_ert(MemoryTrainer(), intervals, {enough.rows, {}}, 0.9));
  const std::optional<Ert> ert =
      estimate_ert(MemoryTrainer(), intervals, {enough.rows, MatrixView::column(enough.x), enough.x}, 0.9);
  ASSERT_TRUE(ert);
  EXPECT_EQ(ert->rows, kMinSearchRows);
}

TEST(ConditionalCoverage, SizesMustAgree) {
  const NumberedRows rows(10, 0.9);
  std::vector<double> out(9);
  expect_error(ErrorCode::kShapeMismatch, "10 rows of x, 10 of covered, 9 probabilities",
               [&] { cross_fit_coverage(MemoryTrainer(), MatrixView::column(rows.x), rows.flags, {}, out); });
}

}  // namespace
}  // namespace widthwise
