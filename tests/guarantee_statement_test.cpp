#include <widthwise/guarantee_statement.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/model_examples.hpp"

namespace widthwise {
namespace {

Model model_with(const std::function<void(ModelParts&)>& change = [](ModelParts&) {}) {
  ModelParts parts{.features = examples::names(3),
                   .base = examples::trees(3, 1, 5, 2, 1),
                   .rule = ConformalRule(make_transform("identity"))};
  change(parts);
  return Model(std::move(parts));
}

struct Scheme {
  std::string name;
  Model model;
  std::string kind;
  std::vector<std::string> conditions;
};

std::vector<Scheme> all_schemes() {
  const auto folds = [] {
    std::vector<Model> models;
    for (std::uint64_t k = 0; k < 4; ++k) {
      models.push_back(examples::calibrated(model_with(), examples::Table(25, 3, 10 + k)));
    }
    return Model::of_folds(std::move(models), "", RowSketch());
  };
  return {
      {"rows", model_with(), "marginal", {"at least the level", "exchangeable with the calibration rows"}},
      {"confidence",
       model_with([](ModelParts& parts) { parts.guarantee = Guarantee(0.95); }),
       "training-conditional",
       {"for 95.0% of calibration sets", "independent draws of one distribution"}},
      {"groups",
       model_with([](ModelParts& parts) { parts.group = "city"; }),
       "group-conditional",
       {"in each group", "exchangeable with its calibration rows"}},
      {"groups with a confidence",
       model_with([](ModelParts& parts) {
         parts.group = "city";
         parts.guarantee = Guarantee(0.95);
       }),
       "training-conditional",
       {"in each group", "for 95.0% of calibration sets", "independent draws"}},
      {"pooled groups",
       model_with([](ModelParts& parts) {
         parts.group = "city";
         parts.pool_groups = 20;
       }),
       "group-conditional",
       {"fewer than 20 calibration rows are pooled", "on average over the rows of all pooled groups", "as often as"}},
      {"given weights",
       model_with([](ModelParts& parts) { parts.weight = "w"; }),
       "weighted",
       {"at least the level", "up to one factor, the likelihood ratios"}},
      {"learnt weights",
       model_with([](ModelParts& parts) { parts.shift = examples::trees(3, 1, 5, 2, 2); }),
       "approximate",
       {"about the level", "as far as the learnt weights", "not guaranteed"}},
      {"learnt weights in groups",
       model_with([](ModelParts& parts) {
         parts.shift = examples::trees(3, 1, 5, 2, 2);
         parts.group = "city";
       }),
       "approximate",
       {"in each group"}},
      {"rows of clusters",
       model_with([](ModelParts& parts) {
         parts.cluster = "patient";
         parts.max_cluster_size = 40;
       }),
       "marginal",
       {"each row counts once, for clusters of at most 40 rows", "new clusters are exchangeable"}},
      {"clusters",
       model_with([](ModelParts& parts) {
         parts.cluster = "patient";
         parts.cluster_coverage = ClusterForm::kClusters;
       }),
       "marginal",
       {"each cluster counts once", "new clusters are exchangeable"}},
      {"time",
       model_with([](ModelParts& parts) { parts.notes["time"] = "month"; }),
       "marginal",
       {"the time 'month'", "not guaranteed unless"}},
      {"folds", folds(), "cross-calibration", {"1 - 2 alpha - d", "at level 0.9", "average over training sets"}},
  };
}

TEST(GuaranteeStatement, NamesTheConditionsOfEveryScheme) {
  for (const Scheme& scheme : all_schemes()) {
    const GuaranteeStatement statement = guarantee_statement(scheme.model);
    EXPECT_EQ(statement.kind, scheme.kind) << scheme.name;
    for (const std::string& condition : scheme.conditions) {
      EXPECT_NE(statement.text.find(condition), std::string::npos) << scheme.name << ": " << statement.text;
    }
  }
}

TEST(GuaranteeStatement, GuaranteesTheLevelOnlyWhereItIsProved) {
  for (const Scheme& scheme : all_schemes()) {
    const bool promised = guarantee_statement(scheme.model).text.find("at least the level") != std::string::npos;
    const bool proved = scheme.model.parts().shift == nullptr && !scheme.model.cross_calibrated();
    EXPECT_EQ(promised, proved) << scheme.name;
  }
}

TEST(GuaranteeStatement, TheColumnOfTimesIsThatOfTheFit) {
  EXPECT_EQ(time_column(model_with()), "");
  EXPECT_EQ(time_column(model_with([](ModelParts& parts) { parts.notes["time"] = "month"; })), "month");
}

}  // namespace
}  // namespace widthwise
