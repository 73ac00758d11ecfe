#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/report.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/train/fit.hpp>

#include "support/errors.hpp"

namespace widthwise {
namespace {

/// A model with the categorical feature "clarity" and the number "carat".
Model model_with_clarity() {
  const Labels labels(std::vector<std::string>{"IF", "SI1", "SI2", "VVS1"});
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < 80; ++i) {
    x.insert(x.end(), {static_cast<double>(i % 4), 0.1 * i});
    y.push_back(i % 7);
  }
  const std::vector<double> predictions(80, 3.0);
  FitTable table;
  table.rows.x = {x.data(), 80, 2};
  table.y = y;
  table.rows.predictions = predictions;
  table.features = {"clarity", "carat"};
  table.target = "price";
  table.prediction = "forecast";
  table.categories = {labels, Labels()};
  return fit(table, nullptr, nullptr, {.score_transform = "identity"}).model;
}

TEST(UnknownCategories, AreCountedNamedAndSuggested) {
  const Model model = model_with_clarity();
  UnknownCategories categories(model);
  EXPECT_EQ(categories.find(0, "SI1", 1183), 1.0);
  EXPECT_TRUE(categories.found().empty());
  EXPECT_TRUE(std::isnan(categories.find(0, "si1", 815)));
  EXPECT_TRUE(std::isnan(categories.find(0, " VVS1")));
  EXPECT_TRUE(std::isnan(categories.find(0, "glass")));
  const std::vector<UnknownLabels> found = categories.found();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].feature, "clarity");
  EXPECT_EQ(found[0].values, 2000U);
  EXPECT_EQ(found[0].unknown, 817U);
  EXPECT_TRUE(found[0].to_string().starts_with(
      "column 'clarity': 817 of 2,000 values are categories that the model does not know, such as 'si1' (did you mean "
      "'SI1'?), ' VVS1' (did you mean 'VVS1'?) and 'glass'; "))
      << found[0].to_string();
  EXPECT_FALSE(found[0].more);
  EXPECT_NO_THROW(categories.require_known("here"));
  EXPECT_NE(to_json(found).find("\"unknown\": 817"), std::string::npos);
}

TEST(UnknownCategories, AreAnErrorIfNoneOfSeveralIsKnown) {
  const Model model = model_with_clarity();
  UnknownCategories categories(model);
  (void)categories.find(0, "if");
  EXPECT_NO_THROW(categories.require_known("here"));  // a single new category must not stop a service
  (void)categories.find(0, "vvs1", 9);
  EXPECT_EQ(message_of([&] { categories.require_known("new.csv"); }, ErrorCode::kBadData),
            "new.csv: column 'clarity': none of 10 values is a category that the model knows: the labels are 'if' (did "
            "you mean 'IF'?) and 'vvs1' (did you mean 'VVS1'?); use the labels of the fit, or fit again with rows of "
            "these categories");
  (void)categories.find(0, "IF");
  EXPECT_NO_THROW(categories.require_known("new.csv"));
}

TEST(UnknownCategories, OfPartsAreMerged) {
  const Labels known(std::vector<std::string>{"a"});
  UnknownLabels one{.feature = "x", .values = 5};
  one.add("b", known, 2);
  UnknownLabels other{.feature = "x"};
  for (const char* label : {"b", "c", "d", "e"}) other.add(label, known);
  one.merge(other);
  EXPECT_EQ(one.values, 11U);
  EXPECT_EQ(one.unknown, 6U);
  ASSERT_EQ(one.first.size(), UnknownLabels::kNamed);
  EXPECT_EQ(one.first[2].label, "d");
  EXPECT_TRUE(one.more);
}

TEST(EvaluationReport, ShowsUnknownCategoriesBeforeTheVerdict) {
  const Model model = model_with_clarity();
  EvaluationReport report{.rows = 2000, .model = EvaluatedModel::of(model)};
  UnknownCategories categories(model);
  (void)categories.find(0, "IF", 1999);
  (void)categories.find(0, "if");
  report.unknown_categories = categories.found();
  const std::vector<double> lower(2000, -1.0);
  const std::vector<double> upper(2000, 1.0);
  const std::vector<double> outcomes(2000, 0.0);
  report.levels.push_back(evaluate({lower, upper, outcomes}, 0.9, CalibrationRanks::of_rows(0.9, 99), {}));
  const std::string text = to_text(report);
  const std::size_t note = text.find("Note: column 'clarity': 1 of 2,000 values is a category");
  ASSERT_NE(note, std::string::npos) << text;
  EXPECT_LT(note, text.find("Level 0.9"));
}

}  // namespace
}  // namespace widthwise
