#include <widthwise/objective.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "objective/summary.hpp"
#include "support/numbers.hpp"
#include "support/thread_workers.hpp"

namespace widthwise {
namespace {

struct ObjectiveCase {
  std::string transform;
  Score score = Score::kAbsolute;
  Sides sides = Sides::kOne;
  double evenness = 0;
  std::optional<LevelWindow> level_window = std::nullopt;
  PairMethod method = PairMethod::kExact;

  [[nodiscard]] WidthOptions options() const {
    return {.sides = sides, .evenness = evenness, .level_window = level_window, .method = method};
  }
  [[nodiscard]] bool is_distribution() const { return transform == "spline"; }
  [[nodiscard]] std::unique_ptr<const Objective> fast() const {
    if (is_distribution()) {
      return make_distribution_objective(*make_transform(transform),
                                         {sides, evenness, level_window.value_or(LevelWindow::all())});
    }
    return make_width_objective(make_transform(transform), score, options());
  }
  [[nodiscard]] std::unique_ptr<const Objective> pairwise() const {
    return make_pairwise_objective(make_transform(transform), score, options());
  }
  [[nodiscard]] std::string name() const {
    std::string text = transform + "_" + std::string(name_of(score)) + (sides == Sides::kTwo ? "_two_sided" : "");
    if (evenness > 0) text += "_even" + std::to_string(std::lround(100 * evenness));
    if (level_window) text += "_window" + std::to_string(std::lround(1000 * level_window->lower.value()));
    if (level_window && level_window->outside > 0) text += "_and_others";
    if (method == PairMethod::kSummary) text += "_summary";
    return text;
  }
};

struct Problem {
  std::vector<double> residuals;
  std::vector<double> weights;
  std::vector<double> parameters;
  std::size_t columns = 1;

  [[nodiscard]] ResidualRows rows() const { return {residuals, weights}; }
  [[nodiscard]] MatrixView matrix() const { return {parameters.data(), residuals.size(), columns}; }
};

struct LossAndGradients {
  double loss = 0;
  std::vector<double> gradient;
  std::vector<double> hessian;
};

LossAndGradients evaluate(const Objective& objective, const Problem& problem) {
  const std::size_t n = problem.residuals.size();
  LossAndGradients result{0, std::vector<double>(n * problem.columns, 7.0),
                          std::vector<double>(n * problem.columns, 7.0)};
  result.loss = objective.evaluate(problem.rows(), problem.matrix(), {result.gradient.data(), n, problem.columns},
                                   {result.hessian.data(), n, problem.columns});
  return result;
}

enum class Flavour { kPlain, kTies, kZeros, kHugeSpread, kWeights, kOneRow };
constexpr std::array kFlavours{Flavour::kPlain,      Flavour::kTies,    Flavour::kZeros,
                               Flavour::kHugeSpread, Flavour::kWeights, Flavour::kOneRow};

Problem make_problem(std::size_t columns, std::size_t n, Flavour flavour, Random& random) {
  if (flavour == Flavour::kOneRow) n = 1;
  Problem problem;
  problem.columns = columns;
  for (std::size_t i = 0; i < n; ++i) {
    const double spread = flavour == Flavour::kHugeSpread ? 8.0 : 1.0;
    double r = std::exp(spread * random.normal());
    if (flavour == Flavour::kTies) r = std::ceil(3 * r);
    if (flavour == Flavour::kZeros && random.uniform() < 0.3) r = 0;
    problem.residuals.push_back(random.uniform() < 0.5 ? -r : r);
    if (flavour == Flavour::kWeights)
      problem.weights.push_back(i > 0 && random.uniform() < 0.1 ? 0.0 : 3 * random.uniform());
  }
  for (std::size_t i = 0; i < n * columns; ++i) {
    double x = (flavour == Flavour::kHugeSpread ? 5.0 : 1.0) * random.normal();
    if (flavour == Flavour::kTies) x = std::round(2 * x) / 2 + 0.1;
    problem.parameters.push_back(x);
  }
  return problem;
}

double maximum(std::span<const double> values) {
  double maximum = 0;
  for (const double x : values) maximum = std::max(maximum, std::abs(x));
  return maximum;
}

void expect_near(std::span<const double> found, std::span<const double> expected, double tolerance,
                 const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance) << what << " at " << i;
  }
}

class ExactObjectives : public testing::TestWithParam<ObjectiveCase> {};

TEST_P(ExactObjectives, EqualTheDoubleLoopOnRandomProblems) {
  const auto fast = GetParam().fast();
  const auto pairwise = GetParam().pairwise();
  Random random(11);
  for (int trial = 0; trial < 100; ++trial) {
    const auto flavour = kFlavours[static_cast<std::size_t>(trial) % kFlavours.size()];
    const auto n = static_cast<std::size_t>(std::lround(2 * std::pow(250.0, random.uniform())));
    const Problem problem = make_problem(fast->parameter_count(), n, flavour, random);
    const LossAndGradients found = evaluate(*fast, problem);
    const LossAndGradients expected = evaluate(*pairwise, problem);
    const std::string what = "trial " + std::to_string(trial) + ", " + std::to_string(n) + " rows";
    if (std::isinf(expected.loss)) {  // one row with a residual of 0
      EXPECT_EQ(found.loss, expected.loss) << what;
    } else {
      ASSERT_NEAR(found.loss, expected.loss, 1e-10 * std::max(1.0, std::abs(expected.loss))) << what;
    }
    // The two parts of a gradient are of size 1 together; on one row they cancel, and only rounding is left.
    const double size = problem.residuals.size() == 1 ? 1.0 : maximum(expected.gradient);
    expect_near(found.gradient, expected.gradient, 1e-10 * size, what);
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllForms, ExactObjectives,
    testing::Values(ObjectiveCase{"exp"}, ObjectiveCase{"exp", Score::kSquared},
                    ObjectiveCase{"linear", Score::kSquared}, ObjectiveCase{"sigma", Score::kAbsolute},
                    ObjectiveCase{"erc", Score::kSquared}, ObjectiveCase{"density"}, ObjectiveCase{"affine"},
                    ObjectiveCase{"exp", Score::kAbsolute, Sides::kTwo},
                    ObjectiveCase{"density", Score::kAbsolute, Sides::kTwo},
                    ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo},
                    ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0, LevelWindow{0.8, 0.95}},
                    ObjectiveCase{"affine", Score::kAbsolute, Sides::kOne, 0, LevelWindow{0.8, 0.95}},
                    ObjectiveCase{"density", Score::kAbsolute, Sides::kTwo, 0, LevelWindow{0.5, 0.9}},
                    ObjectiveCase{"exp", Score::kSquared, Sides::kOne, 0, LevelWindow{0.9, 0.9}},
                    ObjectiveCase{"affine", Score::kAbsolute, Sides::kOne, 0, LevelWindow{0.9, 0.9}},
                    ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0, LevelWindow{0.8, 0.95, 0.4}},
                    ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo, 0, LevelWindow{0.8, 0.99, 0.4}}),
    [](const auto& test) { return test.param.name(); });

class AnyObjective : public testing::TestWithParam<ObjectiveCase> {};

TEST_P(AnyObjective, GradientMatchesCentralDifferences) {
  const auto objective = GetParam().fast();
  Random random(23);
  for (const Flavour flavour : {Flavour::kPlain, Flavour::kWeights, Flavour::kZeros}) {
    // The root-finder of the mixture is slow, and its eight parameters a row are many.
    const std::size_t n = objective->parameter_count() < 8 ? 24 : 8;
    Problem problem = make_problem(objective->parameter_count(), n, flavour, random);
    const LossAndGradients found = evaluate(*objective, problem);
    for (std::size_t i = 0; i < problem.parameters.size(); ++i) {
      const double at = problem.parameters[i];
      const double h = 1e-6;
      problem.parameters[i] = at + h;
      const double up = objective->evaluate(problem.rows(), problem.matrix());
      problem.parameters[i] = at - h;
      const double down = objective->evaluate(problem.rows(), problem.matrix());
      problem.parameters[i] = at;
      EXPECT_NEAR(found.gradient[i], (up - down) / (2 * h), 2e-5 * std::max(maximum(found.gradient), 1e-2)) << i;
    }
  }
}

TEST_P(AnyObjective, HessianIsPositiveAndFinite) {
  const auto objective = GetParam().fast();
  Random random(29);
  for (const Flavour flavour : kFlavours) {
    if (flavour == Flavour::kHugeSpread && GetParam().score == Score::kLog) continue;  // e to the e to the spread
    const LossAndGradients found =
        evaluate(*objective, make_problem(objective->parameter_count(), 50, flavour, random));
    for (const double h : found.hessian) {
      EXPECT_GT(h, 0);
      EXPECT_TRUE(std::isfinite(h));
    }
  }
}

TEST_P(AnyObjective, IntegerWeightsAreRepeatedRows) {
  const auto objective = GetParam().fast();
  if (GetParam().level_window) return;  // N + 1 counts a repeated row twice, but a weight of 2 as one row
  Random random(31);
  Problem weighted = make_problem(objective->parameter_count(), 40, Flavour::kPlain, random);
  Problem repeated;
  repeated.columns = weighted.columns;
  for (std::size_t i = 0; i < weighted.residuals.size(); ++i) {
    weighted.weights.push_back(static_cast<double>(random.below(4)));
    for (double k = 0; k < weighted.weights[i]; ++k) {
      repeated.residuals.push_back(weighted.residuals[i]);
      for (std::size_t j = 0; j < weighted.columns; ++j) {
        repeated.parameters.push_back(weighted.parameters[i * weighted.columns + j]);
      }
    }
  }
  // Nodes are parts of the rows by number, so they differ; every other loss is the same.
  const double tolerance = GetParam().transform == "mixture" ? 0.05 : 1e-12;
  EXPECT_NEAR(objective->evaluate(weighted.rows(), weighted.matrix()),
              objective->evaluate(repeated.rows(), repeated.matrix()), tolerance);
}

TEST_P(AnyObjective, IntervalsThatAreAllPointsGiveMinusInfinityAndNoGradient) {
  const auto objective = GetParam().fast();
  if (GetParam().is_distribution()) return;  // it scores intervals that are not calibrated, and they are no points
  if (GetParam().transform == "affine" && GetParam().score != Score::kAbsolute) return;  // inverses are rounded up
  Problem problem;
  problem.columns = objective->parameter_count();
  problem.residuals.assign(5, 0.0);
  problem.parameters.assign(5 * problem.columns, 0.3);
  const LossAndGradients found = evaluate(*objective, problem);
  EXPECT_EQ(found.loss, -kInfinity);
  EXPECT_EQ(maximum(found.gradient), 0);
}

TEST_P(AnyObjective, BadInputIsAnErrorThatNamesTheRow) {
  const auto objective = GetParam().fast();
  Random random(37);
  Problem good = make_problem(objective->parameter_count(), 10, Flavour::kWeights, random);
  good.weights.assign(10, 2.0);
  const auto expect_error = [&](const Problem& problem, const std::string& text) {
    try {
      (void)objective->evaluate(problem.rows(), problem.matrix());
      FAIL() << "expected an error about " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  for (const double bad : {kNaN, kInfinity}) {
    Problem problem = good;
    problem.residuals[3] = bad;
    expect_error(problem, "row 4: the residual is");
    problem = good;
    problem.parameters[4 * problem.columns] = bad;
    expect_error(problem, "row 5: parameter 0 is");
  }
  for (const double bad : {-1.0, kInfinity, kNaN}) {
    Problem problem = good;
    problem.weights[2] = bad;
    expect_error(problem, "row 3: the weight is");
  }
  Problem problem = good;
  problem.weights.pop_back();
  expect_error(problem, "10 residuals but 9 weights");
  problem = good;
  problem.columns += 1;
  problem.parameters.resize(10 * problem.columns);
  expect_error(problem, "expected 10 x");
}

INSTANTIATE_TEST_SUITE_P(
    AllForms, AnyObjective,
    testing::Values(ObjectiveCase{"exp"}, ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0.15},
                    ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0.85},
                    ObjectiveCase{"exp", Score::kSquared, Sides::kOne, 1},
                    ObjectiveCase{"linear", Score::kSquared, Sides::kOne, 0.5},
                    ObjectiveCase{"erc", Score::kSquared, Sides::kOne, 0.5},
                    ObjectiveCase{"exp", Score::kAbsolute, Sides::kTwo, 1},
                    ObjectiveCase{"exp", Score::kAbsolute, Sides::kTwo, 0.4}, ObjectiveCase{"density"},
                    ObjectiveCase{"affine"}, ObjectiveCase{"density", Score::kAbsolute, Sides::kTwo},
                    ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo}, ObjectiveCase{"affine", Score::kSquared},
                    ObjectiveCase{"affine", Score::kLog}, ObjectiveCase{"exp", Score::kLog}, ObjectiveCase{"mixture"},
                    ObjectiveCase{"mixture", Score::kSquared}, ObjectiveCase{"mixture", Score::kSquared, Sides::kTwo},
                    ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0.85, LevelWindow{0.8, 0.99}},
                    ObjectiveCase{"affine", Score::kAbsolute, Sides::kOne, 0, LevelWindow{0.8, 0.99}},
                    ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo, 0, LevelWindow{0.8, 0.99, 0.4}},
                    ObjectiveCase{"spline", Score::kAbsolute, Sides::kOne, 1},
                    ObjectiveCase{"spline", Score::kAbsolute, Sides::kTwo, 1},
                    ObjectiveCase{"spline", Score::kAbsolute, Sides::kTwo, 0.85, LevelWindow{0.8, 0.99, 0.4}},
                    ObjectiveCase{"spline", Score::kAbsolute, Sides::kTwo, 0, LevelWindow{0.9, 0.9}}),
    [](const auto& test) { return test.param.name(); });

// --- what the design says of the losses
// ---------------------------------------------------------------------------------

double scale_loss(const std::vector<double>& u, const std::vector<double>& r, double evenness) {
  std::vector<double> g;
  for (const double x : u) g.push_back(-x);
  const ObjectiveCase narrow{"exp", Score::kAbsolute, Sides::kOne, evenness};
  return narrow.fast()->evaluate({r}, MatrixView::column(g));
}

TEST(ScaleObjective, IsTheFamilyOfTheDesign) {
  const std::vector<double> u{0.3, -1.2, 2.0};
  const std::vector<double> r{1.0, 0.2, 5.0};
  for (const double p : {0.15, 0.5, 1.0}) {
    double left = 0;
    double right = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      left += std::exp(p * u[i]) / 3;
      right += r[i] * std::exp(-u[i]) / 3;
    }
    EXPECT_NEAR(scale_loss(u, r, 1 - p), std::log(left) / p + std::log(right), 1e-14);
  }
  double right = 0;
  for (std::size_t i = 0; i < 3; ++i) right += r[i] * std::exp(-u[i]) / 3;
  EXPECT_NEAR(scale_loss(u, r, 1), (0.3 - 1.2 + 2.0) / 3 + std::log(right), 1e-14);
}

TEST(ScaleObjective, IsConvexAndDoesNotSeeAConstant) {
  Random random(41);
  for (int trial = 0; trial < 500; ++trial) {
    const std::size_t n = 2 + random.below(30);
    std::vector<double> r(n);
    std::vector<double> u(n);
    std::vector<double> w(n);
    std::vector<double> middle(n);
    std::vector<double> shifted(n);
    for (std::size_t i = 0; i < n; ++i) {
      r[i] = std::exp(random.normal());
      u[i] = 3 * random.normal();
      w[i] = 3 * random.normal();
      middle[i] = (u[i] + w[i]) / 2;
      shifted[i] = u[i] + 5;
    }
    const double evenness = random.uniform();
    EXPECT_LE(scale_loss(middle, r, evenness), (scale_loss(u, r, evenness) + scale_loss(w, r, evenness)) / 2 + 1e-12);
    EXPECT_NEAR(scale_loss(shifted, r, evenness), scale_loss(u, r, evenness), 1e-12);
  }
}

TEST(ScaleObjective, IsMinimalAtThePowerOfTheMeanErrorGivenByEvenness) {
  // Two places x with mean errors 1 and 9: s = E[r|x]^{1/(1+p)} has no gradient (docs/mathematics.md).
  const std::vector<double> r{0.5, 1.5, 6.0, 12.0};
  for (const double p : {0.0, 0.15, 0.5, 1.0}) {
    const double u = std::log(9.0) / (1 + p);
    std::vector<double> g{0, 0, -u, -u};
    std::vector<double> gradient(4);
    const ObjectiveCase scale{"exp", Score::kAbsolute, Sides::kOne, 1 - p};
    scale.fast()->evaluate({r}, MatrixView::column(g), MutableMatrixView::column(gradient), {});
    EXPECT_NEAR(gradient[0] + gradient[1], 0, 1e-15) << p;
    EXPECT_NEAR(gradient[2] + gradient[3], 0, 1e-15) << p;
  }
}

TEST(ScaleObjective, NamedTransformsAreOneMethod) {
  Random random(43);
  const std::size_t n = 200;
  std::vector<double> r(n);
  std::vector<double> g(n);
  std::vector<double> erc(n);
  const TransformOptions options;
  for (std::size_t i = 0; i < n; ++i) {
    r[i] = std::exp(random.normal());
    erc[i] = random.normal();
    g[i] = -std::log(erc[i] * erc[i] + options.gamma);  // e^-g = g'^2 + gamma
  }
  const double exp_loss = ObjectiveCase{"exp", Score::kSquared}.fast()->evaluate({r}, MatrixView::column(g));
  for (const char* name : {"linear", "sigma"}) {
    EXPECT_EQ((ObjectiveCase{name, Score::kSquared}.fast()->evaluate({r}, MatrixView::column(g))), exp_loss);
  }
  EXPECT_NEAR((ObjectiveCase{"erc", Score::kSquared}.fast()->evaluate({r}, MatrixView::column(erc))), exp_loss, 1e-13);
}

TEST(WidthObjectives, TheDiagonalIsAConstant) {
  // Leaving n = m out changes the sum by the sum of the residuals, whatever the parameters (docs/mathematics.md).
  Random random(47);
  const auto affine = make_transform("affine");
  const auto objective = ObjectiveCase{"affine"}.fast();
  const std::size_t n = 30;
  for (int trial = 0; trial < 20; ++trial) {
    const Problem problem = make_problem(2, n, Flavour::kPlain, random);
    double off_diagonal = 0;
    double diagonal = 0;
    for (std::size_t m = 0; m < n; ++m) {
      for (std::size_t k = 0; k < n; ++k) {
        const double b = affine->value(std::abs(problem.residuals[k]), problem.matrix().row(k));
        const double half_width = std::max(affine->inverse(b, problem.matrix().row(m)), 0.0);
        (m == k ? diagonal : off_diagonal) += half_width;
      }
    }
    double residuals = 0;
    for (const double r : problem.residuals) residuals += std::abs(r);
    EXPECT_NEAR(diagonal, residuals, 1e-12 * residuals);
    const double all = std::exp(objective->evaluate(problem.rows(), problem.matrix())) * static_cast<double>(n * n);
    EXPECT_NEAR(all, off_diagonal + residuals, 1e-11 * all);
  }
}

TEST(WidthObjectives, OneLevelIsThePapersEllAlpha) {
  Random random(53);
  const auto affine = make_transform("affine");
  for (const double level : {0.5, 0.8, 0.9}) {
    const Problem problem = make_problem(2, 49, Flavour::kPlain, random);
    std::vector<double> values;
    for (std::size_t i = 0; i < 49; ++i) {
      values.push_back(affine->value(std::abs(problem.residuals[i]), problem.matrix().row(i)));
    }
    std::sort(values.begin(), values.end());
    const double q = values[Level(level).rank(49) - 1];
    double mean = 0;
    for (std::size_t i = 0; i < 49; ++i) mean += std::max(affine->inverse(q, problem.matrix().row(i)), 0.0) / 49;
    const ObjectiveCase one_level{"affine", Score::kAbsolute, Sides::kOne, 0, LevelWindow{level, level}};
    EXPECT_NEAR(one_level.fast()->evaluate(problem.rows(), problem.matrix()), std::log(mean), 1e-12);
  }
}

TEST(WidthObjectives, TwoEqualSidesAreOneSide) {
  Random random(59);
  for (const char* name : {"exp", "density", "affine"}) {
    const auto one = ObjectiveCase{name}.fast();
    const auto two = ObjectiveCase{name, Score::kAbsolute, Sides::kTwo}.fast();
    const Problem single = make_problem(one->parameter_count(), 60, Flavour::kPlain, random);
    Problem doubled = single;
    doubled.columns = two->parameter_count();
    doubled.parameters.clear();
    for (std::size_t i = 0; i < 60; ++i) {
      for (int side = 0; side < 2; ++side) {
        for (const double x : single.matrix().row(i)) doubled.parameters.push_back(x);
      }
    }
    EXPECT_NEAR(one->evaluate(single.rows(), single.matrix()), two->evaluate(doubled.rows(), doubled.matrix()), 1e-12);
  }
}

TEST(WidthObjectives, StayFiniteForLogScalesUpTo300) {
  Random random(61);
  for (const ObjectiveCase& form :
       {ObjectiveCase{"exp"}, ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 1},
        ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0.85}, ObjectiveCase{"exp", Score::kAbsolute, Sides::kTwo},
        ObjectiveCase{"density"}, ObjectiveCase{"affine"}}) {
    const auto objective = form.fast();
    for (const std::size_t n : {std::size_t{3}, std::size_t{1000}}) {
      Problem problem = make_problem(objective->parameter_count(), n, Flavour::kHugeSpread, random);
      for (double& x : problem.parameters) x = 600 * random.uniform() - 300;
      problem.parameters[0] = 300;
      problem.parameters[problem.columns] = -300;
      const LossAndGradients found = evaluate(*objective, problem);
      EXPECT_TRUE(std::isfinite(found.loss)) << form.name();
      for (const double x : found.gradient) ASSERT_TRUE(std::isfinite(x)) << form.name();
      for (const double x : found.hessian) ASSERT_TRUE(std::isfinite(x)) << form.name();
    }
  }
}

TEST(GeneralObjective, QuantileNodesApproachTheDoubleLoop) {
  Random random(67);
  const auto transform = make_transform("mixture");
  const Problem problem = make_problem(8, 150, Flavour::kPlain, random);
  const LossAndGradients exact = evaluate(*make_pairwise_objective(transform, Score::kSquared), problem);
  double before = kInfinity;
  for (const std::size_t nodes : {10U, 30U, 75U}) {
    const auto objective = make_width_objective(transform, Score::kSquared, {.nodes = nodes});
    const LossAndGradients found = evaluate(*objective, problem);
    const double error = std::abs(found.loss - exact.loss);
    EXPECT_LT(error, 3 / static_cast<double>(nodes));
    EXPECT_LT(error, before);
    before = error;
  }
  const auto every = make_width_objective(transform, Score::kSquared, {.nodes = 150});
  EXPECT_NEAR(evaluate(*every, problem).loss, exact.loss, 1e-12);
}

TEST(WidthObjectives, TheHessianIsPositiveWhereTheScaleDoesNotDependOnTheParameter) {
  const auto objective = make_width_objective(make_transform("erc"), Score::kSquared);
  Problem problem;
  problem.columns = 1;
  problem.residuals = {-1.0, 0.5, 2.0};
  problem.parameters = {0.0, 0.0, 1.0};
  for (const double h : evaluate(*objective, problem).hessian) EXPECT_GT(h, 0);
}

TEST(WidthObjectives, OptionsThatMakeNoSenseAreErrors) {
  EXPECT_THROW((void)make_width_objective(make_transform("identity"), Score::kAbsolute), Error);
  EXPECT_THROW((void)make_width_objective(make_transform("linear"), Score::kLog), Error);
  EXPECT_THROW((void)make_width_objective(make_transform("affine"), Score::kAbsolute, {.evenness = 0.5}), Error);
  EXPECT_THROW((void)make_width_objective(make_transform("exp"), Score::kAbsolute, {.evenness = 1.5}), Error);
  EXPECT_THROW(
      (void)make_width_objective(make_transform("exp"), Score::kAbsolute, {.level_window = LevelWindow{0.9, 0.8}}),
      Error);
  EXPECT_THROW(
      (void)make_width_objective(make_transform("exp"), Score::kAbsolute, {.level_window = LevelWindow{0.8, 0.9, 1.5}}),
      Error);
  EXPECT_THROW((void)make_width_objective(make_transform("mixture"), Score::kAbsolute, {.nodes = 0}), Error);
}

TEST(WidthObjectives, LevelsOutsideAWindowThatCountTheSameAreNoWindow) {
  const std::vector<double> residuals{0.3, 2.0, 0.9, 1.4, 0.1};
  const std::vector<double> parameters{0.1, 0.4, -0.2, 0.0, 0.3, 0.2, -0.1, 0.6, 0.5, -0.3};
  const MatrixView matrix(parameters.data(), 5, 2);
  const auto loss = [&](const WidthOptions& options) {
    return make_width_objective(make_transform("affine"), Score::kAbsolute, options)->evaluate({residuals, {}}, matrix);
  };
  EXPECT_DOUBLE_EQ(loss({.level_window = LevelWindow::all()}), loss({}));
  EXPECT_NE(loss({.level_window = LevelWindow{0.6, 0.8, 0.4}}), loss({}));
}

TEST(LevelWindow, ReachesATenthAroundTheLevelsButNeverToTheEnds) {
  const auto expect = [](const std::vector<Level>& levels, const char* lower, const char* upper) {
    const LevelWindow level_window = LevelWindow::around(levels);
    EXPECT_EQ(level_window.lower.to_string(), lower);
    EXPECT_EQ(level_window.upper.to_string(), upper);
    EXPECT_TRUE(level_window.outside > 0 && level_window.outside < 1);
  };
  expect({0.9}, "0.8", "0.99");
  expect({0.68}, "0.58", "0.78");
  expect({0.95, 0.68}, "0.58", "0.995");
  expect({0.05}, "0.005", "0.15");
  expect({0.9999999999}, "0.9", "0.9999999999");
  expect({1e-9}, "0.000000001", "0.100000001");
}

// --- several workers
// ------------------------------------------------------------------------------------------------------

/// Cut a problem into uneven shards, an empty one among them, and evaluate it on as many workers.
LossAndGradients evaluate_sharded(const Objective& objective, const Problem& problem, std::size_t workers,
                                  std::size_t* bytes = nullptr) {
  const std::size_t n = problem.residuals.size();
  const std::size_t columns = problem.columns;
  std::vector<std::size_t> cuts{0};
  for (std::size_t k = 1; k < workers; ++k) cuts.push_back(k == 1 ? 0 : n * k * k / (workers * workers));
  cuts.push_back(n);
  LossAndGradients result{0, std::vector<double>(n * columns), std::vector<double>(n * columns)};
  std::vector<double> losses(workers);
  ThreadWorkers threads(workers);
  threads.run([&](const Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    const std::size_t first = cuts[rank];
    const std::size_t count = cuts[rank + 1] - first;
    ResidualRows rows{std::span(problem.residuals).subspan(first, count)};
    if (!problem.weights.empty()) rows.weights = std::span(problem.weights).subspan(first, count);
    Workspace workspace;
    losses[rank] = objective.evaluate(
        rows, problem.matrix().slice(first, count), {result.gradient.data() + first * columns, count, columns},
        {result.hessian.data() + first * columns, count, columns}, workspace, communicator);
  });
  for (const double loss : losses) EXPECT_EQ(loss, losses[0]);
  result.loss = losses[0];
  if (bytes != nullptr) *bytes = threads.bytes_sent();
  return result;
}

class ShardedObjectives : public testing::TestWithParam<ObjectiveCase> {};

TEST_P(ShardedObjectives, EqualTheSingleCall) {
  const auto objective = GetParam().fast();
  Random random(71);
  for (const Flavour flavour : {Flavour::kPlain, Flavour::kTies, Flavour::kWeights, Flavour::kHugeSpread}) {
    const std::size_t n = GetParam().transform == "mixture" ? 20 : 150;
    const Problem problem = make_problem(objective->parameter_count(), n, flavour, random);
    const LossAndGradients single = evaluate(*objective, problem);
    for (const std::size_t workers : {2U, 4U}) {
      const LossAndGradients sharded = evaluate_sharded(*objective, problem, workers);
      EXPECT_NEAR(sharded.loss, single.loss, 1e-12 * std::max(1.0, std::abs(single.loss)));
      expect_near(sharded.gradient, single.gradient, 1e-11 * maximum(single.gradient), "gradient");
      expect_near(sharded.hessian, single.hessian, 1e-11 * maximum(single.hessian), "hessian");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllForms, ShardedObjectives,
    testing::Values(
        ObjectiveCase{"exp"}, ObjectiveCase{"exp", Score::kSquared, Sides::kOne, 0.85},
        ObjectiveCase{"erc", Score::kSquared, Sides::kOne, 1}, ObjectiveCase{"exp", Score::kAbsolute, Sides::kTwo, 0.5},
        ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0, LevelWindow{0.8, 0.95}}, ObjectiveCase{"density"},
        ObjectiveCase{"affine"}, ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo},
        ObjectiveCase{"affine", Score::kAbsolute, Sides::kOne, 0, LevelWindow{0.8, 0.95}},
        ObjectiveCase{"density", Score::kAbsolute, Sides::kOne, 0, std::nullopt, PairMethod::kSummary},
        ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo, 0, LevelWindow{0.8, 0.95}, PairMethod::kSummary},
        ObjectiveCase{"spline", Score::kAbsolute, Sides::kTwo, 0.85}, ObjectiveCase{"mixture", Score::kSquared}),
    [](const auto& test) { return test.param.name(); });

// --- the distribution
// ---------------------------------------------------------------------------------------------------------

/// The interval score of level l, times (1 - l) / 2.
double interval_score(double lower, double upper, double y, double level) {
  const double miss = std::max({lower - y, y - upper, 0.0});
  return (1 - level) / 2 * (upper - lower) + miss;
}

TEST(DistributionObjective, IsTheLogOfMeanScaledIntervalScores) {
  const auto spline = make_transform("spline");
  const std::size_t p = spline->parameter_count();
  Random random(83);
  for (const double level : {0.3, 0.9, 0.97}) {
    const ObjectiveCase one_level{"spline", Score::kAbsolute, Sides::kTwo, 0.6, LevelWindow{level, level}};
    const Problem problem = make_problem(2 * p, 20, Flavour::kPlain, random);
    double widths = 0;
    double scores = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      const auto row = problem.matrix().row(i);
      const double mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(2 * p);
      const double b = -std::log1p(-level);
      const double lower = -spline->inverse(b, row.first(p));
      const double upper = spline->inverse(b, row.last(p));
      widths += std::exp(0.4 * mean) / 20;
      scores += std::exp(-mean) * interval_score(lower, upper, problem.residuals[i], level) / 20;
    }
    EXPECT_NEAR(one_level.fast()->evaluate(problem.rows(), problem.matrix()), std::log(widths) / 0.4 + std::log(scores),
                1e-12);
  }
}

TEST(DistributionObjective, OneSideIsTwoEqualSides) {
  Random random(89);
  const Problem one = make_problem(3, 50, Flavour::kWeights, random);
  Problem two = one;
  two.columns = 6;
  two.parameters.clear();
  for (std::size_t i = 0; i < 50; ++i) {
    for (int side = 0; side < 2; ++side) {
      for (const double x : one.matrix().row(i)) two.parameters.push_back(x);
    }
  }
  const ObjectiveCase symmetric{"spline", Score::kAbsolute, Sides::kOne, 0.85};
  const ObjectiveCase two_sided{"spline", Score::kAbsolute, Sides::kTwo, 0.85};
  const LossAndGradients found = evaluate(*symmetric.fast(), one);
  const LossAndGradients expected = evaluate(*two_sided.fast(), two);
  EXPECT_NEAR(found.loss, expected.loss, 1e-13);
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(found.gradient[3 * i + k], expected.gradient[6 * i + k] + expected.gradient[6 * i + 3 + k], 1e-13);
    }
  }
}

/// Residuals of rows whose distribution is the one of the parameters: quantiles at equally spaced probabilities.
TEST(DistributionObjective, HasNoSlopeAtTheTrueDistribution) {
  const auto spline = make_transform("spline");
  const std::vector<double> truth{0.5, -0.3, 0.2, -1.0, 0.4, 0.8};  // lower side, upper side
  constexpr std::size_t kRows = 20'000;
  Problem problem;
  problem.columns = 6;
  for (std::size_t i = 0; i < kRows; ++i) {
    const double level = std::abs(2 * (static_cast<double>(i) + 0.5) / kRows - 1);
    const bool above = 2 * i >= kRows;
    const double size = spline->inverse(-std::log1p(-level), std::span(truth).subspan(above ? 3 : 0, 3));
    problem.residuals.push_back(above ? size : -size);
    problem.parameters.insert(problem.parameters.end(), truth.begin(), truth.end());
  }
  const ObjectiveCase even{"spline", Score::kAbsolute, Sides::kTwo, 1};
  const LossAndGradients found = evaluate(*even.fast(), problem);
  for (std::size_t k = 0; k < 6; ++k) {
    double slope = 0;
    for (std::size_t i = 0; i < kRows; ++i) slope += found.gradient[6 * i + k];
    EXPECT_NEAR(slope, 0, 1e-3) << "parameter " << k;
  }
}

TEST(DistributionObjective, RefusesOtherTransforms) {
  EXPECT_THROW((void)make_distribution_objective(*make_transform("exp")), Error);
}

// --- the summary
// ------------------------------------------------------------------------------------------------------------

TEST(BinGrid, BinsContainTheValuesBetweenTheirEdges) {
  using internal::BinGrid;
  Random random(79);
  for (std::size_t bin = 1; bin < BinGrid::kBins; ++bin) {
    EXPECT_LT(BinGrid::edge(bin - 1), BinGrid::edge(bin));
    EXPECT_EQ(BinGrid::bin_of(BinGrid::edge(bin)), BinGrid::edge(bin) < 0 ? bin - 1 : bin);
  }
  for (int trial = 0; trial < 100'000; ++trial) {
    const double x = random.normal() * std::exp(8 * random.normal());
    const std::size_t bin = BinGrid::bin_of(x);
    EXPECT_GE(x, BinGrid::edge(bin));
    EXPECT_LE(x, BinGrid::edge(bin + 1));
  }
}

enum class Tail { kNormal, kExponential, kLogNormal, kCauchy, kPareto, kZeroInflated, kLogNormalFive };

class SummaryObjective : public testing::TestWithParam<Tail> {};

Problem tailed_problem(std::size_t columns, std::size_t n, Tail tail, Random& random) {
  Problem problem;
  problem.columns = columns;
  const auto draw = [&]() -> double {
    switch (tail) {
      case Tail::kNormal:
        return std::abs(random.normal());
      case Tail::kExponential:
        return -std::log(1 - random.uniform());
      case Tail::kLogNormal:
        return std::exp(2 * random.normal());
      case Tail::kCauchy:
        return std::abs(random.normal() / random.normal());
      case Tail::kPareto:
        return std::pow(1 - random.uniform(), -1 / 0.7);
      case Tail::kZeroInflated:
        return random.uniform() < 0.4 ? 0.0 : 50 * std::exp(random.normal());
      case Tail::kLogNormalFive:
        return std::exp(5 * random.normal());
    }
    return 0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const double size = std::exp(0.7 * random.normal());  // what x says of the error
    problem.residuals.push_back((random.uniform() < 0.5 ? -1 : 1) * size * draw());
    for (std::size_t j = 0; j < columns; ++j)
      problem.parameters.push_back(0.8 * std::log(size) + 0.2 * random.normal());
  }
  return problem;
}

TEST_P(SummaryObjective, IsWithinAThousandthOfExact) {
  Random random(83);
  for (const ObjectiveCase& form :
       {ObjectiveCase{"density"}, ObjectiveCase{"affine"}, ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo}}) {
    ObjectiveCase summarised = form;
    summarised.method = PairMethod::kSummary;
    const auto exact = form.fast();
    const auto summary = summarised.fast();
    const Problem problem = tailed_problem(exact->parameter_count(), 100'000, GetParam(), random);
    const LossAndGradients expected = evaluate(*exact, problem);
    const LossAndGradients found = evaluate(*summary, problem);
    EXPECT_NEAR(std::exp(found.loss - expected.loss), 1, 1e-3) << form.name();
    double difference = 0;
    double norm = 0;
    double found_norm = 0;
    for (std::size_t i = 0; i < expected.gradient.size(); ++i) {
      difference += std::pow(found.gradient[i] - expected.gradient[i], 2);
      norm += std::pow(expected.gradient[i], 2);
      found_norm += std::pow(found.gradient[i], 2);
    }
    EXPECT_NEAR(std::sqrt(found_norm / norm), 1, 1e-3) << form.name();
    EXPECT_LT(std::sqrt(difference / norm), 1e-3) << form.name();
    expect_near(found.hessian, expected.hessian, 1e-12 * maximum(expected.hessian), "hessian");
  }
}

INSTANTIATE_TEST_SUITE_P(Tails, SummaryObjective,
                         testing::Values(Tail::kNormal, Tail::kExponential, Tail::kLogNormal, Tail::kCauchy,
                                         Tail::kPareto, Tail::kZeroInflated, Tail::kLogNormalFive));

TEST_P(SummaryObjective, TheBoundItGivesHolds) {
  Random random(97);
  const Problem problem = tailed_problem(1, 5000, GetParam(), random);
  std::vector<double> values;
  std::vector<double> scales;
  for (std::size_t i = 0; i < 5000; ++i) {
    scales.push_back(std::exp(problem.parameters[i]));
    values.push_back(std::abs(problem.residuals[i]) / scales[i] + problem.parameters[i]);
  }
  const internal::PairRows rows{values, {}, problem.parameters, scales};
  std::vector<double> excess(5000);
  std::vector<double> weights(10'000);
  const internal::PairSums sums{excess, std::span(weights).first(5000), std::span(weights).last(5000)};
  const auto total = [&] { return std::inner_product(excess.begin(), excess.end(), scales.begin(), 0.0); };
  Workspace workspace;
  internal::exact_pair_sums(rows, sums, workspace);
  const double exact = total();
  const SingleWorker single;
  const double bound = internal::summary_pair_sums(rows, sums, internal::choose_grid(rows, single), single);
  EXPECT_LE(std::abs(total() / exact - 1), bound);
  EXPECT_LT(bound, 0.05);
}

TEST(SummaryObjectives, SendAtMost64KilobytesWhateverTheRows) {
  Random random(89);
  for (const PairMethod method : {PairMethod::kAuto, PairMethod::kSummary}) {
    for (const ObjectiveCase& form :
         {ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo, 0, LevelWindow{0.8, 0.95}, method},
          ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0.15, LevelWindow{0.8, 0.95}, method}}) {
      const auto objective = form.fast();
      for (const std::size_t rows : {10U, 1000U, 2000U, 5000U}) {
        std::size_t bytes = 0;
        evaluate_sharded(*objective, make_problem(objective->parameter_count(), rows, Flavour::kPlain, random), 2,
                         &bytes);
        EXPECT_LE(bytes, 65'536) << form.name() << ", rows " << rows;
      }
    }
  }
}

TEST(SummaryObjectives, SendTheSameWhateverTheRows) {
  Random random(89);
  for (const ObjectiveCase& form :
       {ObjectiveCase{"affine", Score::kAbsolute, Sides::kTwo, 0, LevelWindow{0.8, 0.95}, PairMethod::kSummary},
        ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0.85}}) {
    const auto objective = form.fast();
    std::size_t bytes_of_few = 0;
    std::size_t bytes_of_many = 0;
    evaluate_sharded(*objective, make_problem(objective->parameter_count(), 100, Flavour::kPlain, random), 2,
                     &bytes_of_few);
    evaluate_sharded(*objective, make_problem(objective->parameter_count(), 20'000, Flavour::kPlain, random), 2,
                     &bytes_of_many);
    EXPECT_EQ(bytes_of_few, bytes_of_many) << form.name();
    EXPECT_LE(bytes_of_many, 65536) << form.name();
  }
}

TEST(SlowSummaryObjectives, AThousandWorkersAreOne) {
  Random random(101);
  for (const ObjectiveCase& form :
       {ObjectiveCase{"affine", Score::kAbsolute, Sides::kOne, 0, std::nullopt, PairMethod::kSummary},
        ObjectiveCase{"exp", Score::kAbsolute, Sides::kOne, 0.85}}) {
    const auto objective = form.fast();
    const Problem problem = make_problem(objective->parameter_count(), 20'000, Flavour::kPlain, random);
    const LossAndGradients single = evaluate(*objective, problem);
    std::size_t bytes = 0;
    const LossAndGradients sharded = evaluate_sharded(*objective, problem, 1000, &bytes);
    EXPECT_NEAR(sharded.loss, single.loss, 1e-12 * std::max(1.0, std::abs(single.loss))) << form.name();
    expect_near(sharded.gradient, single.gradient, 1e-10 * maximum(single.gradient), "gradient");
    EXPECT_LE(bytes, 65'536) << form.name();
  }
}

}  // namespace
}  // namespace widthwise
