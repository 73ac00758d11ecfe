#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iostream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/xgboost.hpp>

#include "support/errors.hpp"
#include "support/noisy_rows.hpp"
#include "support/numbers.hpp"
#include "train/engines/xgboost/booster.hpp"
#include "train/fit/cross_fit.hpp"
#include "xgboost/library.hpp"

namespace widthwise {
namespace {

using internal::Booster;
using internal::Parameters;
using internal::TrainingMatrix;

// --- the library
// ------------------------------------------------------------------------------------------------------------

TEST(XgboostLibrary, IsFoundAndHasAVersion) {
  EXPECT_TRUE(library()->version().starts_with("3.")) << library()->version();
  EXPECT_TRUE(std::filesystem::exists(library()->path()));
}

TEST(XgboostLibrary, IsTakenFromTheVariable) {
  const std::string path = library()->path().string();
  ASSERT_EQ(setenv("WIDTHWISE_XGBOOST", path.c_str(), 1), 0);
  EXPECT_EQ(XgboostLibrary::load()->path(), path);
  ASSERT_EQ(setenv("WIDTHWISE_XGBOOST", "/nowhere/libxgboost.so", 1), 0);
  EXPECT_NE(message_of([] { static_cast<void>(XgboostLibrary::load()); }, ErrorCode::kMissingEngine)
                .find("/nowhere/libxgboost.so"),
            std::string::npos);
  ASSERT_EQ(unsetenv("WIDTHWISE_XGBOOST"), 0);
}

TEST(XgboostLibrary, ThatIsNotXgboostIsAPlainError) {
  const auto message =
      message_of([] { static_cast<void>(XgboostLibrary::load("libm.so.6")); }, ErrorCode::kMissingEngine);
  EXPECT_NE(message.find("libm.so.6: no function XGBoostVersion"), std::string::npos) << message;
  EXPECT_NE(message.find("pip install"), std::string::npos) << message;
}

// --- the same numbers
// -------------------------------------------------------------------------------------------------------

/// The greatest difference between core's trees and XGBoost's own margins, relative to the size of the margins, and
/// how many are the same to the last bit.
void expect_same_numbers(const Booster& booster, std::size_t outputs, std::size_t rounds) {
  const NoisyRows rows(100'000, 77);
  const TrainingMatrix matrix(library(), rows.view(), 1);
  const auto margins = booster.margins(matrix, false);
  ASSERT_EQ(margins.size(), rows.rows() * outputs);
  const Trees trees(booster.trees(rows.columns, outputs, rounds));
  std::vector<double> ours(margins.size());
  trees.evaluate(rows.view(), {ours.data(), rows.rows(), outputs});
  std::size_t same = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto theirs = static_cast<double>(margins[i]);
    ASSERT_LE(std::abs(ours[i] - theirs), 1e-6 * std::abs(theirs)) << "row " << i / outputs;
    if (ours[i] == theirs) ++same;
  }
  EXPECT_EQ(same, ours.size());
}

class SameNumbers : public testing::TestWithParam<std::pair<std::size_t, std::size_t>> {};

TEST_P(SameNumbers, CoreGivesWhatXgboostGivesOnAHundredThousandRowsWithMissingValues) {
  const auto [outputs, depth] = GetParam();
  const NoisyRows rows(3000, 5);
  TrainingMatrix matrix(library(), rows.view(), 1);
  matrix.set_labels(std::vector<double>(rows.rows(), 0.0));
  const TrainingMatrix* const matrices[] = {&matrix};
  Booster booster(library(), matrices,
                  {{"max_depth", std::to_string(depth)},
                   {"num_target", std::to_string(outputs)},
                   {"base_score", "30"},
                   {"eta", "0.1"},
                   {"subsample", "0.7"},
                   {"nthread", "1"}});
  std::vector<float> gradient(rows.rows() * outputs);
  const std::vector<float> hessian(gradient.size(), 1.0F);
  Random random(3);
  const std::size_t rounds = 60;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (float& g : gradient) g = static_cast<float>(random.normal());
    booster.update(matrix, round, gradient, hessian, outputs);
  }
  expect_same_numbers(booster, outputs, rounds);
}

INSTANTIATE_TEST_SUITE_P(OutputsAndDepth, SameNumbers,
                         testing::Values(std::pair{1, 4}, std::pair{2, 4}, std::pair{4, 3}, std::pair{1, 1},
                                         std::pair{1, 9}));

// --- a saved model
// ----------------------------------------------------------------------------------------------------------

std::vector<std::byte> saved(const std::string& json) {
  const auto bytes = nlohmann::json::to_ubjson(nlohmann::json::parse(json));
  std::vector<std::byte> result;
  for (const std::uint8_t byte : bytes) result.push_back(std::byte{byte});
  return result;
}

/// A model of one tree; `more` is put into the tree.
std::string one_tree(const std::string& more = "") {
  return R"({"learner": {"learner_model_param": {"base_score": "[5E-1]", "num_target": "1", "num_class": "0",
      "num_feature": "2"}, "gradient_booster": {"model": {"tree_info": [0], "trees": [{"tree_param": {"size_leaf_vector":
      "1"}, )" +
         more + R"("left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [1, 0, 0],
      "split_conditions": [3.5, -1, 2], "default_left": [1, 0, 0]}]}}}})";
}

TEST(ReadTrees, GivesTheTreesOfASavedModel) {
  const auto trees = read_trees(saved(one_tree()));
  EXPECT_EQ(trees->inputs(), 2U);
  EXPECT_EQ(trees->outputs(), 1U);
  for (const auto& [x, expected] : {std::pair{3.0, -0.5}, std::pair{3.5, 2.5}, std::pair{std::nan(""), -0.5}}) {
    const std::vector<double> row{0, x};
    double out = 0;
    trees->evaluate({row.data(), 1, 2}, {&out, 1, 1});
    EXPECT_EQ(out, expected) << x;
  }
}

TEST(ReadTrees, RefusesUnsupportedModels) {
  const auto message = [](const std::vector<std::byte>& bytes) {
    return message_of([&] { static_cast<void>(read_trees(bytes)); }, ErrorCode::kBadData);
  };
  EXPECT_NE(message(saved(one_tree(R"("categories": [3], )"))).find("categories"), std::string::npos);
  EXPECT_NE(message(saved(R"({"learner": {}})")).find("unknown model format"), std::string::npos);
  std::vector<std::byte> bytes = saved(one_tree());
  for (std::size_t iterations = 0; iterations < bytes.size(); ++iterations) {
    EXPECT_FALSE(message({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(iterations)}).empty());
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ReadTrees, RefusesATreeWithACycleAndTooManyOutputs) {
  const auto message = [](const std::string& json) {
    return message_of([&] { static_cast<void>(read_trees(saved(json))); }, ErrorCode::kBadData);
  };
  const std::string cycle = replaced(one_tree(), R"("left_children": [1, -1, -1])", R"("left_children": [0, -1, -1])");
  EXPECT_NE(message(cycle).find("two parents"), std::string::npos);
  const std::string wide = replaced(one_tree(), R"("num_class": "0")", R"("num_class": "4000000000")");
  EXPECT_NE(message(wide).find("at most 1000000"), std::string::npos);
}

// --- training
// -------------------------------------------------------------------------------------------------------------------

struct Case {
  const char* transform;
  double evenness;
  Sides sides;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.transform << ", evenness " << c.evenness; }

std::unique_ptr<const Objective> objective_of(const Case& c) {
  return make_width_objective(make_transform(c.transform), Score::kAbsolute,
                              {.sides = c.sides, .evenness = c.evenness});
}

class TreeTraining : public testing::TestWithParam<Case> {};

TEST_P(TreeTraining, FindsHowTheErrorDependsOnTheRow) {
  const Case c = GetParam();
  const NoisyRows rows(6000, 1);
  const NoisyRows holdout(1500, 2);
  const auto objective = objective_of(c);
  const auto trainer = make_tree_trainer(library(), {.max_rounds = 300, .threads = 1});
  std::size_t reports = 0;
  const Trained trained =
      trainer->train(rows.training(), holdout.training(), *objective, [&](const Progress& progress) {
        EXPECT_EQ(progress.done, ++reports);
        return true;
      });
  const std::size_t outputs = objective->parameter_count();
  EXPECT_EQ(trained.function->outputs(), outputs);
  EXPECT_LE(trained.iterations, reports);

  // The loss reported is that of the trees handed out, and better than no localizer by what s(x) is worth.
  std::vector<double> parameters(holdout.rows() * outputs);
  const auto loss = [&] {
    return objective->evaluate({holdout.residuals, {}}, {parameters.data(), holdout.rows(), outputs});
  };
  const double untrained = loss();  // the same for any constant
  trained.function->evaluate(holdout.view(), {parameters.data(), holdout.rows(), outputs});
  EXPECT_NEAR(loss(), trained.loss, 1e-6);
  EXPECT_LT(trained.loss, untrained - 0.03);

  // exp is A e^g, so g falls where errors grow; the others carry log s itself. Two-sided, the lower side comes first.
  std::vector<double> found;
  for (std::size_t i = 0; i < holdout.rows(); ++i) found.push_back(parameters[i * outputs]);
  // erc carries the square root of s^2.
  const double sign = std::string_view(c.transform) == "exp" ? -1 : 1;
  EXPECT_GT(sign * correlation(found, holdout.log_scale), 0.9);
}

TEST_P(TreeTraining, GivesTheSameForestForTheSameSeed) {
  const NoisyRows rows(2000, 1);
  const NoisyRows holdout(500, 2);
  const auto objective = objective_of(GetParam());
  const auto trees = [&](std::uint64_t seed) {
    const auto trainer = make_tree_trainer(library(), {.max_rounds = 30, .threads = 1, .seed = seed});
    const auto trained = trainer->train(rows.training(), holdout.training(), *objective, {});
    return dynamic_cast<const Trees&>(*trained.function).arrays().value;
  };
  EXPECT_EQ(trees(1), trees(1));
  EXPECT_NE(trees(1), trees(2));
}

INSTANTIATE_TEST_SUITE_P(Goals, TreeTraining,
                         testing::Values(Case{"exp", 1, Sides::kOne}, Case{"erc", 0.5, Sides::kOne},
                                         Case{"exp", 0.5, Sides::kOne}, Case{"density", 0, Sides::kOne},
                                         Case{"affine", 0, Sides::kOne}, Case{"exp", 1, Sides::kTwo},
                                         Case{"affine", 0, Sides::kTwo}),
                         [](const auto& instance) {
                           return std::string(instance.param.transform) +
                                  (instance.param.sides == Sides::kTwo ? "TwoSided" : "") +
                                  std::to_string(static_cast<int>(100 * instance.param.evenness));
                         });

TEST(TreeTrainer, RetrainsALittleLonger) {
  const NoisyRows rows(2000, 1);
  const auto objective = objective_of({"affine", 0, Sides::kOne});
  const auto trained = make_tree_trainer(library(), {.threads = 1})->retrain(rows.training(), *objective, 100, {});
  EXPECT_EQ(trained.iterations, 115U);
  EXPECT_EQ(dynamic_cast<const Trees&>(*trained.function).trees(), 230U);
}

TEST(TreeTrainer, StopsWhenCancelled) {
  const NoisyRows rows(2000, 1);
  const auto objective = objective_of({"exp", 1, Sides::kOne});
  const auto message = message_of(
      [&] {
        static_cast<void>(
            make_tree_trainer(library(), {.threads = 1})
                ->retrain(rows.training(), *objective, 100, [](const Progress& p) { return p.done < 5; }));
      },
      ErrorCode::kCancelled);
  EXPECT_EQ(message, "training trees on all rows: cancelled");
}

TEST(TreeTrainer, RefusesInvalidSettings) {
  EXPECT_EQ(message_of([] { static_cast<void>(make_tree_trainer(library(), {.learning_rate = 0})); },
                       ErrorCode::kInvalidArgument),
            "learning_rate is '0'; expected a number above 0 and at most 1");
}

TEST(TreeBaseTrainer, PredictsTheMedian) {
  const NoisyRows rows(4000, 3);
  std::vector<double> y;
  for (std::size_t i = 0; i < rows.rows(); ++i) y.push_back(10 * rows.x[i * rows.columns] + 0.1 * rows.residuals[i]);
  const auto model = make_tree_base_trainer(library(), {.threads = 1})->train(rows.view(), y, "base", {});
  std::vector<double> f(rows.rows());
  model->evaluate(rows.view(), {f.data(), f.size(), 1});
  EXPECT_GT(correlation(f, y), 0.99);
}

/// Skewed outcomes of one feature, which it does not explain: their mean is `at` + 1 and their median `at` + log 2.
struct SkewedRows {
  explicit SkewedRows(double at = 0, double unit = 1) {
    Random random(5);
    for (std::size_t i = 0; i < 4000; ++i) {
      x.push_back(random.uniform());
      y.push_back(at - unit * std::log(1 - random.uniform()));
    }
  }

  std::vector<double> x;
  std::vector<double> y;

  [[nodiscard]] MatrixView view() const { return {x.data(), x.size(), 1}; }

  /// The predictions of a base model that is trained on these rows (n x outputs).
  [[nodiscard]] std::vector<double> predictions(const TreeBaseOptions& options,
                                                std::span<const double> weights = {}) const {
    const auto trainer = make_tree_base_trainer(library(), options);
    std::vector<double> f(x.size() * trainer->outputs());
    trainer->train({view(), {}, weights}, y, "base", {})->evaluate(view(), {f.data(), x.size(), trainer->outputs()});
    return f;
  }
};

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(TreeBaseTrainer, SmoothingLeadsFromTheMedianToTheMean) {
  const SkewedRows rows;
  const auto mean_prediction = [&](double smoothing) {
    return mean_of(rows.predictions({.smoothing = smoothing, .threads = 1}));
  };
  EXPECT_NEAR(mean_prediction(0.1), std::log(2), 0.05);
  EXPECT_NEAR(mean_prediction(100), 1, 0.05);
  const double between = mean_prediction(4);
  EXPECT_GT(between, 0.75);
  EXPECT_LT(between, 0.95);
}

TEST(TreeBaseTrainer, QuantilesHaveTheirShareOfOutcomesBelow) {
  SkewedRows rows;
  Random random(6);
  for (double& y : rows.y) y = random.normal();
  for (const double outside : {0.05, 0.01}) {
    const auto f = rows.predictions({.lower = outside, .upper = 1 - outside, .threads = 1});
    double below = 0;
    double above = 0;
    for (std::size_t i = 0; i < rows.y.size(); ++i) {
      below += rows.y[i] < f[2 * i] ? 1 : 0;
      above += rows.y[i] > f[2 * i + 1] ? 1 : 0;
    }
    const auto n = static_cast<double>(rows.y.size());
    EXPECT_NEAR(below / n, outside, 0.03) << outside;
    EXPECT_NEAR(above / n, outside, 0.03) << outside;
  }
}

TEST(TreeBaseTrainer, ShortenedModelsAreThoseOfFewerRounds) {
  const SkewedRows rows;
  const TreeBaseOptions options{.rounds = 90, .lower = 0.1, .upper = 0.9, .threads = 1};
  const auto trainer = make_tree_base_trainer(library(), options);
  const TrainingSteps& steps = *trainer->steps();
  const auto model = trainer->train({rows.view()}, rows.y, "base", {});
  const std::vector<double> losses = steps.losses(*model, {rows.view()}, rows.y);
  ASSERT_EQ(losses.size(), 4U);  // of 25, 50, 75 and 90 rounds
  for (std::size_t step = 1; step <= losses.size(); ++step) {
    const auto fewer = steps.trainer(step);
    std::vector<double> f(2 * rows.y.size());
    std::vector<double> shortened(f.size());
    fewer->train({rows.view()}, rows.y, "base", {})->evaluate(rows.view(), {f.data(), rows.y.size(), 2});
    steps.shortened(*model, step)->evaluate(rows.view(), {shortened.data(), rows.y.size(), 2});
    EXPECT_EQ(shortened, f) << step;
    double loss = 0;
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double error = rows.y[i / 2] - f[i];
      const double p = i % 2 == 0 ? 0.1 : 0.9;
      loss += std::max(p * error, (p - 1) * error);
    }
    EXPECT_NEAR(losses[step - 1], loss, 1e-4 * loss);
  }
}

TEST(CrossFit, ChoosesFewRoundsForNoiseAndManyForAFunction) {
  const SkewedRows noise;
  SkewedRows function;
  for (std::size_t i = 0; i < function.y.size(); ++i) function.y[i] = std::sin(20 * function.x[i]);
  const auto chosen = [](const SkewedRows& rows) {
    const auto trainer = make_tree_base_trainer(library(), {.rounds = 200, .threads = 1});
    std::vector<double> out(rows.y.size());
    return cross_fit(*trainer, {rows.view()}, rows.y, 3, 1, out)->settings();
  };
  EXPECT_NE(chosen(noise).find("rounds=25 "), std::string::npos) << chosen(noise);
  EXPECT_NE(chosen(function).find("rounds=200 "), std::string::npos) << chosen(function);
}

TEST(TreeBaseTrainer, PlaceAndUnitOfOutcomesDoNotChangeTheTrees) {
  const SkewedRows rows;
  const SkewedRows moved(1024, 0.125);
  const TreeBaseOptions options{.threads = 1};
  const auto f = rows.predictions(options);
  const auto g = moved.predictions(options);
  for (std::size_t i = 0; i < f.size(); ++i) ASSERT_NEAR(f[i], 8 * (g[i] - 1024), 0.05) << i;
}

TEST(TreeBaseTrainer, EqualWeightsAreLikeNoneAndConstantOutcomesArePredicted) {
  const SkewedRows rows;
  const TreeBaseOptions options{.rounds = 50, .threads = 1};
  EXPECT_EQ(rows.predictions(options, std::vector<double>(rows.y.size(), 4.0)), rows.predictions(options));
  const SkewedRows constant(7, 0);
  for (const double f : constant.predictions(options)) ASSERT_EQ(f, 7);
}

// --- trainings that were stopped
// --------------------------------------------------------------------------------------------

/// Train without interruption; train, stop after 230 rounds and resume: the same values in all leaves.
void expect_to_go_on(
    const std::function<std::shared_ptr<const RowFunction>(Checkpoint&, const ProgressCallback&)>& train) {
  std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ranges::replace(name, '/', '-');
  const auto file = std::filesystem::path(testing::TempDir()) / (name + ".checkpoint");
  const auto leaves = [](const RowFunction& function) { return dynamic_cast<const Trees&>(function).arrays().value; };
  std::filesystem::remove(file);
  Checkpoint undisturbed(file, 1, nullptr);
  const auto expected = leaves(*train(undisturbed, {}));

  std::filesystem::remove(file);
  Checkpoint first(file, 1, nullptr);
  const auto stop = [](const Progress& progress) {
    // Checkpoints are written at intervals.
    if (progress.done % 100 == 50) std::this_thread::sleep_for(std::chrono::milliseconds(250));
    return progress.done < 230;
  };
  EXPECT_THROW(static_cast<void>(train(first, stop)), Error);
  ASSERT_TRUE(std::filesystem::exists(file));
  Checkpoint second(file, 1, nullptr);
  std::size_t begins = 0;
  const auto look = [&](const Progress& progress) {
    if (begins == 0) begins = progress.done;
    return true;
  };
  EXPECT_EQ(leaves(*train(second, look)), expected);
  // A checkpoint that took long to write delays the next one.
  EXPECT_TRUE(begins == 101 || begins == 201) << begins;
  second.remove();
}

TEST_P(TreeTraining, ResumesAfterAStopWithIdenticalResults) {
  const NoisyRows rows(2000, 1);
  const auto objective = objective_of(GetParam());
  expect_to_go_on([&](Checkpoint& checkpoint, const ProgressCallback& progress) {
    const auto trainer = make_tree_trainer(library(), {.retrain_factor = 1, .threads = 1}, {.checkpoint = &checkpoint});
    return trainer->retrain(rows.training(), *objective, 250, progress).function;
  });
}

TEST(TreeBaseTrainer, ResumesAfterAStopWithIdenticalResults) {
  const NoisyRows rows(2000, 3);
  expect_to_go_on([&](Checkpoint& checkpoint, const ProgressCallback& progress) {
    const TreeBaseOptions options{.subsample = 0.7, .column_sample = 0.7, .rounds = 250, .threads = 1};
    return make_tree_base_trainer(library(), options, {.checkpoint = &checkpoint})
        ->train(rows.view(), rows.residuals, "base", progress);
  });
}

// --- speed
// ---------------------------------------------------------------------------------------------------------------------

/// Processor time: other programs may use the machine as well.
double seconds(const std::function<void()>& action) {
  const std::clock_t start = std::clock();
  action();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr bool kMeasures = false;
#else
constexpr bool kMeasures = true;
#endif

/// 300 trees of depth 4 on 20 columns, as full as such trees get.
class SlowTreesSpeed : public testing::Test {
 protected:
  SlowTreesSpeed() : rows_(20'000, 5, 19), matrix_(library(), rows_.view(), 1) {
    matrix_.set_labels(std::vector<double>(rows_.rows(), 0.0));
    const TrainingMatrix* const matrices[] = {&matrix_};
    booster_ = std::make_unique<Booster>(
        library(), matrices, Parameters{{"max_depth", "4"}, {"base_score", "0"}, {"eta", "0.1"}, {"nthread", "1"}});
    std::vector<float> gradient(rows_.rows());
    const std::vector<float> hessian(gradient.size(), 1.0F);
    Random random(3);
    for (std::size_t round = 0; round < 300; ++round) {
      for (float& g : gradient) g = static_cast<float>(random.normal());
      booster_->update(matrix_, round, gradient, hessian, 1);
    }
  }

  NoisyRows rows_;
  TrainingMatrix matrix_;
  std::unique_ptr<Booster> booster_;
};

TEST_F(SlowTreesSpeed, ASingleRowOfALoadedModelTakesAtMostTenMicroseconds) {
  if (!kMeasures) GTEST_SKIP() << "measures an optimised build only";
  std::vector<std::string> features;
  for (std::size_t j = 0; j + 1 < rows_.columns; ++j) features.push_back("x" + std::to_string(j));
  const ConformalRule rule(make_transform("exp"));
  Calibration calibration;
  Random random(4);
  for (std::uint64_t i = 0; i < 1000; ++i) calibration.add(i, {.score = random.uniform()});
  const Model trained(ModelParts{.features = features,
                                 .prediction = "f",
                                 .localizer = std::make_shared<const Trees>(booster_->trees(rows_.columns, 1, 300)),
                                 .rule = rule,
                                 .calibration = std::move(calibration)});
  const Model model = deserialise(serialise(trained));
  double best = kInfinity;
  double sum = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double each = seconds([&] {
                          for (std::size_t i = 0; i < rows_.rows(); ++i) {
                            const auto row = rows_.view().row(i);
                            sum += model.interval(row.first(features.size()), 0.9, row.back()).upper;
                          }
                        }) /
                        static_cast<double>(rows_.rows());
    std::cout << "a single row, 300 trees of depth 4: " << 1e6 * each << " us\n";
    best = std::min(best, each);
  }
  EXPECT_TRUE(std::isfinite(sum));
  EXPECT_LE(best, 10e-6);
}

TEST_F(SlowTreesSpeed, AMillionRowsTakeNoLongerThanInXgboostItself) {
  if (!kMeasures) GTEST_SKIP() << "measures an optimised build only";
  const Trees trees(booster_->trees(rows_.columns, 1, 300));
  const NoisyRows rows(1'000'000, 9, 19);
  std::vector<double> out(rows.rows());
  double best = kInfinity;
  for (int repeat = 0; repeat < 5; ++repeat) {
    // XGBoost would return cached predictions for a known matrix.
    const TrainingMatrix matrix(library(), rows.view(), 1);
    const double theirs = seconds([&] { static_cast<void>(booster_->margins(matrix, false)); });
    const double ours = seconds([&] { trees.evaluate(rows.view(), {out.data(), out.size(), 1}); });
    std::cout << "a million rows, one thread: core " << ours << " s, XGBoost " << theirs << " s, ratio "
              << ours / theirs << '\n';
    best = std::min(best, ours / theirs);
  }
  EXPECT_LE(best, 1.0);
}

}  // namespace
}  // namespace widthwise
