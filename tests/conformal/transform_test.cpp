#include <widthwise/transform.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/score.hpp>

#include "base/vector_math.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

std::vector<double> random_parameters(const Transform& transform, Random& random, double spread = 2) {
  std::vector<double> p(transform.parameter_count());
  for (double& x : p) x = spread * random.normal();
  return p;
}

/// A score between 1e-12 and 1e12, every magnitude equally likely.
double random_score(Random& random) { return std::pow(10.0, 24 * random.uniform() - 12); }

/// The distance between b and the next double, carried through the inverse: no inverse can do better, because value()
/// had to round b to a double.
double rounding_of_value(const Transform& transform, double a, std::span<const double> p) {
  const double b = transform.value(a, p);
  return 8 * kEpsilon * std::abs(b) / transform.d_score(a, p);
}

double central_difference(const auto& f, double x, double h) { return (f(x + h) - f(x - h)) / (2 * h); }

/// The derivative of f by p_j, at p.
double slope(const auto& f, std::vector<double> p, std::size_t j) {
  const auto at = [&](double x) {
    p[j] = x;
    return f(p);
  };
  return central_difference(at, double{p[j]}, 1e-5);
}

class TransformLaws : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<const Transform> transform_ = make_transform(GetParam());
  Random random_{17};
};

TEST_P(TransformLaws, ValueIncreasesStrictlyInTheScore) {
  for (int trial = 0; trial < 200; ++trial) {
    const auto p = random_parameters(*transform_, random_);
    const double coarse =
        transform_->affine_form() != nullptr && transform_->affine_form()->has_offset() ? 1e-3 : 1e-12;
    double before = -kInfinity;
    for (double a = coarse; a < 1e12; a *= 1.1) {
      const double b = transform_->value(a, p);
      EXPECT_GT(b, before) << "a = " << a;
      EXPECT_GT(transform_->d_score(a, p), 0);
      before = b;
    }
  }
}

TEST_P(TransformLaws, ValueNeverDecreasesInTheLastPlace) {
  for (int trial = 0; trial < 2000; ++trial) {
    const auto p = random_parameters(*transform_, random_);
    const double a = random_score(random_);
    const double slack = 16 * kEpsilon * std::abs(transform_->value(a, p));
    EXPECT_GE(transform_->value(std::nextafter(a, kInfinity), p), transform_->value(a, p) - slack);
  }
}

TEST_P(TransformLaws, InverseOfValueIsTheScore) {
  for (int trial = 0; trial < 5000; ++trial) {
    const auto p = random_parameters(*transform_, random_);
    const double a = random_score(random_);
    const double back = transform_->inverse(transform_->value(a, p), p);
    EXPECT_NEAR(back, a, 1e-10 * a + rounding_of_value(*transform_, a, p));
  }
}

TEST_P(TransformLaws, InverseOfValueIsNeverBelowTheScore) {
  for (int trial = 0; trial < 5000; ++trial) {
    const auto p = random_parameters(*transform_, random_, 5);
    const double a = random_score(random_);
    EXPECT_GE(transform_->inverse(transform_->value(a, p), p), a);
  }
}

TEST_P(TransformLaws, InverseOfValueRoundedDownIsNeverAboveTheScore) {
  for (int trial = 0; trial < 5000; ++trial) {
    const auto p = random_parameters(*transform_, random_, 5);
    const double a = random_score(random_);
    const double b = transform_->value(a, p);
    const double down = transform_->inverse_down(b, p);
    EXPECT_LE(down, a);
    EXPECT_LE(transform_->Transform::inverse_down(b, p), a);
    EXPECT_NEAR(down, transform_->inverse(b, p), 1e-10 * a + 4 * rounding_of_value(*transform_, a, p));
  }
  const std::vector<double> zeros(transform_->parameter_count());
  EXPECT_LE(transform_->inverse_down(-kInfinity, zeros), 0);
  const std::vector<double> missing(transform_->parameter_count(), std::numeric_limits<double>::quiet_NaN());
  if (!missing.empty()) {
    EXPECT_TRUE(std::isnan(transform_->inverse_down(1, missing)));
  }
}

TEST_P(TransformLaws, InverseOfInfinityIsInfiniteAndOfMinusInfinityAtMostZero) {
  for (int trial = 0; trial < 100; ++trial) {
    const auto p = random_parameters(*transform_, random_, 50);
    EXPECT_EQ(transform_->inverse(kInfinity, p), kInfinity);
    EXPECT_LE(transform_->inverse(-kInfinity, p), 0);
  }
}

TEST_P(TransformLaws, DerivativeInTheScoreMatchesCentralDifferences) {
  for (int trial = 0; trial < 2000; ++trial) {
    const auto p = random_parameters(*transform_, random_);
    const double a = std::pow(10.0, 6 * random_.uniform() - 3);
    const double expected = central_difference([&](double x) { return transform_->value(x, p); }, a, 1e-5 * a);
    const double noise = 1e-10 * std::abs(transform_->value(a, p)) / a;
    EXPECT_NEAR(transform_->d_score(a, p), expected, 1e-7 * std::abs(expected) + noise);
  }
}

TEST_P(TransformLaws, DerivativesInTheParametersMatchCentralDifferences) {
  std::vector<double> derivatives(transform_->parameter_count());
  for (int trial = 0; trial < 1000; ++trial) {
    const auto p = random_parameters(*transform_, random_);
    const double a = std::pow(10.0, 6 * random_.uniform() - 3);
    transform_->d_parameters(a, p, derivatives);
    for (std::size_t j = 0; j < p.size(); ++j) {
      const double expected = slope([&](const auto& moved) { return transform_->value(a, moved); }, p, j);
      const double noise = 1e-10 * std::max(1.0, std::abs(transform_->value(a, p)));
      EXPECT_NEAR(derivatives[j], expected, 1e-6 * std::abs(expected) + noise) << "parameter " << j;
    }
  }
}

TEST_P(TransformLaws, InverseDerivativesMatchCentralDifferences) {
  std::vector<double> derivatives(transform_->parameter_count());
  for (int trial = 0; trial < 1000; ++trial) {
    const auto p = random_parameters(*transform_, random_, 1);
    const double a = std::pow(10.0, 4 * random_.uniform() - 2);
    const double b = transform_->value(a, p);
    const double h = 1e-5 * std::max(1e-2, std::abs(a * transform_->d_score(a, p)));
    const double in_value = central_difference([&](double x) { return transform_->inverse(x, p); }, b, h);
    EXPECT_NEAR(transform_->inverse_d_value(b, p), in_value, 2e-5 * std::abs(in_value));

    transform_->inverse_d_parameters(b, p, derivatives);
    for (std::size_t j = 0; j < p.size(); ++j) {
      const double expected = slope([&](const auto& moved) { return transform_->inverse(b, moved); }, p, j);
      EXPECT_NEAR(derivatives[j], expected,
                  1e-5 * std::abs(expected) + 1e-8 * std::max(a, 1 / transform_->d_score(a, p)))
          << "parameter " << j;
    }
  }
}

TEST_P(TransformLaws, ClosedFormAndImplicitInverseAgree) {
  std::vector<double> closed(transform_->parameter_count());
  std::vector<double> implicit(transform_->parameter_count());
  for (int trial = 0; trial < 1000; ++trial) {
    const auto p = random_parameters(*transform_, random_, 1);
    const double a = std::pow(10.0, 6 * random_.uniform() - 3);
    const double b = transform_->value(a, p);
    const double near = 1e-10 * a + rounding_of_value(*transform_, a, p);
    EXPECT_NEAR(transform_->inverse(b, p), transform_->Transform::inverse(b, p), near);

    const double slope = transform_->Transform::inverse_d_value(b, p);
    EXPECT_NEAR(transform_->inverse_d_value(b, p), slope, 1e-9 * slope * (1 + near / a));
    transform_->inverse_d_parameters(b, p, closed);
    transform_->Transform::inverse_d_parameters(b, p, implicit);
    for (std::size_t j = 0; j < p.size(); ++j) {
      EXPECT_NEAR(closed[j], implicit[j], 1e-9 * std::abs(implicit[j]) + 10 * near) << "parameter " << j;
    }
  }
}

TEST_P(TransformLaws, LevelsOfARowAreTheirInverses) {
  const std::size_t count = transform_->parameter_count();
  for (int trial = 0; trial < 300; ++trial) {
    const auto p = random_parameters(*transform_, random_);
    std::vector<double> at(12);
    for (double& a : at) a = std::pow(10.0, 12 * random_.uniform() - 6);
    std::sort(at.begin(), at.end());
    std::vector<double> levels;
    for (const double a : at) levels.push_back(transform_->value(a, p));
    std::vector<double> scores(at.size());
    std::vector<double> d_scores(at.size());
    std::vector<double> d_parameters(at.size() * count);
    transform_->row_inverses(levels, p, {scores, d_scores, {d_parameters.data(), at.size(), count}});
    std::vector<double> expected(count);
    for (std::size_t j = 0; j < at.size(); ++j) {
      EXPECT_NEAR(scores[j], transform_->inverse(levels[j], p),
                  1e-12 * at[j] + rounding_of_value(*transform_, at[j], p));
      EXPECT_NEAR(d_scores[j], transform_->d_score(scores[j], p), 1e-12 * d_scores[j]);
      transform_->d_parameters(scores[j], p, expected);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_NEAR(d_parameters[j * count + i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i])));
      }
    }
  }
}

TEST_P(TransformLaws, BatchesAreTheirRows) {
  const std::size_t n = 333;
  const std::size_t count = transform_->parameter_count();
  for (const std::size_t padding : {std::size_t{0}, std::size_t{3}}) {
    const std::size_t stride = count + padding;
    std::vector<double> scores(n);
    std::vector<double> parameters(n * std::max<std::size_t>(stride, 1));
    for (double& a : scores) a = random_score(random_);
    for (double& x : parameters) x = 2 * random_.normal();
    const MatrixView rows(parameters.data(), n, count, stride);

    std::vector<double> values(n);
    transform_->values(scores, rows, values);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(values[i], transform_->value(scores[i], rows.row(i)));

    for (const std::size_t levels : {std::size_t{1}, std::size_t{5}}) {
      std::vector<double> quantiles(levels);
      for (double& q : quantiles) q = values[random_.below(n)];
      std::vector<double> out(n * levels);
      transform_->inverses({quantiles.data(), n, levels, 0}, rows, {out.data(), n, levels});
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < levels; ++j) {
          EXPECT_EQ(out[i * levels + j], transform_->inverse(quantiles[j], rows.row(i)));
        }
      }
    }
  }
}

TEST_P(TransformLaws, AffineFormIsTheTransform) {
  const AffineForm* form = transform_->affine_form();
  if (form == nullptr) return;  // nothing to agree with
  const bool log_link = !transform_->takes_negative_scores();
  for (int trial = 0; trial < 500; ++trial) {
    const auto p = random_parameters(*transform_, random_);
    const double a = random_score(random_);
    double v = 0;
    double c = 0;
    form->coefficients({p.data(), 1, p.size()}, {&v, 1}, form->has_offset() ? std::span(&c, 1) : std::span<double>());
    const double linear = a * std::exp(-v) + c;
    const double expected = log_link ? std::log(linear) : linear;
    EXPECT_NEAR(transform_->value(a, p), expected, 1e-13 * (std::abs(expected) + std::abs(v) + std::abs(c)));
    if (form->constant_slope()) {
      EXPECT_DOUBLE_EQ(v, *form->constant_slope() * p[0]);
    }
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto name : transform_names()) names.emplace_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllTransforms, TransformLaws, testing::ValuesIn(all_names()),
                         [](const auto& test) { return test.param; });

/// The half-widths of both sides.
struct SidesAt {
  double lower;
  double upper;
  [[nodiscard]] double length() const { return lower + upper; }
};

/// The half-widths of the transform shortest at score b, from the joined parameters of both sides.
SidesAt shortest_at(double b, std::span<const double> joined) {
  const auto spline = make_transform("spline");
  return {spline->inverse(b, joined.first(3)), spline->inverse(b, joined.last(3))};
}

/// The shortest of many intervals that miss e^-b of the distribution of a two-sided spline and contain the inner one.
SidesAt shortest_of_many(double b, std::span<const double> p, const SidesAt& inner) {
  const auto spline = make_transform("spline");
  SidesAt best{kInfinity, kInfinity};
  for (int i = 1; i < 2000; ++i) {
    const double w = i / 2000.0;
    const SidesAt sides{spline->inverse(b - std::log(2 - 2 * w), p.first(3)),
                        spline->inverse(b - std::log(2 * w), p.last(3))};
    if (sides.lower < inner.lower || sides.upper < inner.upper) continue;
    if (sides.length() < best.length()) best = sides;
  }
  return best;
}

TEST(Shortest, TakesTheShortestIntervalOfItsMassAtTheEndOfEverySegment) {
  const auto spline = make_transform("spline");
  const auto shortest = make_transform("shortest");
  ASSERT_TRUE(shortest->joins_sides());
  Random random(29);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> p(6);
    for (double& number : p) number = 2 * random.uniform() - 1;
    std::vector<double> joined = p;
    shortest->join_sides({joined.data(), 1, 6});
    SidesAt inner{0, 0};
    for (const double missed : {0.5, 0.1, 0.01}) {
      const double b = -std::log(missed);
      const SidesAt found = shortest_at(b, joined);
      const SidesAt best = shortest_of_many(b, p, inner);
      EXPECT_LT(found.length(), 1.02 * best.length()) << repeat << ", " << missed;
      const std::span<const double> all = p;
      const double misses =
          (std::exp(-spline->value(found.lower, all.first(3))) + std::exp(-spline->value(found.upper, all.last(3)))) /
          2;
      EXPECT_LE(misses, missed * (1 + 1e-9));
      EXPECT_GT(misses, missed * 0.98);
      inner = found;
    }
  }
}

TEST(Shortest, IsCentralWhereBothSidesAreEqual) {
  const auto shortest = make_transform("shortest");
  const std::vector<double> p{-1, -0.5, 0.5, -1, -0.5, 0.5};
  std::vector<double> joined = p;
  shortest->join_sides({joined.data(), 1, 6});
  for (std::size_t k = 0; k < p.size(); ++k) EXPECT_NEAR(joined[k], p[k], 1e-12);
}

TEST(Shortest, AnyParametersLeaveItMonotoneAndNaNStaysNaN) {
  const auto shortest = make_transform("shortest");
  for (const double large : {1.0, 30.0, 700.0, 1e300, kInfinity}) {
    std::vector<double> joined{large, -large, large, -large, large, -large};
    shortest->join_sides({joined.data(), 1, 6});
    for (const double number : joined) EXPECT_TRUE(std::isfinite(number)) << large;
  }
  std::vector<double> joined{0, kNaN, 0, 0, 0, 0};
  shortest->join_sides({joined.data(), 1, 6});
  for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(joined[k]));
}

TEST(Transforms, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  try {
    (void)make_transform("affin");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(),
                 "unknown transform 'affin': expected one of identity, erc, linear, exp, sigma, density, affine, "
                 "spline, shortest, mixture");
  }
}

TEST(Transforms, OptionsOutOfRangeAreErrors) {
  EXPECT_THROW((void)make_transform("erc", {.gamma = 0}), Error);
  EXPECT_THROW((void)make_transform("mixture", {.epsilon = -1}), Error);
  EXPECT_THROW((void)make_transform("mixture", {.gamma = kInfinity}), Error);
}

TEST(Transforms, SigmaIsCarriedAsItsLogit) {
  const auto sigma = make_transform("sigma");
  const std::vector<double> p{0.5};
  for (const double a : {0.01, 1.0, 100.0}) {
    const double paper = 1 / (1 + std::exp(-(std::log(a) + p[0])));
    EXPECT_NEAR(1 / (1 + std::exp(-sigma->value(a, p))), paper, 1e-15);
  }
  // As a sigmoid, these two scores would be the same double.
  EXPECT_LT(sigma->value(1e17, p), sigma->value(2e17, p));
  EXPECT_EQ(1 / (1 + std::exp(-sigma->value(1e17, p))), 1 / (1 + std::exp(-sigma->value(2e17, p))));
}

TEST(VectorMath, BoundedExpIsExpWithinTwoUnitsInTheLastPlace) {
  Random random(3);
  for (int i = 0; i < 200'000; ++i) {
    const double x = 1400 * random.uniform() - 700;
    const double expected = std::exp(x);
    EXPECT_NEAR(internal::bounded_exp(x), expected, 2 * kEpsilon * expected);
    const double small = 2 * random.uniform() - 1;
    EXPECT_NEAR(internal::bounded_exp(small), std::exp(small), 2 * kEpsilon * std::exp(small));
  }
  EXPECT_EQ(internal::bounded_exp(0), 1);
  EXPECT_EQ(internal::bounded_exp(1e9), internal::bounded_exp(700));
  EXPECT_EQ(internal::bounded_exp(-kInfinity), internal::bounded_exp(-700));
  EXPECT_GT(internal::bounded_exp(-700), 0);
  EXPECT_TRUE(std::isnan(internal::bounded_exp(kNaN)));
}

}  // namespace
}  // namespace widthwise
