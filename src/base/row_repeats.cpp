#include <widthwise/row_repeats.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace widthwise {
namespace {

constexpr double kLogAlarm = -20.723265836946411;  // ln 1e-9

/// The number of contents with k rows, by k.
using ContentCounts = std::map<std::uint64_t, std::uint64_t>;

double contents_with(const ContentCounts& classes, std::uint64_t k) {
  const auto found = classes.find(k);
  return found == classes.end() ? 0 : static_cast<double>(found->second);
}

/// n ln(w), where 0 ln(0) is 0.
double log_power(double n, double w) { return n == 0 ? 0 : n * std::log(w); }

/// ln of the mean of some test martingales for contents with k rows.
///
/// Let contents have independent Poisson numbers of rows, with any means. A content with k - 1, k or k + 1 rows has the
/// factor 1 - d, 1 + 2 sqrt(d e k / (k + 1)) or 1 - e, and any other content has the factor 1. The mean of a factor is
/// at most 1 for every mean of the Poisson distribution, because the quadratic polynomial
/// d - 2 sqrt(d e k / (k + 1)) m / k + e m^2 / (k (k + 1)) of this mean m has no sign change.
double log_evidence(const ContentCounts& classes, std::uint64_t k) {
  const double fewer = contents_with(classes, k - 1);
  const double same = contents_with(classes, k);
  const double more = contents_with(classes, k + 1);
  const auto number = static_cast<double>(k);
  constexpr int kSteps = 11;  // d and e from 1 down to 4^-10
  double maximum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double d = std::pow(4.0, -i);
    for (int j = 0; j < kSteps; ++j) {
      const double e = std::pow(4.0, -j);
      const double gain = std::log1p(2 * std::sqrt(d * e * number / (number + 1)));
      maximum = std::max(maximum, log_power(fewer, 1 - d) + same * gain + log_power(more, 1 - e));
    }
  }
  return maximum - std::log(static_cast<double>(kSteps) * kSteps);
}

}  // namespace

double RowRepeats::share() const { return rows == 0 ? 0 : static_cast<double>(copies) / static_cast<double>(rows); }

bool RowRepeats::found() const { return log_probability < kLogAlarm; }

RowRepeats repeats(const RowSketch& table) {
  RowRepeats result;
  ContentCounts classes;
  for (const RowSketch::Entry& entry : table.entries()) {
    result.rows += entry.count;
    result.copies += entry.count - 1;
    ++classes[entry.count];
  }
  double maximum = 0;
  for (const auto& [k, contents] : classes) {
    // The weights 1 / k^2 of the numbers k from 2 sum to less than 1.
    if (k > 1) maximum = std::max(maximum, log_evidence(classes, k) - 2 * std::log(static_cast<double>(k)));
  }
  // Markov's inequality for Poisson numbers, divided by the probability that they sum to the number of rows, which is
  // at least 1 / (e sqrt(rows)).
  const double given = 1 + std::log(static_cast<double>(std::max<std::uint64_t>(table.rows(), 1))) / 2;
  result.log_probability = std::min(0.0, given - maximum);
  return result;
}

}  // namespace widthwise
