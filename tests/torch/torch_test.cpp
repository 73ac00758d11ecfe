#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>
#include <widthwise/error.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/torch.hpp>

#include "support/errors.hpp"
#include "support/noisy_rows.hpp"
#include "support/numbers.hpp"
#include "train/engines/net/start.hpp"
#include "train/engines/torch/outputs.hpp"

namespace widthwise {
namespace {

constexpr std::size_t kColumns = 4;

/// Rows whose errors have the size s(x): y - f(x) = s(x) e, |e| exponential, so that E[r|x] = s(x).
struct Sample {
  explicit Sample(std::size_t n, std::uint64_t seed = 1) : x(n * kColumns), residuals(n), log_scales(n) {
    Random random(seed);
    for (double& number : x) number = random.normal();
    for (std::size_t i = 0; i < n; ++i) {
      log_scales[i] = 0.8 * std::tanh(x[kColumns * i]) + 0.5 * std::abs(x[kColumns * i + 1]) - 0.4;
      const double size = -std::log(1 - random.uniform()) * std::exp(log_scales[i]);
      residuals[i] = random.bits() % 2 == 0 ? size : -size;
    }
  }

  [[nodiscard]] TrainingRows rows(std::size_t first, std::size_t count) const {
    return {MatrixView(x.data(), residuals.size(), kColumns).slice(first, count),
            {std::span(residuals).subspan(first, count)}};
  }
  [[nodiscard]] TrainingRows training() const { return rows(0, residuals.size() * 3 / 4); }
  [[nodiscard]] TrainingRows holdout() const {
    const std::size_t first = residuals.size() * 3 / 4;
    return rows(first, residuals.size() - first);
  }

  std::vector<double> x;
  std::vector<double> residuals;
  std::vector<double> log_scales;
};

std::unique_ptr<const Objective> width_objective(std::string_view transform, double evenness = 0,
                                                 Sides sides = Sides::kOne) {
  WidthOptions options;
  options.evenness = evenness;
  options.sides = sides;
  return make_width_objective(make_transform(transform), Score::kAbsolute, options);
}

std::vector<double> outputs_of(const RowFunction& function, MatrixView x) {
  std::vector<double> out(x.rows() * function.outputs());
  function.evaluate(x, {out.data(), x.rows(), function.outputs()});
  return out;
}

double loss_of(const Objective& objective, const TrainingRows& rows, const std::vector<double>& parameters) {
  return objective.evaluate(rows.residuals, {parameters.data(), rows.x.rows(), objective.parameter_count()});
}

/// Every `stride`-th number from `first`.
std::vector<double> every(const std::vector<double>& numbers, std::size_t first, std::size_t stride) {
  std::vector<double> out;
  for (std::size_t i = first; i < numbers.size(); i += stride) out.push_back(numbers[i]);
  return out;
}

NetOptions quick() {
  NetOptions options;
  options.layers = 2;
  options.width = 32;
  options.max_epochs = 20;
  options.threads = 1;
  return options;
}

/// The mean of (p - 1)^2, or what `answer` makes of it.
class OddObjective final : public Objective {
 public:
  using Answer = std::function<double(std::size_t call, double loss)>;
  explicit OddObjective(Answer answer) : answer_(std::move(answer)) {}

  [[nodiscard]] std::size_t parameter_count() const override { return 1; }
  using Objective::evaluate;
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView /*hessian*/, Workspace& /*workspace*/, const Reducer& /*reducer*/) const override {
    const auto n = static_cast<double>(rows.residuals.size());
    double loss = 0;
    for (std::size_t i = 0; i < parameters.rows(); ++i) {
      loss += std::pow(parameters(i, 0) - 1, 2) / n;
      if (!gradient.empty()) gradient(i, 0) = 2 * (parameters(i, 0) - 1) / n;
    }
    return answer_(calls_++, loss);
  }

 private:
  Answer answer_;
  mutable std::size_t calls_ = 0;
};

// ------------------------------------------------------------------------------------------------ what is learnt

struct Case {
  const char* transform;
  double evenness;
  double sign;  // of the log scale among the parameters
};

class NetTrainerLearns : public testing::TestWithParam<Case> {};

TEST_P(NetTrainerLearns, HowTheSizeOfErrorsDependsOnX) {
  const Sample sample(4000);
  const auto objective = width_objective(GetParam().transform, GetParam().evenness);
  const std::size_t columns = objective->parameter_count();
  const TrainingRows holdout = sample.holdout();
  const auto trained = make_net_trainer(quick())->train(sample.training(), holdout, *objective, {});

  // The truth as parameters: e^-g = 1 / s for exp (g = -log s), g = log s for the others, with the offset log s of an
  // exponential density. What the best possible loss gains over one width for all, training must gain to 85 %.
  std::vector<double> truth(holdout.x.rows() * columns);
  const std::vector<double> log_scales(sample.log_scales.end() - static_cast<std::ptrdiff_t>(holdout.x.rows()),
                                       sample.log_scales.end());
  for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = GetParam().sign * log_scales[i / columns];
  const double untrained = loss_of(*objective, holdout, std::vector<double>(truth.size()));
  const double best = loss_of(*objective, holdout, truth);
  ASSERT_LT(best, untrained - 0.05);
  EXPECT_LT(trained.loss, untrained - 0.85 * (untrained - best));
  const std::vector<double> parameters = outputs_of(*trained.function, holdout.x);
  EXPECT_NEAR(loss_of(*objective, holdout, parameters), trained.loss, 1e-5);
  EXPECT_GT(GetParam().sign * correlation(every(parameters, 0, columns), log_scales), 0.95);
  EXPECT_GT(trained.iterations, 0U);
}

INSTANTIATE_TEST_SUITE_P(Transforms, NetTrainerLearns,
                         testing::Values(Case{"exp", 1, -1}, Case{"density", 0, 1}, Case{"affine", 0, 1}),
                         [](const auto& test) { return std::string(test.param.transform); });

TEST(NetTrainer, LearnsTheScaleOfErcAlthoughItsGradientIsZeroAtZero) {
  const Sample sample(3000);
  const auto objective = width_objective("erc", 1);
  const auto trained = make_net_trainer(quick())->train(sample.training(), sample.holdout(), *objective, {});
  std::vector<double> log_scales;
  for (const double g : outputs_of(*trained.function, sample.holdout().x)) log_scales.push_back(std::log(g * g + 0.01));
  EXPECT_GT(correlation(log_scales, std::vector<double>(sample.log_scales.begin() + 2250, sample.log_scales.end())),
            0.9);
}

TEST(NetTrainer, LearnsTheTwoSidesSeparately) {
  Sample sample(4000);
  for (std::size_t i = 0; i < sample.residuals.size(); ++i) {
    if (sample.residuals[i] < 0) sample.residuals[i] /= std::exp(2 * sample.log_scales[i]);  // 1 / s below, s above
  }
  const auto objective = width_objective("exp", 1, Sides::kTwo);
  ASSERT_EQ(objective->parameter_count(), 2U);
  const auto trained = make_net_trainer(quick())->train(sample.training(), sample.holdout(), *objective, {});
  const std::vector<double> parameters = outputs_of(*trained.function, sample.holdout().x);
  const std::vector<double> log_scales(sample.log_scales.begin() + 3000, sample.log_scales.end());
  EXPECT_GT(correlation(every(parameters, 0, 2), log_scales), 0.9);
  EXPECT_LT(correlation(every(parameters, 1, 2), log_scales), -0.9);
}

TEST(NetTrainer, SeesMissingValuesConstantColumnsAndInfinities) {
  const std::size_t n = 3000;
  const Sample sample(n);
  const std::size_t columns = kColumns + 3;
  std::vector<double> x(n * columns);
  Random random(5);
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(&sample.x[kColumns * i], kColumns, &x[columns * i]);
    if (random.below(10) == 0) x[columns * i] = kNaN;
    if (random.below(10) == 0) x[columns * i + 3] = random.below(2) == 0 ? kInfinity : -kInfinity;
    x[columns * i + 4] = 1234.5;
    x[columns * i + 5] = kNaN;
    x[columns * i + 6] = 1e300 * random.normal();
  }
  const MatrixView all(x.data(), n, columns);
  const TrainingRows training{all.slice(0, 2250), sample.training().residuals};
  const TrainingRows holdout{all.slice(2250, 750), sample.holdout().residuals};
  const auto objective = width_objective("exp", 1);
  const auto trained = make_net_trainer(quick())->train(training, holdout, *objective, {});
  EXPECT_LT(trained.loss, loss_of(*objective, holdout, std::vector<double>(750)) - 0.05);
  EXPECT_GT(-correlation(outputs_of(*trained.function, holdout.x),
                         std::vector<double>(sample.log_scales.begin() + 2250, sample.log_scales.end())),
            0.85);
}

TEST(NetTrainer, LearnsFromRowsThatCountAndOnlyFromThose) {
  Sample sample(3000);
  std::vector<double> weights(2250, 1);
  for (std::size_t i = 0; i < weights.size(); i += 3) {
    weights[i] = 0;
    sample.residuals[i] = 1e6;
  }
  TrainingRows training = sample.training();
  training.residuals.weights = weights;
  const auto objective = width_objective("exp", 1);
  const auto trained = make_net_trainer(quick())->train(training, sample.holdout(), *objective, {});
  EXPECT_LT(trained.loss, loss_of(*objective, sample.holdout(), std::vector<double>(750)) - 0.05);
}

TEST(NetTrainer, LearnsWhenMostResidualsAreZero) {
  Sample sample(3000);
  for (std::size_t i = 0; i < sample.residuals.size(); ++i) {
    if (i % 10 != 0) sample.residuals[i] = 0;
  }
  for (const char* transform : {"exp", "affine"}) {
    const auto objective = width_objective(transform);
    NetOptions options = quick();
    options.batch_size = 16;
    options.max_epochs = 3;
    const auto trained = make_net_trainer(options)->train(sample.training(), sample.holdout(), *objective, {});
    EXPECT_TRUE(std::isfinite(trained.loss)) << transform;
  }
  std::fill(sample.residuals.begin(), sample.residuals.end(), 0);
  const auto trained =
      make_net_trainer(quick())->train(sample.training(), sample.holdout(), *width_objective("exp", 1), {});
  EXPECT_EQ(trained.iterations, 0U);
  EXPECT_EQ(trained.loss, -kInfinity);
}

// ------------------------------------------------------------------------------------------------- how it trains

TEST(NetTrainer, MakesTheSameBytesOfTheSameSeedAndOthersOfAnother) {
  const Sample sample(1000);
  const auto objective = width_objective("affine");
  const auto weights_of = [&](std::uint64_t seed, bool again) {
    NetOptions options = quick();
    options.max_epochs = 5;
    options.seed = seed;
    const auto trainer = make_net_trainer(options);
    const auto trained = again ? trainer->retrain(sample.training(), *objective, 3, {})
                               : trainer->train(sample.training(), sample.holdout(), *objective, {});
    std::vector<std::uint32_t> bits;
    for (const DenseLayer& layer : dynamic_cast<const DenseNet&>(*trained.function).arrays().layers) {
      for (const float weight : layer.weights) bits.push_back(std::bit_cast<std::uint32_t>(weight));
    }
    return bits;
  };
  for (const bool again : {false, true}) {
    EXPECT_EQ(weights_of(1, again), weights_of(1, again));
    EXPECT_NE(weights_of(1, again), weights_of(2, again));
  }
}

TEST(NetTrainer, BeginsWithNearlyTheSameOutputsForAllRows) {
  const Sample sample(500);
  for (const char* transform : {"exp", "density", "affine", "erc", "mixture"}) {
    const auto objective = width_objective(transform);
    const auto untrained = make_net_trainer(NetOptions())->retrain(sample.training(), *objective, 0, {});
    EXPECT_EQ(untrained.iterations, 0U);
    EXPECT_TRUE(std::isnan(untrained.loss));
    const std::vector<double> outputs = outputs_of(*untrained.function, sample.holdout().x);
    for (const double output : outputs) EXPECT_LT(std::abs(output - std::round(output)), 0.1) << transform;
  }
}

TEST(NetTrainer, StopsWhenTheHoldOutGetsNoBetterAndKeepsTheBest) {
  Sample sample(400);
  Random random(3);
  for (double& residual : sample.residuals) residual = random.normal();  // pure noise: training can only overfit
  NetOptions options = quick();
  options.max_epochs = 500;
  options.patience = 7;
  std::vector<double> losses;
  const auto trained = make_net_trainer(options)->train(sample.training(), sample.holdout(), *width_objective("exp", 1),
                                                        [&](const Progress& progress) {
                                                          EXPECT_EQ(progress.total, 500U);
                                                          if (progress.done > losses.size())
                                                            losses.push_back(progress.loss);
                                                          return true;
                                                        });
  EXPECT_EQ(losses.size(), trained.iterations + 7);
  for (const double loss : losses) EXPECT_GE(loss, trained.loss);
}

TEST(NetTrainer, RetrainsOnTheSameRowsToTheSameNet) {
  const Sample sample(4000);
  const auto objective = width_objective("exp", 1);
  const auto trainer = make_net_trainer(quick());
  const auto trained = trainer->train(sample.training(), sample.holdout(), *objective, {});
  const auto again = trainer->retrain(sample.training(), *objective, trained.iterations, {});
  EXPECT_EQ(again.iterations, trained.iterations);
  EXPECT_EQ(outputs_of(*again.function, sample.holdout().x), outputs_of(*trained.function, sample.holdout().x));
}

TEST(NetTrainer, IsCancelledByItsCallbackWhereverItIs) {
  const Sample sample(2000);
  const auto objective = width_objective("exp", 1);
  const auto trainer = make_net_trainer(quick());
  for (const std::size_t calls : {1U, 2U, 5U}) {
    std::size_t count = 0;
    const auto callback = [&](const Progress&) { return ++count < calls; };
    expect_error(ErrorCode::kCancelled, "cancelled",
                 [&] { (void)trainer->train(sample.training(), sample.holdout(), *objective, callback); });
    EXPECT_EQ(count, calls);
    count = 0;
    expect_error(ErrorCode::kCancelled, "cancelled",
                 [&] { (void)trainer->retrain(sample.training(), *objective, 10, callback); });
    EXPECT_EQ(count, calls);
  }
}

TEST(NetTrainer, ReportsWithinAnEpochThatTakesLong) {
  const Sample sample(1000);
  const OddObjective slow([](std::size_t, double loss) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // an epoch of 20 batches takes over a second
    return loss;
  });
  std::size_t count = 0;
  expect_error(ErrorCode::kCancelled, "cancelled", [&] {
    (void)make_net_trainer(quick())->retrain(sample.training(), slow, 10, [&](const Progress& progress) {
      EXPECT_EQ(progress.done, 0U);
      EXPECT_EQ(progress.total, 10U);
      return ++count < 4;
    });
  });
}

TEST(NetTrainer, LeavesTheFloatingPointEnvironmentAsItWas) {
  const Sample sample(200);
  NetOptions options = quick();
  options.max_epochs = 1;
  (void)make_net_trainer(options)->train(sample.training(), sample.holdout(), *width_objective("exp", 1), {});
  volatile double minimum = std::numeric_limits<double>::min();
  EXPECT_GT(minimum / 4, 0) << "denormal numbers are flushed to zero";
}

TEST(NetTrainer, RunsThePaperPreset) {
  const NetOptions options = NetOptions::paper();
  EXPECT_EQ(options.batch_size, 16U);
  EXPECT_EQ(options.layers, 5U);
  EXPECT_EQ(options.width, 100U);
  EXPECT_FALSE(options.cosine);
  EXPECT_EQ(internal::rate_share(0.7, options), 1);
  EXPECT_EQ(internal::batch_count(20'000, options), 1250U);
  const Sample sample(800);
  NetOptions few = options;
  few.max_epochs = 10;
  const auto objective = width_objective("exp");
  const auto trainer = make_net_trainer(few);
  const auto trained = trainer->train(sample.training(), sample.holdout(), *objective, {});
  EXPECT_LT(trained.loss, loss_of(*objective, sample.holdout(), std::vector<double>(200)));
  EXPECT_EQ(trainer->retrain(sample.rows(0, 800), *objective, trained.iterations, {}).iterations, trained.iterations);
}

TEST(NetTrainer, NamesItselfAndItsEngine) {
  EXPECT_EQ(make_net_trainer()->name(), "net");
  EXPECT_EQ(make_net_trainer()->engine().substr(0, 8), "torch 2.");
}

TEST(NetTrainer, MakesAboutTwentyBatchesOfAtLeastSixteenRows) {
  NetOptions options;
  options.batch_size = 1024;
  EXPECT_EQ(internal::batch_count(1, options), 1U);
  EXPECT_EQ(internal::batch_count(31, options), 1U);
  EXPECT_EQ(internal::batch_count(160, options), 10U);
  EXPECT_EQ(internal::batch_count(10'000, options), 20U);
  EXPECT_EQ(internal::batch_count(1'024'000, options), 1000U);
  EXPECT_EQ(internal::rate_share(0, options), 1);
  EXPECT_NEAR(internal::rate_share(0.5, options), 0.5, 1e-15);
  EXPECT_NEAR(internal::rate_share(1, options), 0, 1e-15);
  EXPECT_NEAR(internal::rate_share(3, options), 0, 1e-15);
}

// --------------------------------------------------------------------------------------------- against DenseNet

TEST(NetTrainer, ComputesWhatDenseNetComputes) {
  const Sample sample(2000);
  const auto objective = width_objective("affine");
  NetOptions options;
  options.max_epochs = 4;
  const auto trained = make_net_trainer(options)->train(sample.training(), sample.holdout(), *objective, {});
  std::vector<double> x = sample.x;
  x[0] = kNaN;
  x[1] = kInfinity;
  x[2] = -1e30;
  const MatrixView rows(x.data(), 2000, kColumns);
  const std::vector<double> by_core = outputs_of(*trained.function, rows);
  std::vector<double> by_torch(by_core.size());
  internal::evaluate_by_torch(dynamic_cast<const DenseNet&>(*trained.function).arrays(), rows,
                              {by_torch.data(), 2000, 2});
  for (std::size_t i = 0; i < by_core.size(); ++i) {
    EXPECT_NEAR(by_core[i], by_torch[i], 1e-5 * (1 + std::abs(by_torch[i])));
  }
}

// ------------------------------------------------------------------------------------------------------- refusals

TEST(NetTrainer, LeavesOutBatchesThatAreNotFinite) {
  const Sample sample(1000);
  NetOptions options = quick();
  options.learning_rate = 0.02;
  const OddObjective objective([](std::size_t call, double loss) {
    if (call % 3 == 1) return kNaN;
    if (call % 3 == 2) throw Error(ErrorCode::kNotFinite, "a parameter has run away");
    return loss;
  });
  const auto trained = make_net_trainer(options)->retrain(sample.training(), objective, 20, {});
  const std::vector<double> outputs = outputs_of(*trained.function, sample.holdout().x);
  EXPECT_NEAR(std::accumulate(outputs.begin(), outputs.end(), 0.0) / 250, 1, 0.1);
}

TEST(NetTrainer, GivesUpWithAdviceWhenNoBatchIsFinite) {
  const Sample sample(4000);
  const OddObjective objective([](std::size_t, double) { return kNaN; });
  expect_error(ErrorCode::kNotFinite, "learning_rate",
               [&] { (void)make_net_trainer(quick())->train(sample.training(), sample.holdout(), objective, {}); });
}

TEST(NetTrainer, PassesOnOtherErrorsOfTheObjective) {
  const Sample sample(400);
  const OddObjective objective(
      [](std::size_t, double) -> double { throw Error(ErrorCode::kInvalidArgument, "not today"); });
  expect_error(ErrorCode::kInvalidArgument, "not today",
               [&] { (void)make_net_trainer(quick())->train(sample.training(), sample.holdout(), objective, {}); });
}

TEST(NetTrainer, RefusesInvalidTrainingRows) {
  const Sample sample(100);
  const auto objective = width_objective("exp");
  const auto trainer = make_net_trainer(quick());
  const auto refuse = [&](ErrorCode code, const std::string& part, const TrainingRows& rows,
                          const TrainingRows& holdout) {
    expect_error(code, part, [&] { (void)trainer->train(rows, holdout, *objective, {}); });
  };
  const TrainingRows good = sample.training();
  TrainingRows bad = good;
  bad.x = good.x.slice(0, 10);
  refuse(ErrorCode::kShapeMismatch, "training rows: 75 residuals, but x has 10 rows", bad, good);
  refuse(ErrorCode::kShapeMismatch, "hold-out: 75 residuals, but x has 10 rows", good, bad);
  bad = good;
  bad.x = {sample.x.data(), 75, 2, kColumns};
  refuse(ErrorCode::kShapeMismatch, "4 columns but the hold-out has 2", good, bad);
  bad.x = {sample.x.data(), 75, 0, kColumns};
  refuse(ErrorCode::kInvalidArgument, "no columns", bad, bad);
  refuse(ErrorCode::kTooFewRows, "training rows: expected rows of positive weight", sample.rows(0, 0), good);
  refuse(ErrorCode::kTooFewRows, "hold-out: expected rows of positive weight", good, sample.rows(0, 0));
  std::vector<double> weights(75);
  bad = good;
  bad.residuals.weights = weights;
  refuse(ErrorCode::kTooFewRows, "positive weight", bad, good);
  weights[3] = -1;
  refuse(ErrorCode::kInvalidArgument, "weight 3 is -1", bad, good);
  std::vector<double> residuals(75, 1);
  residuals[7] = kNaN;
  bad = good;
  bad.residuals.residuals = residuals;
  refuse(ErrorCode::kNotFinite, "residual 7 is nan", bad, good);
}

TEST(NetTrainer, RefusesSettingsOutsideTheirDomain) {
  const auto refuse = [](const std::string& part, const std::function<void(NetOptions&)>& spoil) {
    NetOptions options;
    spoil(options);
    expect_error(ErrorCode::kInvalidArgument, part, [&] { (void)make_net_trainer(options); });
  };
  refuse("layers is '101'; expected a whole number from 0 to 100", [](auto& o) { o.layers = 101; });
  refuse("width", [](auto& o) { o.width = 0; });
  refuse("width", [](auto& o) { o.width = 1U << 20U; });
  refuse("batch_size", [](auto& o) { o.batch_size = 0; });
  refuse("learning_rate", [](auto& o) { o.learning_rate = 0; });
  refuse("learning_rate", [](auto& o) { o.learning_rate = kNaN; });
  refuse("weight_decay", [](auto& o) { o.weight_decay = -1; });
  refuse("clip", [](auto& o) { o.clip = 0; });
  refuse("clip", [](auto& o) { o.clip = kNaN; });
  refuse("max_epochs", [](auto& o) { o.max_epochs = 0; });
  refuse("patience", [](auto& o) { o.patience = 0; });
  refuse("threads", [](auto& o) { o.threads = 5000; });
}

}  // namespace
}  // namespace widthwise
