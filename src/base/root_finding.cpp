#include "base/root_finding.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/math/tools/toms748_solve.hpp>

namespace widthwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The logarithms of the smallest normal and the largest double.
constexpr double kLogMin = -708.396;
constexpr double kLogMax = 709.782;

}  // namespace

double invert_increasing(ScalarFunction function, double target, double guess) {
  const auto above = [&](double log_a) { return function(std::exp(log_a)) > target; };

  // Step outwards with doubling steps until the target lies between low and high.
  double low = std::log(guess);
  double high = low;
  double step = 0.5;
  if (above(low)) {
    do {
      high = low;
      if (low <= kLogMin) return 0;
      low = std::max(low - step, kLogMin);
      step *= 2;
    } while (above(low));
  } else {
    do {
      low = high;
      if (high >= kLogMax) return kInfinity;
      high = std::min(high + step, kLogMax);
      step *= 2;
    } while (!above(high));
  }

  std::uintmax_t iterations = 100;
  const auto difference = [&](double log_a) { return function(std::exp(log_a)) - target; };
  const boost::math::tools::eps_tolerance<double> tolerance(50);
  const auto bracket = boost::math::tools::toms748_solve(difference, low, high, tolerance, iterations);
  // It may end on a point where the rounded function equals the target, with equal ones after it.
  return least_above(function, target, std::exp(bracket.second));
}

double least_above(ScalarFunction function, double target, double a) {
  double factor = 2 * std::numeric_limits<double>::epsilon();
  while (a < kInfinity && !(function(a) > target)) {
    a += a * factor;
    factor *= 2;
  }
  return a;
}

}  // namespace widthwise
