#include <widthwise/schemes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/evaluation.hpp>
#include <widthwise/model.hpp>
#include <widthwise/model_file.hpp>

#include "support/model_examples.hpp"

// Laws that hold for every calibration scheme.
namespace widthwise {
namespace {

constexpr std::size_t kTableRows = 60;

Model model_with(const std::function<void(ModelParts&)>& change = [](ModelParts&) {}) {
  ModelParts parts{.features = examples::names(3),
                   .base = examples::trees(3, 1, 5, 2, 1),
                   .rule = ConformalRule(make_transform("identity"))};
  change(parts);
  return Model(std::move(parts));
}

/// Columns that some schemes read, for any number of rows.
struct Columns {
  std::vector<std::int64_t> groups;
  std::vector<std::int64_t> clusters;
  std::vector<double> weights;

  explicit Columns(std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      groups.push_back(static_cast<std::int64_t>(i % 9 == 0 ? 7 : i % 2));
      clusters.push_back(static_cast<std::int64_t>(i * i / 90));
      weights.push_back(0.5 + static_cast<double>(i % 7) / 3);
    }
  }

  /// The rows with the columns that the scheme of the model reads.
  [[nodiscard]] Rows rows(const Model& model, const examples::Table& table, Step step) const {
    Rows rows = table.for_model(model);
    const CalibrationScheme& scheme = model.scheme();
    if (scheme.reads(Role::kGroup, step)) rows.groups = groups;
    if (scheme.reads(Role::kCluster, step)) rows.clusters = clusters;
    if (scheme.reads(Role::kWeight, step)) rows.weights = weights;
    return rows;
  }
};

struct Scheme {
  std::string name;
  Model model;  // without calibration rows, except of folds
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
       model_with([](ModelParts& parts) { parts.columns[Role::kGroup] = "city"; }),
       "group-conditional",
       {"in each group", "exchangeable with its calibration rows"}},
      {"groups with a confidence",
       model_with([](ModelParts& parts) {
         parts.columns[Role::kGroup] = "city";
         parts.guarantee = Guarantee(0.95);
       }),
       "training-conditional",
       {"in each group", "for 95.0% of calibration sets", "independent draws"}},
      {"pooled groups",
       model_with([](ModelParts& parts) {
         parts.columns[Role::kGroup] = "city";
         parts.pool_groups = 20;
       }),
       "group-conditional",
       {"fewer than 20 calibration rows are pooled", "on average over the rows of all pooled groups", "as often as"}},
      {"given weights",
       model_with([](ModelParts& parts) { parts.columns[Role::kWeight] = "w"; }),
       "weighted",
       {"at least the level", "up to one factor, the likelihood ratios"}},
      {"given weights in groups",
       model_with([](ModelParts& parts) {
         parts.columns[Role::kWeight] = "w";
         parts.columns[Role::kGroup] = "city";
       }),
       "weighted",
       {"at least the level in each group", "up to one factor, the likelihood ratios"}},
      {"learnt weights",
       model_with([](ModelParts& parts) { parts.shift = examples::trees(3, 1, 5, 2, 2); }),
       "approximate",
       {"about the level", "as far as the learnt weights", "not guaranteed"}},
      {"learnt weights in groups",
       model_with([](ModelParts& parts) {
         parts.shift = examples::trees(3, 1, 5, 2, 2);
         parts.columns[Role::kGroup] = "city";
       }),
       "approximate",
       {"in each group"}},
      {"rows of clusters",
       model_with([](ModelParts& parts) {
         parts.columns[Role::kCluster] = "patient";
         parts.max_cluster_size = 12;
       }),
       "marginal",
       {"each row counts once, for clusters of at most 12 rows", "new clusters are exchangeable"}},
      {"clusters",
       model_with([](ModelParts& parts) {
         parts.columns[Role::kCluster] = "patient";
         parts.cluster_coverage = ClusterForm::kClusters;
       }),
       "marginal",
       {"each cluster counts once", "new clusters are exchangeable"}},
      {"rows of clusters in groups",
       model_with([](ModelParts& parts) {
         parts.columns[Role::kGroup] = "city";
         parts.columns[Role::kCluster] = "patient";
         parts.max_cluster_size = 4;
       }),
       "group-conditional",
       {"in each group", "each row counts once, for clusters of at most 4 rows in a group",
        "exchangeable with the calibration clusters, together with the groups of their rows"}},
      {"clusters in groups",
       model_with([](ModelParts& parts) {
         parts.columns[Role::kGroup] = "city";
         parts.columns[Role::kCluster] = "patient";
         parts.cluster_coverage = ClusterForm::kClusters;
       }),
       "group-conditional",
       {"in each group", "new clusters with rows in the group, where each cluster counts once",
        "together with the groups of their rows"}},
      {"time",
       model_with([](ModelParts& parts) { parts.notes["time"] = "month"; }),
       "marginal",
       {"the time 'month'", "not guaranteed unless"}},
      {"learnt weights in time",
       model_with([](ModelParts& parts) {
         parts.notes["time"] = "month";
         parts.shift = examples::trees(3, 1, 5, 2, 2);
       }),
       "approximate",
       {"as far as the learnt weights", "the time 'month'", "not guaranteed unless"}},
      {"folds", folds(), "cross-calibration", {"1 - 2 alpha - d", "at level 0.9", "average over training sets"}},
  };
}

/// The model with calibration rows of its scheme, added in two parts that are merged.
Model calibrated(const Model& model, bool merged = false) {
  if (!model.scheme().takes_rows()) return model;
  const examples::Table table(kTableRows, 3, 5);
  const Columns columns(kTableRows);
  const Rows rows = columns.rows(model, table, Step::kCalibrate);
  CalibrationShard whole = CalibrationShard::of(model);
  if (!merged) {
    whole.add(model, rows, table.y, 0);
    return model.with_calibration(std::move(whole.calibration));
  }
  CalibrationShard other = CalibrationShard::of(model);
  other.add(model, rows.slice(0, 25), std::span(table.y).first(25), 0);
  whole.add(model, rows.slice(25, kTableRows - 25), std::span(table.y).subspan(25), 25);
  merge_shard(whole, deserialise_shard(serialise_shard(other)));
  return model.with_calibration(std::move(whole.calibration));
}

examples::Answers answers_of(const Model& model) {
  const examples::Table table(40, 3, 6);
  const Columns columns(40);
  return examples::answers(model, columns.rows(model, table, Step::kPredict), {0.5, 0.8, 0.9});
}

/// The evaluation of level 0.8 on rows like the calibration rows.
LevelEvaluation evaluation_of(const Model& model) {
  const std::size_t n = 400;
  const examples::Table table(n, 3, 7);
  const Columns columns(n);
  const Rows rows = columns.rows(model, table, Step::kEvaluate);
  const examples::Answers found = examples::answers(model, rows, {0.8});
  std::vector<std::int64_t> groups;
  for (const std::int64_t group : rows.groups) groups.push_back(model.quantile_group(group));
  const CalibrationRanks law = model.law(0.8, groups);
  return evaluate({found.lower, found.upper, table.y}, 0.8, law, {},
                  {.clusters = law.sets ? rows.clusters : std::span<const std::int64_t>()});
}

bool contains_any(const std::string& text, const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts, [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

TEST(Schemes, NameTheConditionsOfTheirGuarantee) {
  for (const Scheme& scheme : all_schemes()) {
    const GuaranteeStatement statement = scheme.model.guarantee_statement();
    EXPECT_EQ(statement.kind, scheme.kind) << scheme.name;
    for (const std::string& condition : scheme.conditions) {
      EXPECT_NE(statement.text.find(condition), std::string::npos) << scheme.name << ": " << statement.text;
    }
  }
}

TEST(Schemes, GuaranteeAtLeastTheLevelOnlyWhereItIsProved) {
  for (const Scheme& scheme : all_schemes()) {
    const bool claimed = scheme.model.guarantee_statement().text.find("at least the level") != std::string::npos;
    const bool proved = scheme.model.parts().shift == nullptr && scheme.model.scheme().takes_rows();
    EXPECT_EQ(claimed, proved) << scheme.name;
  }
}

TEST(Schemes, WithoutAnExactLawVerdictsAreApproximateOrBounds) {
  const std::vector<std::string> not_exact = {"approximate", "guarantees at least", "in at least", "no known law"};
  for (const Scheme& scheme : all_schemes()) {
    const Model model = calibrated(scheme.model);
    const LevelEvaluation found = evaluation_of(model);
    const CalibrationRanks law = model.law(0.8);
    const bool pools = model.parts().pool_groups > 0;
    EXPECT_EQ(contains_any(found.summary, not_exact), !law.is_exact() || pools) << scheme.name << ": " << found.summary;
    EXPECT_EQ(law.is_exact(), model.scheme().takes_rows() && model.scheme().approximate_because().empty() &&
                                  model.scheme().has_independent_rows())
        << scheme.name;
    if (law.sets) {
      EXPECT_EQ(found.places_tested, 0U) << scheme.name;
    }
  }
}

TEST(Schemes, CalibrateTheSameInPartsThatAreMerged) {
  for (const Scheme& scheme : all_schemes()) {
    const Model once = calibrated(scheme.model);
    const Model merged = calibrated(scheme.model, true);
    EXPECT_EQ(answers_of(once), answers_of(merged)) << scheme.name;
    EXPECT_EQ(serialise(once), serialise(merged)) << scheme.name;
  }
}

TEST(Schemes, KeepIntervalsAndWordsInAFile) {
  for (const Scheme& scheme : all_schemes()) {
    const Model model = calibrated(scheme.model);
    const Model read = deserialise(serialise(model));
    EXPECT_EQ(answers_of(model), answers_of(read)) << scheme.name;
    EXPECT_EQ(model.guarantee_statement().to_string(), read.guarantee_statement().to_string()) << scheme.name;
    for (const Level level : {Level(0.8), Level(0.999)}) {
      EXPECT_EQ(model.scheme().coverage(model.parts().calibration, level, true),
                read.scheme().coverage(read.parts().calibration, level, true))
          << scheme.name;
    }
  }
}

TEST(Schemes, ReadColumnsToPredictOnlyIfTheyReadThemToCalibrate) {
  for (const Scheme& scheme : all_schemes()) {
    for (const RoleEntry& entry : roles()) {
      if (entry.reads(Step::kCalibrate) && scheme.model.scheme().reads(entry.role, Step::kPredict)) {
        EXPECT_TRUE(scheme.model.scheme().reads(entry.role, Step::kCalibrate)) << scheme.name;
      }
    }
  }
}

/// The smallest score at which the cumulative weight reaches level x (total + new), by a double loop.
double looped_quantile(const std::vector<std::pair<double, double>>& weighted_scores, double level, double new_weight) {
  double total = new_weight;
  for (const auto& [score, weight] : weighted_scores) total += weight;
  double smallest = std::numeric_limits<double>::infinity();
  for (const auto& [candidate, unused] : weighted_scores) {
    double below = 0;
    for (const auto& [score, weight] : weighted_scores) below += score <= candidate ? weight : 0;
    if (below >= level * total * (1 - 1e-12)) smallest = std::min(smallest, candidate);
  }
  return smallest;
}

/// The weight of each calibration row for a new row of this group, as the scheme defines it.
std::vector<std::pair<double, double>> weights_of(const Model& model, std::int64_t group) {
  const Calibration& calibration = model.parts().calibration;
  const std::uint64_t pool = model.parts().pool_groups;
  std::map<std::pair<std::int64_t, std::int64_t>, double> cluster_sizes;  // by group
  for (const std::int64_t key : calibration.groups()) {
    for (const CalibrationRow& row : calibration.rows(key)) {
      if (row.cluster) cluster_sizes[{key, *row.cluster}] += 1;
    }
  }
  const bool is_pooled = calibration.rows_in(group) < pool;
  std::vector<std::pair<double, double>> rows;
  for (const std::int64_t key : calibration.groups()) {
    const bool counts = is_pooled ? calibration.rows_in(key) <= pool : key == group;
    if (!counts) continue;
    for (const CalibrationRow& row : calibration.rows(key)) {
      const bool shares = row.cluster && model.scheme().cluster_rule().form == ClusterForm::kClusters;
      rows.emplace_back(row.score, shares ? 1 / cluster_sizes[{key, *row.cluster}] : row.weight);
    }
  }
  return rows;
}

TEST(Schemes, TakeTheWeightedQuantileOfADoubleLoop) {
  for (const Scheme& scheme : all_schemes()) {
    if (!scheme.model.scheme().takes_rows() || !scheme.model.parts().guarantee.is_marginal()) continue;
    const Model model = calibrated(scheme.model);
    const SortedScores sorted(model.parts().calibration, model.parts().guarantee, model.parts().pool_groups,
                              model.scheme().cluster_rule());
    for (const std::int64_t group : model.parts().calibration.groups()) {
      for (const double new_weight : {1.0, 2.5, 7.0}) {
        for (const Level level : {Level(0.31), Level(0.62), Level(0.83), Level(0.97)}) {
          const bool weighs =
              model.scheme().weighs_new_rows() || model.scheme().reads(Role::kClusterSize, Step::kPredict);
          const double weight = weighs ? new_weight : 1;
          const double found = sorted.quantile(level, group, weighs ? std::optional(weight) : std::nullopt);
          EXPECT_EQ(found, looped_quantile(weights_of(model, group), level.value(), weight))
              << scheme.name << ", group " << group << ", level " << level.to_string() << ", weight " << weight;
        }
      }
    }
  }
}

TEST(Schemes, TheColumnOfTimesIsThatOfTheFit) {
  EXPECT_EQ(model_with().scheme().options().columns[Role::kTime], "");
  EXPECT_EQ(
      model_with([](ModelParts& parts) { parts.notes["time"] = "month"; }).scheme().options().columns[Role::kTime],
      "month");
}

}  // namespace
}  // namespace widthwise
