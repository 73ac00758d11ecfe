#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <widthwise/row_sketch.hpp>

namespace widthwise {
namespace {

constexpr double kLogFalseAlarm = -20.723265836946411;  // ln 1e-9

/// Contents with more rows than this are excluded from the test, because their share hardly varies by chance.
constexpr std::uint64_t kMaxCount = 1024;

/// The number of contents with c rows, by c.
using Classes = std::map<std::uint64_t, std::uint64_t>;

/// ln E exp(theta a (c - a) / c) for a ~ Binomial(c, 1/2).
double log_moment(std::uint64_t c, double theta, const std::vector<double>& log_factorial) {
  const auto n = static_cast<double>(c);
  const auto product = [n](std::uint64_t a) { return static_cast<double>(a) * (n - static_cast<double>(a)) / n; };
  const double maximum = product(c / 2);
  double sum = 0;
  for (std::uint64_t a = 0; a <= c; ++a) {
    const double log_binomial = log_factorial[c] - log_factorial[a] - log_factorial[c - a] - n * std::log(2.0);
    sum += std::exp(log_binomial + theta * (product(a) - maximum));
  }
  return theta * maximum + std::log(sum);
}

/// Bound ln P(sum >= found), where the sum is of a (c - a) / c over contents of c rows, a ~ Binomial(c, 1/2), given the
/// number of rows in each sample: Chernoff's bound divided by the smallest possible probability of these numbers.
double log_tail(const Classes& classes, double found) {
  std::vector<double> log_factorial(kMaxCount + 1, 0.0);
  for (std::size_t i = 1; i <= kMaxCount; ++i) {
    log_factorial[i] = log_factorial[i - 1] + std::log(static_cast<double>(i));
  }
  double rows = 0;
  double expected = 0;
  for (const auto& [c, contents] : classes) {
    rows += static_cast<double>(c * contents);
    expected += static_cast<double>((c - 1) * contents) / 4;
  }
  if (found <= expected) return 0;
  // A sum of `rows` Bernoulli numbers has a variance of at most rows / 4, so it takes its mode with a probability of at
  // least 1 / sqrt(1 + 12 variance).
  const double given = std::log(1 + 3 * rows) / 2;
  double minimum = 0;
  constexpr double kFirst = 0x1p-8;
  constexpr double kLast = 0x1p20;
  const double step = std::sqrt(std::sqrt(2.0));
  // The exponent is convex in theta.
  for (double theta = kFirst; theta < kLast; theta *= step) {
    double exponent = -theta * found;
    for (const auto& [c, contents] : classes) {
      exponent += static_cast<double>(contents) * log_moment(c, theta, log_factorial);
    }
    if (exponent > minimum) break;
    minimum = exponent;
  }
  return std::min(0.0, minimum + given);
}

}  // namespace

double RowOverlap::share() const { return rows == 0 ? 0 : static_cast<double>(seen) / static_cast<double>(rows); }

bool RowOverlap::found() const { return log_probability < kLogFalseAlarm; }

RowOverlap overlap(const RowSketch& known, const RowSketch& others) {
  // Use the smallest hashes of both samples together, so that the selection does not depend on the sample of a row.
  const std::size_t capacity = std::min(known.capacity(), others.capacity());
  const std::vector<RowSketch::Entry> a = known.entries();
  const std::vector<RowSketch::Entry> b = others.entries();
  RowOverlap result;
  Classes classes;
  double sum = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  const std::uint64_t limit = std::min(known.limit(), others.limit());
  for (std::size_t distinct = 0; distinct < capacity && (i < a.size() || j < b.size()); ++distinct) {
    const std::uint64_t hash = j == b.size() || (i < a.size() && a[i].hash < b[j].hash) ? a[i].hash : b[j].hash;
    if (hash > limit) break;
    const std::uint64_t in_a = i < a.size() && a[i].hash == hash ? a[i++].count : 0;
    const std::uint64_t in_b = j < b.size() && b[j].hash == hash ? b[j++].count : 0;
    result.rows += in_b;
    result.seen += std::min(in_a, in_b);
    const std::uint64_t both = in_a + in_b;
    if (both < 2 || both > kMaxCount) continue;
    ++classes[both];
    sum += static_cast<double>(in_a) * static_cast<double>(in_b) / static_cast<double>(both);
  }
  result.log_probability = log_tail(classes, sum);
  return result;
}

}  // namespace widthwise
