#include <widthwise/guarantee.hpp>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <string>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise {
namespace {

constexpr std::uint64_t kMaxRows = 10'000'000'000;  // the series of the beta distribution become slow beyond this

void check_share(const char* where, const char* what, double value) {
  const bool is_share = value > 0 && value < 1;
  if (is_share) return;
  throw internal::make_error(ErrorCode::kInvalidArgument, "{}: expected a {} strictly between 0 and 1, found {}", where,
                             what, value);
}

void check_rows(const char* where, const char* what, std::uint64_t rows, std::uint64_t minimum) {
  if (rows >= minimum && rows <= kMaxRows) return;
  throw internal::make_error(ErrorCode::kInvalidArgument, "{}: expected {} to {} {}, found {}", where, minimum,
                             kMaxRows, what, rows);
}

/// The result for too few rows: every interval is infinite and covers everything.
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
/// Terms are summed outwards from a likely one and then divided by their sum, so no digits are lost in logarithms of
/// huge factorials. Only about ten standard deviations of terms matter, each at most sqrt(min(n, t)) / 2.
Sides hypergeometric_sides(double n, double t, double draws, double k) {
  const double minimum = std::max(0.0, draws - t);
  const double maximum = std::min(n, draws);
  const double start = std::clamp(std::floor(draws * (n / (n + t))), minimum, maximum);
  Sides sums{0, 0};
  const auto add = [&](double i, double term) { (i < k ? sums.below : sums.from) += term; };
  constexpr double kNegligible = 1e-30;  // of the first term
  double term = 1;
  for (double i = start; i <= maximum && term > kNegligible; ++i) {
    add(i, term);
    term *= (n - i) / (i + 1) * ((draws - i) / (t - draws + i + 1));
  }
  term = 1;
  for (double i = start; i > minimum && term > kNegligible; --i) {
    term *= i / (n - i + 1) * ((t - draws + i) / (draws - i + 1));
    add(i - 1, term);
  }
  const double total = sums.below + sums.from;
  return {sums.below / total, sums.from / total};
}

[[nodiscard]] bool is_infinite(const RankedRows& group) { return group.rank > group.rows; }

/// `from` is P(count <= covered), `below` P(count > covered), of the test rows of one group.
/// At most c test rows are covered exactly when, of all rows in the order of their scores, the first rank + c hold
/// at least `rank` calibration rows. Every order is equally likely.
Sides count_sides(const RankedRows& group, std::uint64_t covered) {
  if (covered >= group.test_rows) return {.below = 0, .from = 1};
  const auto rank = static_cast<double>(group.rank);
  return hypergeometric_sides(static_cast<double>(group.rows), static_cast<double>(group.test_rows),
                              rank + static_cast<double>(covered), rank);
}

/// As count_sides, of the drawn rows that are covered.
Sides count_sides(const DrawnRows& drawn, std::uint64_t covered) {
  const auto chosen = static_cast<double>(drawn.test_rows);
  const Sides sides = hypergeometric_sides(chosen, static_cast<double>(drawn.rows) - chosen,
                                           static_cast<double>(drawn.covered), static_cast<double>(covered) + 1);
  return {.below = sides.from, .from = sides.below};
}

void check_drawn(const DrawnRows& drawn) {
  check_rows("CoveredCount", "drawn rows", drawn.rows, 0);
  if (drawn.test_rows <= drawn.rows && drawn.covered <= drawn.rows) return;
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "CoveredCount: {} rows are drawn and {} are covered, but there are {}", drawn.test_rows,
                             drawn.covered, drawn.rows);
}

constexpr double kCellsPerDeviation = 256;  // at least, of a group
constexpr double kNegligibleCell = 1e-25;   // 8192 of them in every sum are negligible in any relevant tail
constexpr std::size_t kMaxCells = 16'384;

/// Return the smallest number in [0, maximum] for which a monotone predicate holds; it holds for `maximum`.
std::uint64_t min_that(std::uint64_t maximum, const auto& holds) {
  std::uint64_t low = 0;
  while (low < maximum) {
    const std::uint64_t middle = low + (maximum - low) / 2;
    holds(middle) ? maximum = middle : low = middle + 1;
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

  /// For n calibration rows and any rounding of the rank: (n + 1) level itself is the worst case for the lower bound,
  /// and the largest possible rounding for this level is the worst case for the upper bound. Coverage increases
  /// stochastically with the rank.
  [[nodiscard]] bool holds_however_rounded(double n) const {
    const double exact = (n + 1) * level_.value();
    const double misses = (n + 1) * level_.complement().value();
    const double denominator = static_cast<double>(level_.denominator());
    const double maximum = (denominator - 1) / denominator;
    return misses > maximum && holds_low(exact, misses) && holds_high(exact + maximum, misses - maximum);
  }

  /// A number of rows from which on it always holds: a beta distribution whose parameters sum to n + 1 has tails below
  /// exp(-2 (n + 2) t^2) at distance t from its mean (Marchal and Arbel 2017), and the mean is less than 1 / (n + 1)
  /// above the level.
  [[nodiscard]] double certain_rows(double tolerance) const {
    const double maximum = std::sqrt(-std::log(tail_) / 2);
    // (n + 2) (tolerance - 1 / (n + 1))^2 >= most^2 where sqrt(n + 1) tolerance - 1 / sqrt(n + 1) >= most.
    const double root = (maximum + std::sqrt(maximum * maximum + 4 * tolerance)) / (2 * tolerance);
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
  check_rows("measured_coverage_spread", "rows", rows, 0);
  const RankedRows group{rows, guarantee.rank(level, rows), test_rows};
  return measured_coverage_spread(std::span(&group, 1), confidence);
}

CoverageSpread measured_coverage_spread(std::span<const RankedRows> groups, double confidence) {
  check_share("measured_coverage_spread", "confidence", confidence);
  const CoveredCount count(groups);
  const auto total = static_cast<double>(count.test_rows());
  CoverageSpread spread;
  for (const RankedRows& group : groups) {
    spread.rows += group.rows;
    const double coverage =
        is_infinite(group) ? 1 : static_cast<double>(group.rank) / (static_cast<double>(group.rows) + 1);
    spread.mean += coverage * (static_cast<double>(group.test_rows) / total);
  }
  const double tail = (1 - confidence) / 2;
  const auto low = min_that(count.test_rows(), [&](std::uint64_t c) { return count.at_most(c) >= tail; });
  const auto high = min_that(count.test_rows(), [&](std::uint64_t c) { return count.more_than(c) <= tail; });
  spread.low = static_cast<double>(low) / total;
  spread.high = static_cast<double>(high) / total;
  return spread;
}

// --- CoveredCount

CoveredCount::CoveredCount(std::span<const RankedRows> groups, const DrawnRows& drawn) {
  std::vector<RankedRows> finite;
  for (const RankedRows& group : groups) {
    check_rows("CoveredCount", "rows", group.rows, 0);
    check_rows("CoveredCount", "test rows", group.test_rows, 0);
    if (group.rank == 0)
      throw Error(ErrorCode::kInvalidArgument, "CoveredCount: expected a rank of at least 1, found 0");
    test_rows_ += group.test_rows;
    if (is_infinite(group)) {
      always_covered_ += group.test_rows;
    } else if (group.test_rows > 0) {
      finite.push_back(group);
    }
  }
  check_drawn(drawn);
  test_rows_ += drawn.test_rows;
  check_rows("CoveredCount", "test rows", test_rows_, 1);
  const std::size_t has_drawn = drawn.test_rows > 0 ? 1 : 0;
  if (finite.size() + has_drawn <= 1) {
    if (finite.empty()) {
      drawn_ = drawn;
    } else {
      only_ = finite.front();
    }
    return;
  }
  std::vector<Lattice> lattices;
  for (const RankedRows& group : finite) lattices.push_back(lattice_of(group));
  if (has_drawn == 1) lattices.push_back(lattice_of(drawn));
  // Convolve distributions of similar size first, so that intermediate sums stay short.
  while (lattices.size() > 1) {
    std::ranges::stable_sort(lattices, {}, [](const Lattice& lattice) { return lattice.cells.size(); });
    std::vector<Lattice> sums;
    for (std::size_t i = 0; i + 1 < lattices.size(); i += 2) {
      sums.push_back(sum_of(std::move(lattices[i]), std::move(lattices[i + 1])));
    }
    if (lattices.size() % 2 == 1) sums.push_back(std::move(lattices.back()));
    lattices = std::move(sums);
  }
  sum_ = std::move(lattices.front());
}

double CoveredCount::at_most(std::uint64_t covered) const {
  if (covered < always_covered_) return 0;
  const std::uint64_t finite = covered - always_covered_;
  if (drawn_.test_rows > 0) return count_sides(drawn_, finite).from;
  if (only_.test_rows > 0) return count_sides(only_, finite).from;
  if (sum_.cells.empty()) return 1;
  double sum = 0;
  for (std::size_t i = 0; i < sum_.cells.size(); ++i) {
    if (sum_.offset + sum_.step * static_cast<double>(i) > static_cast<double>(finite)) break;
    sum += sum_.cells[i];
  }
  return std::min(sum, 1.0);
}

double CoveredCount::more_than(std::uint64_t covered) const {
  if (covered < always_covered_) return 1;
  const std::uint64_t finite = covered - always_covered_;
  if (drawn_.test_rows > 0) return count_sides(drawn_, finite).below;
  if (only_.test_rows > 0) return count_sides(only_, finite).below;
  if (sum_.cells.empty()) return 0;
  double sum = 0;
  for (std::size_t i = sum_.cells.size(); i-- > 0;) {
    if (sum_.offset + sum_.step * static_cast<double>(i) + sum_.slack <= static_cast<double>(finite)) break;
    sum += sum_.cells[i];
  }
  // At most all rows are covered.
  return covered >= test_rows_ ? 0 : std::min(sum, 1.0);
}

namespace {

/// The probabilities of counts from `minimum` to `maximum`, summed over cells of a power of 2.
struct Cells {
  double offset = 0;
  double step = 1;
  std::vector<double> values = {};
};

/// Terms are built outwards from a likely count, as hypergeometric_sides does: `ratio` of c is P(C = c + 1) / P(C = c).
Cells cells_of(double minimum, double maximum, double likely, double deviation, const auto& ratio) {
  Cells cells;
  while (2 * cells.step * kCellsPerDeviation <= deviation) cells.step *= 2;
  const double start = std::clamp(std::floor(likely), minimum, maximum);
  std::vector<double> below;
  const auto add = [&cells](std::vector<double>& values, double distance, double term) {
    const auto cell = static_cast<std::size_t>(distance / cells.step);
    if (cell >= values.size()) values.resize(cell + 1, 0.0);
    values[cell] += term;
  };
  constexpr double kNegligible = 1e-18;  // of the first term, which is among the greatest
  double term = 1;
  for (double c = start; c <= maximum && term > kNegligible; ++c) {
    add(cells.values, c - start, term);
    term *= ratio(c);
  }
  term = 1;
  for (double c = start; c > minimum && term > kNegligible; --c) {
    term /= ratio(c - 1);
    add(below, start - c, term);
  }
  cells.offset = start - cells.step * static_cast<double>(below.size());
  cells.values.insert(cells.values.begin(), below.rbegin(), below.rend());
  double total = 0;
  for (const double cell : cells.values) total += cell;
  for (double& cell : cells.values) cell /= total;
  return cells;
}

}  // namespace

// P(C = c) is proportional to (k - 1 + c choose c) (n - k + m - c choose m - c).
CoveredCount::Lattice CoveredCount::lattice_of(const RankedRows& group) {
  const auto n = static_cast<double>(group.rows);
  const auto k = static_cast<double>(group.rank);
  const auto m = static_cast<double>(group.test_rows);
  const double p = k / (n + 1);
  const double deviation = std::sqrt(m * p * (1 - p) * (n + 1 + m) / (n + 2));
  Cells cells =
      cells_of(0, m, m * p, deviation, [=](double c) { return (k + c) / (c + 1) * ((m - c) / (n - k + m - c)); });
  return {cells.offset, cells.step, cells.step - 1, std::move(cells.values)};
}

// P(C = c) is proportional to (m choose c) (N - m choose K - c).
CoveredCount::Lattice CoveredCount::lattice_of(const DrawnRows& drawn) {
  const auto all = static_cast<double>(drawn.rows);
  const auto covered = static_cast<double>(drawn.covered);
  const auto m = static_cast<double>(drawn.test_rows);
  const double p = covered / all;
  const double deviation = std::sqrt(m * p * (1 - p) * (all - m) / std::max(1.0, all - 1));
  Cells cells = cells_of(std::max(0.0, covered - (all - m)), std::min(m, covered), m * p, deviation,
                         [=](double c) { return (m - c) / (c + 1) * ((covered - c) / (all - m - covered + c + 1)); });
  return {cells.offset, cells.step, cells.step - 1, std::move(cells.values)};
}

void CoveredCount::coarsen(Lattice& lattice) {
  const std::size_t half = (lattice.cells.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double next = 2 * i + 1 < lattice.cells.size() ? lattice.cells[2 * i + 1] : 0;
    lattice.cells[i] = lattice.cells[2 * i] + next;
  }
  lattice.cells.resize(half);
  lattice.slack += lattice.step;
  lattice.step *= 2;
}

CoveredCount::Lattice CoveredCount::sum_of(Lattice a, Lattice b) {
  while (a.step < b.step) coarsen(a);
  while (b.step < a.step) coarsen(b);
  Lattice sum{a.offset + b.offset, a.step, a.slack + b.slack, {}};
  sum.cells.resize(a.cells.size() + b.cells.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.cells.size(); ++i) {
    for (std::size_t j = 0; j < b.cells.size(); ++j) sum.cells[i + j] += a.cells[i] * b.cells[j];
  }
  const auto counts = [](double cell) { return cell > kNegligibleCell; };
  const auto first = std::ranges::find_if(sum.cells, counts);
  sum.offset += sum.step * static_cast<double>(first - sum.cells.begin());
  sum.cells.erase(sum.cells.begin(), first);
  while (!counts(sum.cells.back())) sum.cells.pop_back();
  while (sum.cells.size() > kMaxCells) coarsen(sum);
  return sum;
}

// The rounding of ranks makes the spread vary irregularly with n, so the last failing n is searched from above:
// 1. A bound on the tails gives an n from which on the tolerance holds for every rank.
// 2. From there, go down to the first n that fails for the worst rounding: in steps of a tenth, then by bisection.
// 3. From there, go down over actual ranks. Consider the smaller of rank and n + 1 - rank: while it is constant,
//    coverage is stochastically monotone in n, so one bound fails for the last n of such a run or for none, and the
//    other fails for the first ones or for none. Two checks per run suffice.
// The worst rounding, or nearly the worst, recurs every `denominator` rows, so step 3 is short.
std::uint64_t rows_for_tolerance(const Level& level, double tolerance, double confidence, const Guarantee& guarantee) {
  check_share("rows_for_tolerance", "tolerance", tolerance);
  check_share("rows_for_tolerance", "confidence", confidence);
  const Tolerance within(level, tolerance, confidence, guarantee);
  const auto refuse = [&] {
    throw internal::make_error(
        ErrorCode::kInvalidArgument,
        "rows_for_tolerance: a tolerance of {} at level {} needs more than {} rows; use a wider tolerance", tolerance,
        level.to_string(), kMaxRows);
  };
  const std::uint64_t minimum = guarantee.min_rows(level);
  if (minimum > kMaxRows) refuse();
  if (!guarantee.is_marginal()) {
    std::uint64_t enough = minimum;
    while (!within.holds(enough)) {
      if (enough == kMaxRows) refuse();
      enough = std::min(2 * enough, kMaxRows);
    }
    return minimum + min_that(enough - minimum, [&](std::uint64_t offset) { return within.holds(minimum + offset); });
  }
  double high = within.certain_rows(tolerance);
  if (high > static_cast<double>(kMaxRows)) {
    high = static_cast<double>(kMaxRows);
    if (!within.holds_however_rounded(high)) refuse();
  }
  double low = high;
  while (low > static_cast<double>(minimum) && within.holds_however_rounded(low)) {
    high = low;
    low *= 0.9;
  }
  while (high - low > 1) {
    const double middle = (low + high) / 2;
    (within.holds_however_rounded(middle) ? high : low) = middle;
  }

  const bool count_misses = level.numerator() > level.denominator() / 2;
  const auto smaller = [&](std::uint64_t n) { return count_misses ? n + 1 - level.rank(n) : level.rank(n); };
  std::uint64_t end = std::max(static_cast<std::uint64_t>(std::ceil(high)), minimum);
  while (end >= minimum) {
    if (!within.holds(end)) return end + 1;
    const std::uint64_t start =
        std::max(minimum, min_that(end, [&](std::uint64_t n) { return smaller(n) == smaller(end); }));
    if (!within.holds(start)) {
      return start + min_that(end - start, [&](std::uint64_t offset) { return within.holds(start + offset); });
    }
    if (start == 0) break;
    end = start - 1;
  }
  return minimum;
}

}  // namespace widthwise
