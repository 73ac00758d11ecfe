#include <boost/math/distributions/binomial.hpp>
#include <limits>
#include <string>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "evaluation/diagnostics/rows.hpp"

namespace widthwise {
namespace {

constexpr std::uint64_t kMaxTrials = 10'000'000'000;  // the series of the interval converge too slowly beyond 1e11

}  // namespace

Proportion proportion(std::uint64_t successes, std::uint64_t trials, double confidence) {
  if (successes > trials) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "proportion: {} successes in {} trials; expected at most as many successes as trials",
                               successes, trials);
  }
  if (trials > kMaxTrials) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "proportion: expected at most {} trials, found {}",
                               kMaxTrials, trials);
  }
  const bool is_confidence = confidence > 0 && confidence < 1;
  if (!is_confidence) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "proportion: expected a confidence strictly between 0 and 1, found {}", confidence);
  }
  if (trials == 0) return {.share = std::numeric_limits<double>::quiet_NaN()};

  using Binomial = boost::math::binomial_distribution<>;
  const auto k = static_cast<double>(successes);
  const auto n = static_cast<double>(trials);
  const double tail = (1 - confidence) / 2;
  return {.successes = successes,
          .trials = trials,
          .share = k / n,
          .low = Binomial::find_lower_bound_on_p(n, k, tail, Binomial::clopper_pearson_exact_interval),
          .high = Binomial::find_upper_bound_on_p(n, k, tail, Binomial::clopper_pearson_exact_interval)};
}

}  // namespace widthwise
