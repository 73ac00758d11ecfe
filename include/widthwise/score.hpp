#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace widthwise {

/// The conformity score A of a residual r = |y - f(x)|  [paper, Prediction intervals].
enum class Score {
  kSquared,   ///< A = r^2, as in the paper
  kAbsolute,  ///< A = r
  kLog,       ///< A = log r^2; scores cover the whole real line, so no set is ever empty
};

/// The number of sides of an interval that are trained separately.
enum class Sides {
  kOne,  ///< one half-width for both sides: f(x) +- D
  kTwo,  ///< the sign of the residual selects the parameters of the lower or the upper side
};

/// Return the score of a residual r >= 0.
///
/// Squaring would round residuals below 1e-154 to zero. They get the smallest normal score instead, so that the
/// interval of that score still contains them.
[[nodiscard]] inline double to_score(Score score, double residual) {
  switch (score) {
    case Score::kSquared:
      return residual > 0 ? std::max(residual * residual, std::numeric_limits<double>::min()) : residual;
    case Score::kAbsolute:
      return residual;
    case Score::kLog:
      return 2 * std::log(residual);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// Return the largest residual whose score is at most a. If there is none, the set {r: A(r) <= a} is empty; return 0,
/// so that the interval is the point prediction (docs/mathematics.md).
///
/// The result is rounded up: to_score(score, r) <= a implies r <= to_residual(score, a) in floating point as well. With
/// tied residuals, a bound that is too small by one unit in the last place would exclude all of them.
[[nodiscard]] inline double to_residual(Score score, double a) {
  constexpr double kUp = 1 + 4 * std::numeric_limits<double>::epsilon();
  switch (score) {
    case Score::kSquared:
      return std::sqrt(std::max(a, 0.0)) * kUp;
    case Score::kAbsolute:
      return std::max(a, 0.0) * kUp;
    case Score::kLog:
      if (a == -std::numeric_limits<double>::infinity()) return 0;
      return std::exp(0.5 * a) * (kUp + 4 * std::numeric_limits<double>::epsilon() * std::abs(a));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// The same, rounded down, for a < +infinity: to_score(score, r) >= a implies r >= to_residual_down(score, a) in
/// floating point as well.
[[nodiscard]] inline double to_residual_down(Score score, double a) {
  constexpr double kSlack = 4 * std::numeric_limits<double>::epsilon();
  switch (score) {
    case Score::kSquared:  // all small residuals have the smallest normal score
      return a > std::numeric_limits<double>::min() ? std::sqrt(a) * (1 - kSlack) : 0;
    case Score::kAbsolute:
      return std::max(a, 0.0) * (1 - kSlack);
    case Score::kLog:  // below, residuals have fewer digits
      return a > -1400 ? std::exp(0.5 * a) * std::max(0.0, 1 - kSlack - kSlack * std::abs(a)) : 0;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// Return dr/dA at score a, for objectives; 0 where the residual is 0.
[[nodiscard]] inline double to_residual_derivative(Score score, double a) {
  switch (score) {
    case Score::kSquared:
      return a > 0 ? 0.5 / std::sqrt(a) : 0.0;
    case Score::kAbsolute:
      return a > 0 ? 1.0 : 0.0;
    case Score::kLog:
      return 0.5 * std::exp(0.5 * a);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// "squared", "absolute", "log".
[[nodiscard]] std::string_view name_of(Score score);
/// The reverse. Throws kInvalidArgument for another name.
[[nodiscard]] Score score_of(std::string_view name);

}  // namespace widthwise
