#include <widthwise/plan.hpp>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <string>

#include <widthwise/error.hpp>

#include "text.hpp"

namespace widthwise {
namespace {

constexpr std::uint64_t kMostRows = 10'000'000'000;  // the series behind the beta distribution slow down beyond

void check_share(const char* where, const char* what, double value) {
  const bool is_share = value > 0 && value < 1;
  if (is_share) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(where) + ": expected a " + what +
                                               " strictly between 0 and 1, found " + internal::text_of(value));
}

void check_rows(const char* where, const char* what, std::uint64_t rows, std::uint64_t least) {
  if (rows >= least && rows <= kMostRows) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(where) + ": expected from " + std::to_string(least) + " to " +
                                               std::to_string(kMostRows) + " " + what + ", found " +
                                               std::to_string(rows));
}

/// What is known before any quantile: without enough rows every interval is infinite and covers everything.
CoverageSpread mean_coverage(std::uint64_t rank, std::uint64_t rows) {
  if (rank > rows) return {.rows = rows, .mean = 1, .low = 1, .high = 1};
  return {.rows = rows, .mean = static_cast<double>(rank) / (static_cast<double>(rows) + 1)};
}

/// P(Y < k) and P(Y >= k).
struct Sides {
  double below;
  double from;
};

/// Among `draws` of n calibration rows and t test rows, let Y be the number of calibration rows: hypergeometric.
/// Terms are summed outwards from a likely one and then divided by their sum, so nothing is lost in logarithms of huge
/// factorials; there are no more of them that count than some ten standard deviations, sqrt(min(n, t)) / 2 at most.
Sides hypergeometric_sides(double n, double t, double draws, double k) {
  const double least = std::max(0.0, draws - t);
  const double most = std::min(n, draws);
  const double start = std::clamp(std::floor(draws * (n / (n + t))), least, most);
  Sides sums{0, 0};
  const auto add = [&](double i, double term) { (i < k ? sums.below : sums.from) += term; };
  constexpr double kNegligible = 1e-30;  // of the first term
  double term = 1;
  for (double i = start; i <= most && term > kNegligible; ++i) {
    add(i, term);
    term *= (n - i) / (i + 1) * ((draws - i) / (t - draws + i + 1));
  }
  term = 1;
  for (double i = start; i > least && term > kNegligible; --i) {
    term *= i / (n - i + 1) * ((t - draws + i) / (draws - i + 1));
    add(i - 1, term);
  }
  const double total = sums.below + sums.from;
  return {sums.below / total, sums.from / total};
}

/// Return the least number in [0, most] for which a predicate holds that goes on to hold from there on; it holds for
/// `most`.
std::uint64_t least_that(std::uint64_t most, const auto& holds) {
  std::uint64_t low = 0;
  while (low < most) {
    const std::uint64_t middle = low + (most - low) / 2;
    holds(middle) ? most = middle : low = middle + 1;
  }
  return low;
}

/// Whether coverage stays within a tolerance of the level.
class Tolerance {
 public:
  Tolerance(const Level& level, double tolerance, double confidence, const Guarantee& guarantee)
      : level_(level),
        guarantee_(guarantee),
        low_(level.value() - tolerance),
        high_(level.value() + tolerance),
        tail_((1 - confidence) / 2) {}

  /// For n calibration rows.
  [[nodiscard]] bool holds(std::uint64_t n) const {
    const std::uint64_t rank = guarantee_.rank(level_, n);
    return rank <= n && holds_low(static_cast<double>(rank), static_cast<double>(n + 1 - rank)) &&
           holds_high(static_cast<double>(rank), static_cast<double>(n + 1 - rank));
  }

  /// For n calibration rows, whatever rank is rounded to: (n + 1) level itself is the worst for the low end, and as
  /// much above it as can be, for this level, is the worst for the high end. Coverage grows with the rank in
  /// distribution.
  [[nodiscard]] bool holds_however_rounded(double n) const {
    const double exact = (n + 1) * level_.value();
    const double misses = (n + 1) * level_.complement().value();
    const double denominator = static_cast<double>(level_.denominator());
    const double most = (denominator - 1) / denominator;
    return misses > most && holds_low(exact, misses) && holds_high(exact + most, misses - most);
  }

  /// A number of rows from which on it holds in any case: a beta distribution of parameters that sum to n + 1 has
  /// tails below exp(-2 (n + 2) t^2) at a distance t of its mean (Marchal and Arbel 2017), and the mean is less than
  /// 1 / (n + 1) above the level.
  [[nodiscard]] double certain_rows(double tolerance) const {
    const double most = std::sqrt(-std::log(tail_) / 2);
    // (n + 2) (tolerance - 1 / (n + 1))^2 >= most^2 where sqrt(n + 1) tolerance - 1 / sqrt(n + 1) >= most.
    const double root = (most + std::sqrt(most * most + 4 * tolerance)) / (2 * tolerance);
    return root * root;
  }

 private:
  using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

  [[nodiscard]] bool holds_low(double a, double b) const {
    return low_ <= 0 || boost::math::ibeta(a, b, low_, Policy()) <= tail_;
  }
  [[nodiscard]] bool holds_high(double a, double b) const {
    return high_ >= 1 || boost::math::ibetac(a, b, high_, Policy()) <= tail_;
  }

  Level level_;
  Guarantee guarantee_;
  double low_;
  double high_;
  double tail_;
};

}  // namespace

CoverageSpread coverage_spread(const Level& level, std::uint64_t rows, double confidence, const Guarantee& guarantee) {
  check_share("coverage_spread", "confidence", confidence);
  check_rows("coverage_spread", "rows", rows, 0);
  const std::uint64_t k = guarantee.rank(level, rows);
  CoverageSpread spread = mean_coverage(k, rows);
  if (k > rows) return spread;
  const auto rank = static_cast<double>(k);
  const boost::math::beta_distribution<> distribution(rank, static_cast<double>(rows) + 1 - rank);
  const double tail = (1 - confidence) / 2;
  spread.low = boost::math::quantile(distribution, tail);
  spread.high = boost::math::quantile(boost::math::complement(distribution, tail));
  return spread;
}

CoverageSpread measured_coverage_spread(const Level& level, std::uint64_t rows, std::uint64_t test_rows,
                                        double confidence, const Guarantee& guarantee) {
  check_share("measured_coverage_spread", "confidence", confidence);
  check_rows("measured_coverage_spread", "rows", rows, 0);
  check_rows("measured_coverage_spread", "test rows", test_rows, 1);
  const std::uint64_t k = guarantee.rank(level, rows);
  CoverageSpread spread = mean_coverage(k, rows);
  if (k > rows) return spread;
  const auto rank = static_cast<double>(k);
  const double tail = (1 - confidence) / 2;
  // At most c test rows are covered exactly when, of all rows in the order of their scores, the first rank + c hold
  // at least `rank` calibration rows. Every order is equally likely.
  const auto sides = [&](std::uint64_t covered) {
    return hypergeometric_sides(static_cast<double>(rows), static_cast<double>(test_rows),
                                rank + static_cast<double>(covered), rank);
  };
  const auto low = least_that(test_rows, [&](std::uint64_t covered) { return sides(covered).from >= tail; });
  const auto high = least_that(test_rows, [&](std::uint64_t covered) { return sides(covered).below <= tail; });
  spread.low = static_cast<double>(low) / static_cast<double>(test_rows);
  spread.high = static_cast<double>(high) / static_cast<double>(test_rows);
  return spread;
}

// The rounding of ranks makes the spread jump up and down with n, so the last n that fails is looked for from above:
// 1. A bound on the tails says from which n on all is well, without a rank.
// 2. From there down to the first n that would fail for the worst rounding: in steps of a tenth, then by bisection.
// 3. From there down over real ranks. Take the smaller one of rank and misses, n + 1 - rank: while it stays the same,
//    coverage moves one way in distribution as n grows, so one end of the interval fails for the last of such a run or
//    for none of it, the other end fails for the first ones or for none. Two looks pass over a run.
// The worst rounding comes up again every `denominator` rows, or something near it soon, so step 3 is short.
std::uint64_t rows_for_tolerance(const Level& level, double tolerance, double confidence, const Guarantee& guarantee) {
  check_share("rows_for_tolerance", "tolerance", tolerance);
  check_share("rows_for_tolerance", "confidence", confidence);
  const Tolerance within(level, tolerance, confidence, guarantee);
  const auto refuse = [&] {
    throw Error(ErrorCode::kInvalidArgument, "rows_for_tolerance: a tolerance of " + internal::text_of(tolerance) +
                                                 " at level " + level.text() + " takes more than " +
                                                 std::to_string(kMostRows) + " rows; ask for a wider one");
  };
  const std::uint64_t least = guarantee.least_rows(level);
  if (least > kMostRows) refuse();
  if (!guarantee.is_marginal()) {
    std::uint64_t enough = least;
    while (!within.holds(enough)) {
      if (enough == kMostRows) refuse();
      enough = std::min(2 * enough, kMostRows);
    }
    return least + least_that(enough - least, [&](std::uint64_t offset) { return within.holds(least + offset); });
  }
  double high = within.certain_rows(tolerance);
  if (high > static_cast<double>(kMostRows)) {
    high = static_cast<double>(kMostRows);
    if (!within.holds_however_rounded(high)) refuse();
  }
  double low = high;
  while (low > static_cast<double>(least) && within.holds_however_rounded(low)) {
    high = low;
    low *= 0.9;
  }
  while (high - low > 1) {
    const double middle = (low + high) / 2;
    (within.holds_however_rounded(middle) ? high : low) = middle;
  }

  const bool count_misses = level.numerator() > level.denominator() / 2;
  const auto smaller = [&](std::uint64_t n) { return count_misses ? n + 1 - level.rank(n) : level.rank(n); };
  std::uint64_t end = std::max(static_cast<std::uint64_t>(std::ceil(high)), least);
  while (end >= least) {
    if (!within.holds(end)) return end + 1;
    const std::uint64_t start =
        std::max(least, least_that(end, [&](std::uint64_t n) { return smaller(n) == smaller(end); }));
    if (!within.holds(start)) {
      return start + least_that(end - start, [&](std::uint64_t offset) { return within.holds(start + offset); });
    }
    if (start == 0) break;
    end = start - 1;
  }
  return least;
}

}  // namespace widthwise
