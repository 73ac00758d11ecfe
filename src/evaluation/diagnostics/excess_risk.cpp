#include <algorithm>
#include <cmath>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "evaluation/diagnostics/rows.hpp"

namespace widthwise {
namespace {

constexpr double kSmallestProbability = 1e-6;

/// The mean of numbers and its standard error.
class Mean {
 public:
  void add(double x) {
    ++n_;
    const double before = x - mean_;
    mean_ += before / n_;
    squares_ += before * (x - mean_);
  }

  [[nodiscard]] Estimate estimate() const { return {mean_, std::sqrt(squares_ / (n_ - 1) / n_)}; }

 private:
  double n_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared deviations (Welford 1962)
};

/// The excess of the loss of the level over that of a prediction, for one row. Predicting the level itself gives 0.
double l1_excess(double level, double p, double covered) {
  return p < level ? level - covered : p > level ? covered - level : 0;
}

double brier_excess(double level, double p, double covered) { return (p - level) * (2 * covered - level - p); }

double kl_excess(double level, double p, double covered) {
  const auto loss = [covered](double x) {
    const double clipped = std::clamp(x, kSmallestProbability, 1 - kSmallestProbability);
    return covered == 1 ? -std::log(clipped) : -std::log1p(-clipped);
  };
  return loss(level) - loss(p);
}

template <class Excess>
ExcessRisk mean_excess(std::span<const std::uint8_t> covered, std::span<const double> probabilities, double level,
                       const Excess& excess) {
  Mean total;
  Mean under;
  Mean over;
  for (std::size_t i = 0; i < covered.size(); ++i) {
    const double p = probabilities[i];
    const double one = excess(level, p, covered[i]);
    total.add(one);
    under.add(p < level ? one : 0);
    over.add(p > level ? one : 0);
  }
  return {.total = total.estimate(), .under = under.estimate(), .over = over.estimate()};
}

}  // namespace

Ert excess_risk(std::span<const std::uint8_t> covered, std::span<const double> probabilities, const Level& level) {
  internal::check_size(probabilities.size(), covered.size(), "probabilities", "excess_risk");
  if (covered.size() < 2) {
    throw internal::make_error(ErrorCode::kTooFewRows, "excess_risk: found {} rows; expected at least 2",
                               covered.size());
  }
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] >= 0 && probabilities[i] <= 1) continue;
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "excess_risk: invalid probability {} at row {}; expected a number from 0 to 1",
                               probabilities[i], i + 1);
  }
  const double target = level.value();
  return {.rows = covered.size(),
          .l1 = mean_excess(covered, probabilities, target, l1_excess),
          .brier = mean_excess(covered, probabilities, target, brier_excess),
          .kl = mean_excess(covered, probabilities, target, kl_excess)};
}

}  // namespace widthwise
