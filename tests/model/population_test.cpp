#include <widthwise/row_checks.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <widthwise/error.hpp>

#include "support/errors.hpp"
#include "support/model_examples.hpp"

namespace widthwise {
namespace {

ModelParts unweighted_parts() {
  return {.features = {"a", "b", "c"},
          .prediction = "f",
          .localizer = examples::trees(4, 1, 5, 2, 41),
          .rule = ConformalRule(make_transform("exp"))};
}

Model with_learnt_weights() {
  ModelParts weighted = unweighted_parts();
  weighted.shift = examples::trees(3, 1, 5, 2, 42);
  return Model(weighted);
}

Model with_given_weights() {
  ModelParts weighted = unweighted_parts();
  weighted.columns[Role::kWeight] = "w";
  return Model(weighted);
}

void expect_refusal(const Model& model, std::optional<Population> population, bool replace, const std::string& words) {
  const std::string message =
      message_of([&] { (void)model_for_rows_of(model, population, replace); }, ErrorCode::kInvalidArgument);
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(Population, NamesAreReadAsTheyAreWritten) {
  for (const Population population : {Population::kSource, Population::kTarget}) {
    EXPECT_EQ(population_of(name_of(population)), population);
  }
  EXPECT_THROW((void)population_of("Target"), Error);
}

TEST(Population, AModelWithWeightsNeedsThePopulationOfItsRows) {
  for (const Model& model : {with_learnt_weights(), with_given_weights()}) {
    expect_refusal(model, std::nullopt, false, "must be stated");
    expect_refusal(model, std::nullopt, true, "must be stated");
    EXPECT_TRUE(model_for_rows_of(model, Population::kSource, false).scheme().weighs_new_rows());
    EXPECT_TRUE(model_for_rows_of(model, Population::kSource, true).scheme().weighs_new_rows());
  }
}

TEST(Population, RowsToPredictReplaceWeightedRowsButAreNotAddedToThem) {
  const examples::Table table(200, 3, 7);
  const Model model = examples::calibrated(with_learnt_weights(), table);
  expect_refusal(model, Population::kTarget, false, "shifted twice");
  const Model unweighted = model_for_rows_of(model, Population::kTarget, true);
  EXPECT_FALSE(unweighted.scheme().weighs_new_rows());
  EXPECT_EQ(unweighted.calibration_rows(), 0U);
  // The same rows calibrate it as they calibrate a model that never had weights.
  const Model expected = examples::calibrated(Model(unweighted_parts()), table);
  const Model found = examples::calibrated(unweighted, table);
  const std::vector<double> x = {0.1, 0.2, 0.3};
  EXPECT_EQ(found.interval(x, 0.9, 0.0).upper, expected.interval(x, 0.9, 0.0).upper);
  // Without calibration rows there is nothing to add to.
  EXPECT_FALSE(model_for_rows_of(with_given_weights(), Population::kTarget, false).scheme().weighs_new_rows());
}

TEST(Population, RowsOfAModelWithoutWeightsComeFromThePopulationToPredict) {
  const Model model(unweighted_parts());
  EXPECT_EQ(model_for_rows_of(model, std::nullopt, false).calibration_rows(), 0U);
  EXPECT_FALSE(model_for_rows_of(model, Population::kTarget, false).scheme().weighs_new_rows());
  expect_refusal(model, Population::kSource, false, "no weights");
}

}  // namespace
}  // namespace widthwise
