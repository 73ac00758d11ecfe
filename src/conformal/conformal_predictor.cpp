#include <widthwise/conformal_predictor.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/roles.hpp>

#include "base/message.hpp"
#include "base/vector_math.hpp"

namespace widthwise {
namespace {

constexpr const char* kWhere = "ConformalPredictor";

using internal::kBlock;

void expect_size(std::string_view what, std::size_t found, std::size_t expected) {
  if (found == expected) return;
  throw internal::make_error(ErrorCode::kShapeMismatch, "ConformalPredictor: {} predictions but {} {}", expected, found,
                             what);
}

void check_rows(const ConformalRule& rule, const PredictionRows& rows) {
  const std::size_t n = rows.predictions.size();
  const std::size_t columns = rule.parameter_count();
  if (columns > 0 && (rows.parameters.rows() != n || rows.parameters.columns() != columns)) {
    throw internal::make_error(ErrorCode::kShapeMismatch,
                               "ConformalPredictor: parameters are {} x {}, expected {} x {}", rows.parameters.rows(),
                               rows.parameters.columns(), n, columns);
  }
  if (!rows.groups.empty()) expect_size("groups", rows.groups.size(), n);
  if (!rows.test_weights.empty()) expect_size("test weights", rows.test_weights.size(), n);
}

/// The likelihood ratio of a row; empty without weights, where it is 1 for every row.
std::optional<double> test_weight_of(const PredictionRows& rows, std::size_t i) {
  return rows.test_weights.empty() ? std::nullopt : std::optional(rows.test_weights[i]);
}

/// The parameters of phi on each side, for a block of rows at a time.
class SideParameters {
 public:
  SideParameters(const ConformalRule& rule, MatrixView parameters) : rule_(rule), parameters_(parameters) {}

  /// Move to the block of `count` rows from `first`.
  void move_to(std::size_t first, std::size_t count) {
    count_ = count;
    if (rule_.transform().parameter_count() == 0) return;
    block_ = parameters_.slice(first, count);
    if (rule_.sides() == Sides::kOne || !rule_.transform().joins_sides()) return;
    joined_.clear();
    for (std::size_t i = 0; i < count; ++i) joined_.insert(joined_.end(), block_.row(i).begin(), block_.row(i).end());
    const MutableMatrixView joined{joined_.data(), count, block_.columns()};
    rule_.transform().join_sides(joined);
    block_ = joined;
  }

  /// The parameters of one side (count x P); a matrix without columns if there are no parameters.
  [[nodiscard]] MatrixView side(bool above) const {
    const std::size_t columns = rule_.transform().parameter_count();
    if (columns == 0) return {nullptr, count_, 0};
    const std::size_t offset = above && rule_.sides() == Sides::kTwo ? columns : 0;
    return {block_.data() + offset, count_, columns, block_.stride()};
  }

 private:
  const ConformalRule& rule_;
  MatrixView parameters_;
  MatrixView block_;
  std::vector<double> joined_;
  std::size_t count_ = 0;
};

// Half-widths from scores, and bounds from half-widths. If a prediction or parameter is NaN, the row is not bounded:
// every comparison with NaN is false, so the first selection of each loop takes the end of the range.

template <Score kScore>
[[gnu::always_inline]] inline void bounds_of(const double* f, const double* below, const double* above, std::size_t n,
                                             const OutcomeSpace& space, double* lower, double* upper) {
  const double low = space.low;
  const double high = space.high;
  for (std::size_t i = 0; i < n; ++i) {
    const double bound = f[i] - to_residual(kScore, below[i]);
    const double inside = bound > low ? bound : low;
    lower[i] = inside < high ? inside : high;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double bound = f[i] + to_residual(kScore, above[i]);
    const double inside = bound < high ? bound : high;
    upper[i] = inside > low ? inside : low;
  }
}

WIDTHWISE_VECTORISED void absolute_bounds(const double* f, const double* below, const double* above, std::size_t n,
                                          const OutcomeSpace& space, double* lower, double* upper) {
  bounds_of<Score::kAbsolute>(f, below, above, n, space, lower, upper);
}

WIDTHWISE_VECTORISED void squared_bounds(const double* f, const double* below, const double* above, std::size_t n,
                                         const OutcomeSpace& space, double* lower, double* upper) {
  bounds_of<Score::kSquared>(f, below, above, n, space, lower, upper);
}

/// Both bounds of n rows at one level, from f (n) and the inverse scores of each side (n; the same array for one side).
void write_bounds(Score score, const double* f, const double* below, const double* above, std::size_t n,
                  const OutcomeSpace& space, double* lower, double* upper) {
  switch (score) {
    case Score::kAbsolute:
      absolute_bounds(f, below, above, n, space, lower, upper);
      break;
    case Score::kSquared:
      squared_bounds(f, below, above, n, space, lower, upper);
      break;
    case Score::kLog:
      bounds_of<Score::kLog>(f, below, above, n, space, lower, upper);
      break;
  }
}

void check_bounds(const PredictionRows& rows, std::size_t k, const MutableMatrixView& lower,
                  const MutableMatrixView& upper, const OutcomeSpace& space) {
  space.check("ConformalPredictor");
  const std::size_t n = rows.predictions.size();
  for (const MutableMatrixView& out : {lower, upper}) {
    if (out.rows() != n || out.columns() != k) {
      throw internal::make_error(ErrorCode::kShapeMismatch,
                                 "ConformalPredictor: bounds are {} x {}, expected {} rows x {} levels", out.rows(),
                                 out.columns(), n, k);
    }
  }
}

/// Number of rows whose intervals at k levels are computed at a time.
std::size_t block_rows(std::size_t k) { return std::max<std::size_t>(1, kBlock / k); }

/// Each number k times.
void repeat(const double* numbers, std::size_t n, std::size_t k, double* out) {
  for (std::size_t i = 0; i < n; ++i) std::fill_n(out + i * k, k, numbers[i]);
}

/// Where the bounds of a block of rows are computed: in the output itself if its rows follow each other, else in memory
/// that is copied to it. Large outputs are copied too, bypassing the cache.
class BoundsOut {
 public:
  BoundsOut(MutableMatrixView out, std::size_t block) : out_(out) {
    const std::size_t numbers = out.rows() * out.columns();
    streamed_ = out.contiguous() && numbers * sizeof(double) >= internal::kStreamedBytes;
    if (streamed_ || !out.contiguous()) memory_.resize(block * out.columns());
  }

  [[nodiscard]] double* begin(std::size_t first) {
    return memory_.empty() ? out_.data() + first * out_.columns() : memory_.data();
  }

  void end(std::size_t first, std::size_t count) const {
    if (memory_.empty()) return;
    const MutableMatrixView to = out_.slice(first, count);
    if (streamed_) {
      internal::stream_out(memory_.data(), count * to.columns(), to.data());
    } else {
      copy_rows({memory_.data(), count, to.columns()}, to);
    }
  }

  [[nodiscard]] bool streamed() const { return streamed_; }

 private:
  MutableMatrixView out_;
  std::vector<double> memory_;
  bool streamed_ = false;
};

/// Write the intervals of n > 0 rows at k > 0 levels. quantiles_of(first, count) returns the quantiles of some rows
/// (count x k), valid until the next call.
template <class QuantilesOf>
void write_intervals(const ConformalRule& rule, const PredictionRows& rows, std::size_t k, MutableMatrixView lower,
                     MutableMatrixView upper, const OutcomeSpace& space, const QuantilesOf& quantiles_of) {
  const std::size_t n = rows.predictions.size();
  const std::size_t block = std::min(n, block_rows(k));
  const bool two_sided = rule.sides() == Sides::kTwo;
  std::vector<double> below(block * k);
  std::vector<double> above(two_sided ? block * k : 0);
  std::vector<double> repeated(k == 1 ? 0 : block * k);
  SideParameters parameters(rule, rows.parameters);
  BoundsOut low(lower, block);
  BoundsOut high(upper, block);

  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t count = std::min(block, n - first);
    const MatrixView quantiles = quantiles_of(first, count);
    parameters.move_to(first, count);
    rule.transform().inverses(quantiles, parameters.side(false), {below.data(), count, k});
    if (two_sided) rule.transform().inverses(quantiles, parameters.side(true), {above.data(), count, k});
    const double* f = rows.predictions.data() + first;
    if (k > 1) {
      repeat(f, count, k, repeated.data());
      f = repeated.data();
    }
    write_bounds(rule.score(), f, below.data(), two_sided ? above.data() : below.data(), count * k, space,
                 low.begin(first), high.begin(first));
    space.round({low.begin(first), count * k}, {high.begin(first), count * k});
    low.end(first, count);
    high.end(first, count);
  }
  if (low.streamed() || high.streamed()) internal::end_streaming();
}

/// The bound of a position on the other side of the prediction than the rows that it excludes: an upper bound below f,
/// or a lower bound above f. Rounded towards f, because all rows with larger scores on that side lie inside.
double crossing_bound(const ConformalRule& rule, double f, std::span<const double> parameters, const SidedScore& place,
                      const OutcomeSpace& space) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const double a = std::min(rule.transform().inverse_down(std::min(place.score, kMax), parameters), kMax);
  const double residual = std::isnan(a) ? a : to_residual_down(rule.score(), a);
  if (place.above) {
    const double bound = f + residual;
    return std::min(bound > space.low ? bound : space.low, space.high);
  }
  const double bound = f - residual;
  return std::max(bound < space.high ? bound : space.high, space.low);
}

}  // namespace

// --- ConformalRule
// --------------------------------------------------------------------------------------------------------

ConformalRule::ConformalRule(std::shared_ptr<const Transform> transform, Score score, Sides sides)
    : transform_(std::move(transform)), score_(score), sides_(sides) {
  if (transform_ == nullptr) throw Error(ErrorCode::kInvalidArgument, "ConformalRule: no transform given");
  if (score_ == Score::kLog && !transform_->takes_negative_scores()) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "ConformalRule: {} needs positive scores; use the squared or absolute score",
                               transform_->name());
  }
}

std::size_t ConformalRule::parameter_count() const {
  return transform_->parameter_count() * (sides_ == Sides::kTwo ? 2 : 1);
}

bool ConformalRule::may_be_empty() const {
  const AffineForm* form = transform_->affine_form();
  return form != nullptr && form->has_offset();
}

void ConformalRule::scores(const PredictionRows& rows, std::span<const double> outcomes, std::span<double> out) const {
  check_rows(*this, rows);
  const std::size_t n = rows.predictions.size();
  expect_size("outcomes", outcomes.size(), n);
  expect_size("output scores", out.size(), n);
  const std::size_t columns = transform_->parameter_count();
  std::vector<double> own(sides_ == Sides::kTwo ? kBlock * columns : 0);
  double residual_scores[kBlock];
  SideParameters sides(*this, rows.parameters);
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t count = std::min(kBlock, n - first);
    for (std::size_t i = 0; i < count; ++i) {
      residual_scores[i] = to_score(score_, std::abs(outcomes[first + i] - rows.predictions[first + i]));
    }
    sides.move_to(first, count);
    MatrixView parameters = sides.side(false);
    if (sides_ == Sides::kTwo) {
      const MatrixView upper = sides.side(true);
      for (std::size_t i = 0; i < count; ++i) {
        const bool above = outcomes[first + i] > rows.predictions[first + i];
        std::copy_n((above ? upper : parameters).row(i).data(), columns, own.data() + i * columns);
      }
      parameters = {own.data(), count, columns};
    }
    transform_->values({residual_scores, count}, parameters, out.subspan(first, count));
  }
}

void ConformalRule::half_widths(MatrixView scores, MatrixView parameters, MutableMatrixView lower,
                                MutableMatrixView upper) const {
  const std::size_t n = scores.rows();
  if (parameters.columns() != parameter_count()) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "half_widths: {} columns of parameters, expected {}",
                               parameters.columns(), parameter_count());
  }
  expect_size("rows of parameters", parameters.rows(), n);
  SideParameters sides(*this, parameters);
  sides.move_to(0, n);
  for (const bool above : {false, true}) {
    const MutableMatrixView& out = above ? upper : lower;
    expect_size("rows of half-widths", out.rows(), n);
    expect_size("columns of half-widths", out.columns(), scores.columns());
    transform_->inverses(scores, sides.side(above), out);
    for (std::size_t i = 0; i < n; ++i) {
      for (double& a : out.row(i)) {
        a = std::isnan(a) ? std::numeric_limits<double>::infinity() : to_residual(score_, a);
      }
    }
  }
}

void ConformalRule::intervals(const PredictionRows& rows, MatrixView scores, MutableMatrixView lower,
                              MutableMatrixView upper, const OutcomeSpace& space) const {
  check_rows(*this, rows);
  expect_size("rows of scores", scores.rows(), rows.predictions.size());
  const std::size_t k = scores.columns();
  check_bounds(rows, k, lower, upper, space);
  if (scores.rows() == 0 || k == 0) return;
  write_intervals(*this, rows, k, lower, upper, space,
                  [&](std::size_t first, std::size_t count) { return scores.slice(first, count); });
}

double ConformalRule::bound(double prediction, std::span<const double> parameters, double score, bool above) const {
  SideParameters sides(*this, {parameters.data(), 1, parameters.size()});
  sides.move_to(0, 1);
  double inverse = 0;
  transform_->inverses({&score, 1, 1}, sides.side(above), {&inverse, 1, 1});
  const double residual = to_residual(score_, inverse);
  const double end = std::numeric_limits<double>::infinity();
  // A comparison with NaN is false, so that a row without a prediction is not bounded.
  if (above) return prediction + residual < end ? prediction + residual : end;
  return prediction - residual > -end ? prediction - residual : -end;
}

void ConformalRule::calibrate(Calibration& calibration, const PredictionRows& rows, std::span<const double> outcomes,
                              RowNumbers numbers) const {
  const std::size_t n = rows.predictions.size();
  numbers.check(n, "calibrate");
  std::vector<double> values(n);
  scores(rows, outcomes, values);
  const auto above = std::make_unique_for_overwrite<bool[]>(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(values[i])) {
      throw internal::make_error(ErrorCode::kNotFinite,
                                 "calibrate: row {} has no score: outcome {}, prediction {}; drop such rows from the "
                                 "calibration and test sets, or impute them",
                                 i + 1, outcomes[i], rows.predictions[i]);
    }
    above[i] = outcomes[i] > rows.predictions[i];
  }
  calibration.add(numbers, values, {above.get(), n}, rows.test_weights, rows.groups);
}

// --- ConformalPredictor
// ------------------------------------------------------------------------------------------------------------

ConformalPredictor::ConformalPredictor(ConformalRule rule, Calibration calibration, const Guarantee& guarantee,
                                       std::uint64_t pool_below, const ClusterRule& clusters)
    : rule_(std::move(rule)),
      calibration_(std::move(calibration)),
      sorted_(calibration_, guarantee, pool_below, clusters) {}

void ConformalPredictor::check(const NewRows& rows) const {
  if (rows.count == 0) return;
  check_need(Role::kGroup, sorted_.needs_group(), !rows.groups.empty(), kWhere);
  if (!sorted_.needs_group() && !rows.groups.empty() && calibration_.rows_seen() > 0) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "ConformalPredictor: the rows to predict have groups, but the calibration has none; calibrate with groups, or "
        "predict without them");
  }
  check_need(Role::kWeight, sorted_.needs_test_weight(), !rows.test_weights.empty(), kWhere);
}

void ConformalPredictor::check(const PredictionRows& rows) const {
  check_rows(rule_, rows);
  check(NewRows{rows.predictions.size(), rows.groups, rows.test_weights});
}

MatrixView ConformalPredictor::score_quantiles(const NewRows& rows, std::span<const Level> levels,
                                               std::vector<double>& memory, WhenTooFew when_too_few) const {
  check(rows);
  const std::size_t k = levels.size();
  const bool shared = rows.groups.empty() && rows.test_weights.empty();
  const std::size_t different = shared ? std::min<std::size_t>(rows.count, 1) : rows.count;
  memory.resize(different * k);
  sorted_.quantiles(rows.groups, rows.test_weights, levels, {memory.data(), different, k}, when_too_few);
  return {memory.data(), rows.count, k, shared ? 0 : k};
}

void ConformalPredictor::intervals(const PredictionRows& rows, std::span<const Level> levels, MutableMatrixView lower,
                                   MutableMatrixView upper, const OutcomeSpace& space, WhenTooFew when_too_few) const {
  check(rows);
  check_bounds(rows, levels.size(), lower, upper, space);
  const std::size_t n = rows.predictions.size();
  const std::size_t k = levels.size();
  if (n == 0 || k == 0) return;

  std::vector<double> memory;
  const bool shared = rows.groups.empty() && rows.test_weights.empty();
  if (shared) {
    const MatrixView all = score_quantiles({.count = n}, levels, memory, when_too_few);
    write_intervals(rule_, rows, k, lower, upper, space,
                    [&](std::size_t first, std::size_t count) { return all.slice(first, count); });
    return;
  }
  write_intervals(rule_, rows, k, lower, upper, space, [&](std::size_t first, std::size_t count) {
    return score_quantiles(
        {.count = count,
         .groups = rows.groups.empty() ? rows.groups : rows.groups.subspan(first, count),
         .test_weights = rows.test_weights.empty() ? rows.test_weights : rows.test_weights.subspan(first, count)},
        levels, memory, when_too_few);
  });
}

Interval ConformalPredictor::interval(double prediction, std::span<const double> parameters, const Level& level,
                                      const OutcomeSpace& space, std::optional<std::int64_t> group,
                                      std::optional<double> test_weight) const {
  PredictionRows row{{&prediction, 1}, {parameters.data(), 1, parameters.size()}};
  if (group) row.groups = {&*group, 1};
  if (test_weight) row.test_weights = {&*test_weight, 1};
  check(row);
  space.check("ConformalPredictor");
  const double q = sorted_.quantile(level, group.value_or(0), test_weight);
  SideParameters sides(rule_, row.parameters);
  sides.move_to(0, 1);
  double inverse[2] = {0, 0};
  for (const bool above : {false, true}) {
    rule_.transform().inverses({&q, 1, 1, 0}, sides.side(above), {&inverse[above ? 1 : 0], 1, 1});
  }
  Interval result;
  write_bounds(rule_.score(), &prediction, &inverse[0], &inverse[1], 1, space, &result.lower, &result.upper);
  space.round({&result.lower, 1}, {&result.upper, 1});
  return result;
}

void ConformalPredictor::p_values(const PredictionRows& rows, std::span<const double> outcomes,
                                  std::span<double> out) const {
  check(rows);
  rule_.scores(rows, outcomes, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = sorted_.p_value(out[i], rows.groups.empty() ? 0 : rows.groups[i], test_weight_of(rows, i));
  }
}

void ConformalPredictor::quantiles(const PredictionRows& rows, std::span<const Level> probabilities,
                                   MutableMatrixView out, const OutcomeSpace& space) const {
  check(rows);
  space.check("ConformalPredictor");
  const std::size_t n = rows.predictions.size();
  if (out.rows() != n || out.columns() != probabilities.size()) {
    throw internal::make_error(ErrorCode::kShapeMismatch,
                               "ConformalPredictor: quantiles are {} x {}, expected {} rows x {} probabilities",
                               out.rows(), out.columns(), n, probabilities.size());
  }
  SideParameters sides(rule_, rows.parameters);
  for (std::size_t j = 0; j < probabilities.size(); ++j) {
    const bool upper = is_upper_quantile(probabilities[j]);
    const Level level = upper ? probabilities[j] : probabilities[j].complement();
    std::optional<SidedScore> shared;
    if (rows.groups.empty() && rows.test_weights.empty()) shared = sorted_.sided_quantile(level, upper);
    for (std::size_t i = 0; i < n; ++i) {
      const SidedScore place = shared ? *shared
                                      : sorted_.sided_quantile(level, upper, rows.groups.empty() ? 0 : rows.groups[i],
                                                               test_weight_of(rows, i));
      sides.move_to(i, 1);
      const MatrixView own = sides.side(place.above);
      if (place.above != upper) {
        out(i, j) = space.inside(crossing_bound(rule_, rows.predictions[i], own.row(0), place, space), upper);
        continue;
      }
      double a = 0;
      rule_.transform().inverses({&place.score, 1, 1, 0}, own, {&a, 1, 1});
      Interval bounds;
      write_bounds(rule_.score(), &rows.predictions[i], &a, &a, 1, space, &bounds.lower, &bounds.upper);
      out(i, j) = space.inside(upper ? bounds.upper : bounds.lower, upper);
    }
  }
}

}  // namespace widthwise
