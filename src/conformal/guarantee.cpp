#include <widthwise/guarantee.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"

namespace widthwise {
namespace {

constexpr std::uint64_t kMaxRows = 10'000'000'000;  // the sums below take about 10 sqrt(n) steps

/// The terms C(n, i) odds^i of a binomial distribution, up to a common factor, in sequence. Uses only sums, products
/// and quotients of doubles, so the bits are the same on every machine. A step rounds at most six times by 2^-53 each.
class BinomialTerms {
 public:
  BinomialTerms(const Level& level, std::uint64_t n)
      : odds_(static_cast<double>(level.numerator()) / static_cast<double>(level.complement().numerator())),
        n_(static_cast<double>(n)) {}

  /// From the term of i to that of i + 1: 0 at n.
  [[nodiscard]] double up(double i) const { return (n_ - i) / (i + 1) * odds_; }
  /// From the term of i to that of i - 1: 0 at 0.
  [[nodiscard]] double down(double i) const { return i / ((n_ - i + 1) * odds_); }

 private:
  double odds_;
  double n_;
};

/// Return the smallest k with P(Bin(n, level) >= k) <= 1 - confidence, conservative with respect to rounding. Terms are
/// summed outwards from the mode and compared with their sum, so no factorial is needed.
std::uint64_t training_conditional_rank(const Level& level, const Level& confidence, std::uint64_t n) {
  const BinomialTerms terms(level, n);
  const double miss = confidence.complement().value();
  const auto mode = static_cast<double>(level.rank(n) - 1);
  double steps = 0;
  double sum = 0;
  // Terms omitted from the sum make the tail relatively larger, which is conservative.
  constexpr double kNegligible = 1e-20;
  for (double i = mode, term = 1; term > kNegligible; term *= terms.down(i--), ++steps) sum += term;
  double top = mode;
  double top_term = 1;
  for (double next = terms.up(top); top_term > kNegligible * miss && next > 0; next = terms.up(top), ++steps) {
    top_term *= next;
    sum += top_term;
    ++top;
  }
  // Beyond the largest computed term, terms fall faster than a geometric series.
  const double ratio = terms.up(top);
  double tail = ratio > 0 ? 2 * top_term * ratio / (1 - ratio) : 0;
  double i = top;
  for (double term = top_term;; term *= terms.down(i--), ++steps) {
    tail += term;
    const double error = 16 * (steps + 8) * std::numeric_limits<double>::epsilon();
    if (tail * (1 + error) > miss * sum) return static_cast<std::uint64_t>(i) + 1;
  }
}

/// The same with a cache per thread, because the rows of a batch use the same few levels and groups repeatedly.
std::uint64_t remembered_rank(const Level& level, const Level& confidence, std::uint64_t n) {
  struct Entry {
    std::array<std::uint64_t, 5> key;
    std::uint64_t rank;  // 0 for none
  };
  constexpr std::size_t kEntries = 256;
  thread_local std::array<Entry, kEntries> entries{};
  const std::array<std::uint64_t, 5> key = {level.numerator(), level.denominator(), confidence.numerator(),
                                            confidence.denominator(), n};
  std::uint64_t hash = 0;
  for (const std::uint64_t word : key) hash = mix_bits(hash + word);
  Entry& entry = entries[hash % kEntries];
  if (entry.rank == 0 || entry.key != key) entry = {key, training_conditional_rank(level, confidence, n)};
  return entry.rank;
}

}  // namespace

Guarantee Guarantee::parse(std::string_view text) {
  if (text == "marginal") return {};
  try {
    return Guarantee(Level::parse(text));
  } catch (const Error&) {
    throw internal::make_error(
        ErrorCode::kInvalidArgument,
        "guarantee: expected 'marginal' or a confidence strictly between 0 and 1, such as 0.95, found '{}'{}", text,
        Level::suggestion(text));
  }
}

std::uint64_t Guarantee::rank(const Level& level, std::uint64_t n) const {
  if (!confidence_) return level.rank(n);
  if (n > kMaxRows) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "guarantee {}: expected at most {} calibration rows, found {}", to_string(), kMaxRows,
                               n);
  }
  return remembered_rank(level, *confidence_, n);
}

std::uint64_t Guarantee::min_rows(const Level& level) const {
  if (!confidence_) return level.min_rows();
  // All n scores lie below the level's quantile with probability level^n.
  const double rows = std::log(confidence_->complement().value()) / std::log1p(-level.complement().value());
  if (rows > static_cast<double>(kMaxRows - 1)) {
    constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
    return rows < static_cast<double>(kAll) ? static_cast<std::uint64_t>(rows) + 1 : kAll;
  }
  // The rounding error of the logarithms is far below 1, so this starts with too few rows.
  auto n = static_cast<std::uint64_t>(std::max(rows - 1, 0.0));
  while (rank(level, n) > n) ++n;
  return n;
}

double Guarantee::max_level(std::uint64_t rows) const {
  const auto n = static_cast<double>(rows);
  return confidence_ ? std::pow(confidence_->complement().value(), 1 / n) : n / (n + 1);
}

namespace {

/// 2 alpha and the term for any fit: the mean of the p-values of the folds, weighted by n_k + 1, is at most
/// alpha + (1 - alpha) (K - 1) / (n + K) if the outcome is missed, and twice a mean of p-values is a p-value.
double miss_of_any_fit(double alpha, double n, double folds) {
  return 2 * (alpha + (1 - alpha) * (folds - 1) / (n + folds));
}

}  // namespace

double cross_coverage(const Level& level, std::span<const std::uint64_t> fold_rows) {
  if (fold_rows.empty()) return 0;
  const double alpha = level.complement().value();
  const auto folds = static_cast<double>(fold_rows.size());
  const double n = std::accumulate(fold_rows.begin(), fold_rows.end(), 0.0);
  double miss = miss_of_any_fit(alpha, n, folds);
  if (std::ranges::adjacent_find(fold_rows, std::ranges::not_equal_to()) == fold_rows.end()) {
    miss = std::min(miss, 2 * alpha + (1 - folds / n) / (folds + 1));
  }
  return std::max(0.0, 1 - miss);
}

double cross_coverage(const Level& level, std::uint64_t rows, std::uint64_t folds) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t k = 0; k < folds; ++k) sizes.push_back((k + 1) * rows / folds - k * rows / folds);
  return cross_coverage(level, sizes);
}

double cross_coverage_of_model(const Level& level, std::span<const std::uint64_t> fold_rows, double failure) {
  if (fold_rows.empty()) return 0;
  const auto folds = static_cast<double>(fold_rows.size());
  const double n = std::accumulate(fold_rows.begin(), fold_rows.end(), 0.0);
  const auto smallest = static_cast<double>(*std::ranges::min_element(fold_rows));
  const double deviation = std::sqrt(2 * std::log(folds / failure) / smallest);
  return std::max(0.0, 1 - miss_of_any_fit(level.complement().value(), n, folds) - deviation);
}

}  // namespace widthwise
