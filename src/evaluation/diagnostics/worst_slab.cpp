#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"
#include "evaluation/diagnostics/rows.hpp"
#include "evaluation/diagnostics/slab_search.hpp"

namespace widthwise {
namespace {

constexpr double kGreatestFeature = 1e30;  // projections stay finite in float

void check_share(const WorstSlabOptions& options, const std::string& where) {
  const bool is_share = options.min_share > 0 && options.min_share <= 1;
  if (!is_share) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "{}: expected a min_share in (0, 1], found {}", where,
                               options.min_share);
  }
}

void check_options(const WorstSlabOptions& options) {
  check_share(options, "worst_slab");
  if (options.directions == 0) {
    throw Error(ErrorCode::kInvalidArgument, "worst_slab: expected at least 1 direction, found 0");
  }
}

void check_features(MatrixView features, std::size_t n) {
  internal::check_size(features.rows(), n, "rows of features", "worst_slab");
  if (features.columns() == 0) {
    throw Error(ErrorCode::kInvalidArgument, "worst_slab: expected at least 1 column of features, found 0");
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < features.columns(); ++j) {
      const double x = features(i, j);
      if (std::isnan(x) || std::abs(x) <= kGreatestFeature) continue;
      throw Error(
          std::isinf(x) ? ErrorCode::kNotFinite : ErrorCode::kInvalidArgument,
          fmt::format("worst_slab: row {}, column {}: expected a feature of at most 1e30, found {}", i + 1, j + 1, x));
    }
  }
}

/// Fill the rows with points distributed uniformly on the unit sphere.
void draw_directions(Random& random, MutableMatrixView directions) {
  for (std::size_t k = 0; k < directions.rows(); ++k) {
    const std::span<double> direction = directions.row(k);
    double length = 0;
    while (length == 0) {
      for (double& component : direction) component = random.normal();
      length = std::sqrt(std::inner_product(direction.begin(), direction.end(), direction.begin(), 0.0));
    }
    for (double& component : direction) component /= length;
  }
}

/// ceil(share m), corrected for rounding of the product: 0.07 of 100 rows is 7.
std::size_t min_rows_of(double share, std::size_t m) {
  constexpr double kRounding = 2 * std::numeric_limits<double>::epsilon();
  const double rows = std::ceil(share * static_cast<double>(m) * (1 - kRounding));
  return std::max<std::size_t>(1, static_cast<std::size_t>(rows));
}

std::vector<std::uint8_t> covered_rows(const IntervalRows& rows) {
  std::vector<std::uint8_t> covered(rows.outcomes.size());
  for (std::size_t i = 0; i < covered.size(); ++i) covered[i] = internal::is_covered(rows, i) ? 1 : 0;
  return covered;
}

SlabHalves draw_halves(std::size_t n, Random& random) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(std::span(order));
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(n / 2);
  return {.search = {order.begin(), middle}, .measure = {middle, order.end()}};
}

std::vector<std::size_t> rows_inside(const internal::Slab& slab, const internal::CoveredRows& rows) {
  std::vector<std::size_t> inside;
  for (const std::size_t row : rows.chosen) {
    if (internal::tally_inside(slab, {rows.features, rows.covered, std::span(&row, 1)}).rows > 0) inside.push_back(row);
  }
  return inside;
}

struct Ends {
  bool minimum = false;
  bool maximum = false;
};

/// Extend a range to the end of the feature if at most `few` rows lie beyond it: "at least 4,000" is clearer than
/// "4,000 to 13,395" when only one covered row lies beyond.
Ends extend_to_ends(internal::Slab& slab, const internal::CoveredRows& rows, std::size_t few) {
  double minimum = slab.low;
  double maximum = slab.high;
  std::size_t below = 0;
  std::size_t above = 0;
  for (const std::size_t row : rows.chosen) {
    const double x = rows.features(row, 0);
    below += x < slab.low ? 1 : 0;
    above += x > slab.high ? 1 : 0;
    minimum = std::min(minimum, x);
    maximum = std::max(maximum, x);
  }
  const Ends ends{below <= few, above <= few};
  if (ends.minimum) slab.low = minimum;
  if (ends.maximum) slab.high = maximum;
  return ends;
}

}  // namespace

SlabHalves slab_halves(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  return draw_halves(n, random);
}

WorstSlab worst_slab(const IntervalRows& rows, MatrixView features, const WorstSlabOptions& options) {
  check_options(options);
  internal::check_rows(rows, "worst_slab");
  const std::size_t n = rows.outcomes.size();
  check_features(features, n);
  if (n < 2) {
    throw Error(ErrorCode::kTooFewRows,
                "worst_slab: expected at least 2 rows, one to search and one to measure, found 1");
  }

  const std::vector<std::uint8_t> covered = covered_rows(rows);
  Random random(options.seed);
  const SlabHalves halves = draw_halves(n, random);
  const internal::CoveredRows search{features, covered, halves.search};
  const internal::CoveredRows held_out{features, covered, halves.measure};

  std::vector<double> components(options.directions * features.columns());
  const MutableMatrixView directions(components.data(), options.directions, features.columns());
  draw_directions(random, directions);

  const internal::Slab slab =
      internal::find_worst_slab(search, directions, min_rows_of(options.min_share, search.chosen.size()));
  const internal::Tally found = internal::tally_inside(slab, search);
  const internal::Tally measured = internal::tally_inside(slab, held_out);
  return {
      .coverage = proportion(static_cast<std::uint64_t>(measured.covered), static_cast<std::uint64_t>(measured.rows)),
      .search_coverage = static_cast<double>(found.covered) / static_cast<double>(found.rows),
      .direction = slab.direction,
      .low = slab.low,
      .high = slab.high,
      .measured = rows_inside(slab, held_out)};
}

std::vector<double> standardised(MatrixView features) {
  std::vector<double> out(features.rows() * features.columns());
  for (std::size_t j = 0; j < features.columns(); ++j) {
    double count = 0;
    double mean = 0;
    double squares = 0;
    for (std::size_t i = 0; i < features.rows(); ++i) {
      if (!std::isfinite(features(i, j))) continue;
      count += 1;
      const double step = features(i, j) - mean;
      mean += step / count;
      squares += step * (features(i, j) - mean);
    }
    const double deviation = squares > 0 ? std::sqrt(squares / count) : 1;
    for (std::size_t i = 0; i < features.rows(); ++i) {
      const double z = (features(i, j) - mean) / deviation;
      out[i * features.columns() + j] = std::isfinite(z) ? z : 0;
    }
  }
  return out;
}

std::optional<FeatureSlab> weakest_slab(const IntervalRows& rows, MatrixView features,
                                        const WorstSlabOptions& options) {
  check_share(options, "weakest_slab");
  internal::check_rows(rows, "weakest_slab");
  const std::size_t n = rows.outcomes.size();
  internal::check_size(features.rows(), n, "rows of features", "weakest_slab");

  const std::vector<std::uint8_t> covered = covered_rows(rows);
  const SlabHalves halves = slab_halves(n, options.seed);
  const std::size_t min_rows = min_rows_of(options.min_share, n / 2);
  const double one = 1;
  std::optional<FeatureSlab> weakest;
  for (std::size_t j = 0; j < features.columns(); ++j) {
    const auto is_finite = [&](std::size_t row) { return std::abs(features(row, j)) <= kGreatestFeature; };
    std::vector<std::size_t> search;
    std::vector<std::size_t> held_out;
    std::ranges::copy_if(halves.search, std::back_inserter(search), is_finite);
    std::ranges::copy_if(halves.measure, std::back_inserter(held_out), is_finite);
    if (search.size() < min_rows) continue;
    const MatrixView column(features.data() + j, n, 1, features.stride());
    const internal::CoveredRows chosen{column, covered, search};
    internal::Slab slab = internal::find_worst_slab(chosen, {&one, 1, 1}, min_rows);
    const Ends ends = extend_to_ends(slab, chosen, min_rows / 10);
    const internal::Tally found = internal::tally_inside(slab, chosen);
    const double coverage = static_cast<double>(found.covered) / static_cast<double>(found.rows);
    if (weakest && weakest->search_coverage <= coverage) continue;
    const internal::CoveredRows measuring{column, covered, held_out};
    const internal::Tally measured = internal::tally_inside(slab, measuring);
    weakest = {
        .feature = j,
        .low = slab.low,
        .high = slab.high,
        .reaches_min = ends.minimum,
        .reaches_greatest = ends.maximum,
        .coverage = proportion(static_cast<std::uint64_t>(measured.covered), static_cast<std::uint64_t>(measured.rows)),
        .search_coverage = coverage,
        .measured = rows_inside(slab, measuring)};
  }
  return weakest;
}

}  // namespace widthwise
