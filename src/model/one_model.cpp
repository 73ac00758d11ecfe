#include "model/one_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/scratch.hpp"
#include "base/vector_math.hpp"
#include "model/counts.hpp"
#include "model/quantile_pairs.hpp"

namespace widthwise::internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kStackFeatures = 512;
constexpr std::size_t kStackParameters = 64;

/// How many numbers of x are copied at a time, so that they stay in the cache of a core.
constexpr std::size_t kBlockNumbers = std::size_t{1} << 15U;

/// How many quantiles of rows are stored at a time, if rows do not share them.
constexpr std::size_t kPartNumbers = std::size_t{1} << 16U;

std::size_t outputs_of(const ModelParts& parts) {
  if (parts.base != nullptr) return parts.base->outputs();
  return parts.upper_prediction.empty() ? 1 : 2;
}

std::vector<std::string> columns_of(const ModelParts& parts) {
  if (parts.base != nullptr) return {};
  if (parts.upper_prediction.empty()) return {parts.prediction};
  return {parts.prediction, parts.upper_prediction};
}

/// f(x) in units; NaN, which gives an infinite interval, if it is not finite.
[[gnu::always_inline]] inline double in_units(double prediction, double unit) {
  const double scaled = prediction / unit;
  return std::abs(scaled) <= std::numeric_limits<double>::max() ? scaled : kNaN;
}

WIDTHWISE_VECTORISED void scale_to_units(const double* predictions, std::size_t n, double unit, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = in_units(predictions[i], unit);
}

/// Convert bounds in units to bounds clipped to the range. Bounds beyond the largest double become infinite.
WIDTHWISE_VECTORISED void clip_from_units(double* lower, double* upper, std::size_t n, double unit,
                                          const OutcomeSpace& space) {
  const double low = space.low;  // copies, which the bounds cannot overwrite
  const double high = space.high;
  for (std::size_t i = 0; i < n; ++i) {
    lower[i] = std::min(std::max(lower[i] * unit, low), high);
    upper[i] = std::max(std::min(upper[i] * unit, high), low);
  }
}

/// Some of the values, if there are any.
template <class T>
std::span<const T> part_of(std::span<const T> values, std::size_t first, std::size_t count) {
  return values.empty() ? values : values.subspan(first, count);
}

}  // namespace

void check_one_model(const ModelParts& parts) {
  const std::size_t features = parts.features.size();
  if (parts.base != nullptr) {
    expect_count("inputs of the base model, one per feature", parts.base->inputs(), features);
    if (parts.base->outputs() != 2) expect_count("output of the base model", parts.base->outputs(), 1);
  }
  const std::size_t predicted = outputs_of(parts);
  const std::size_t parameters = parts.rule.parameter_count();
  if ((parts.localizer == nullptr) != (parameters == 0)) {
    refuse_model(ErrorCode::kInvalidArgument,
                 parameters == 0 ? "found a localizer, but the rule has no parameters"
                                 : fmt::format("the rule has {} parameters; expected a localizer", parameters));
  }
  if (parts.localizer != nullptr) {
    expect_count("inputs of the localizer, the features and the prediction", parts.localizer->inputs(),
                 features + predicted);
    expect_count("outputs of the localizer, the parameters of the rule", parts.localizer->outputs(), parameters);
  }
}

/// A block of rows, prepared for the rule.
struct OneModel::Block {
  std::size_t first;
  std::span<const double> predictions;  // unscaled
  PredictionRows rows;                  // in units; without weights
};

OneModel::OneModel(const ModelParts& parts, const ClusterRule& clusters)
    : RowPredictor(columns_of(parts)),
      features_(parts.features.size()),
      outputs_(outputs_of(parts)),
      base_(parts.base),
      localizer_(parts.localizer),
      weights_(parts.shift),
      unit_(parts.unit),
      space_(parts.outcome_space),
      predictor_(parts.rule, parts.calibration, parts.guarantee, parts.pool_groups, clusters) {}

void OneModel::to_units(std::span<double> predictions) const {
  scale_to_units(predictions.data(), predictions.size(), unit_, predictions.data());
}

void OneModel::from_units(std::span<double> lower, std::span<double> upper) const {
  clip_from_units(lower.data(), upper.data(), lower.size(), unit_, space_);
  space_.round(lower, upper);
}

template <class Use>
void OneModel::for_each_block(const Rows& rows, const Use& use) const {
  const std::size_t n = rows.x.rows();
  const std::size_t wide_columns = features_ + outputs_;
  const std::size_t columns = predictor_.rule().parameter_count();
  const std::size_t block = std::min(n, std::clamp<std::size_t>(kBlockNumbers / wide_columns, 16, kBlock));
  std::vector<double> own(base_ == nullptr ? 0 : block * outputs_);
  std::vector<double> centres(outputs_ == 2 ? block : 0);
  std::vector<double> halves(centres.size());
  std::vector<double> scaled(block);
  std::vector<double> wide(columns == 0 ? 0 : block * wide_columns);
  std::vector<double> parameters(block * columns);
  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t count = std::min(block, n - first);
    const MatrixView x = rows.x.slice(first, count);
    std::span<const double> f;
    if (base_ == nullptr) {
      f = rows.predictions.subspan(first * outputs_, count * outputs_);
    } else {
      base_->evaluate(x, {own.data(), count, outputs_});
      f = {own.data(), count * outputs_};
    }
    if (outputs_ == 2) {
      split_pairs(f, centres, halves);
      f = {centres.data(), count};
    }
    scale_to_units(f.data(), count, unit_, scaled.data());
    if (columns != 0) {
      for (std::size_t i = 0; i < count; ++i) {
        std::ranges::copy(x.row(i), wide.data() + i * wide_columns);
        if (outputs_ == 2) wide[i * wide_columns + features_] = halves[i];
        wide[(i + 1) * wide_columns - 1] = f[i];
      }
      localizer_->evaluate({wide.data(), count, wide_columns}, {parameters.data(), count, columns});
    }
    use(Block{first, f,
              PredictionRows{.predictions = {scaled.data(), count},
                             .parameters = {parameters.data(), count, columns},
                             .groups = part_of(rows.groups, first, count)}});
  }
}

template <class Use>
void OneModel::for_each_outcome_block(const Rows& rows, std::span<const double> outcomes, const Use& use) const {
  std::array<double, kBlock> y;
  for_each_block(rows, [&](const Block& block) {
    const std::size_t count = block.predictions.size();
    for (std::size_t i = 0; i < count; ++i) y[i] = outcomes[block.first + i] / unit_;
    use(block, std::span<const double>(y.data(), count));
  });
}

void OneModel::predictions(const Rows& rows, std::span<double> out) const {
  std::vector<double> own;
  std::span<const double> found = rows.predictions;
  if (base_ != nullptr && outputs_ == 1) {
    base_->evaluate(rows.x, {out.data(), out.size(), 1});
    return;
  }
  if (base_ != nullptr) {
    own.resize(outputs_ * out.size());
    base_->evaluate(rows.x, {own.data(), out.size(), outputs_});
    found = own;
  }
  if (outputs_ == 1) {
    std::ranges::copy(found, out.begin());
    return;
  }
  std::vector<double> halves(out.size());
  split_pairs(found, out, halves);
}

/// Part by part, so that quantiles are computed once for many rows and their memory is bounded.
void OneModel::intervals(const Rows& rows, std::span<const Level> levels, std::span<double> predictions,
                         MutableMatrixView lower, MutableMatrixView upper) const {
  const std::size_t n = rows.x.rows();
  const std::size_t k = levels.size();
  std::vector<double> learnt;
  std::vector<double> memory;
  const std::size_t part = std::max<std::size_t>(kPartNumbers / std::max<std::size_t>(k, 1), 1);
  for (std::size_t first = 0; first < n; first += part) {
    const std::size_t count = std::min(part, n - first);
    const NewRows some{.count = count,
                       .groups = part_of(rows.groups, first, count),
                       .test_weights = weights_.of(rows, first, count, learnt)};
    intervals_at(rows.slice(first, count), predictor_.score_quantiles(some, levels, memory),
                 predictions.subspan(first, count), lower.slice(first, count), upper.slice(first, count));
  }
}

void OneModel::intervals_at(const Rows& rows, MatrixView scores, std::span<double> predictions, MutableMatrixView lower,
                            MutableMatrixView upper) const {
  const std::size_t k = lower.columns();
  const bool direct = lower.contiguous() && upper.contiguous();
  std::vector<double> memory;
  for_each_block(rows, [&](const Block& block) {
    const std::size_t count = block.predictions.size();
    std::ranges::copy(block.predictions, predictions.begin() + static_cast<std::ptrdiff_t>(block.first));
    MutableMatrixView low = lower.slice(block.first, count);
    MutableMatrixView high = upper.slice(block.first, count);
    if (!direct) {
      memory.resize(std::max(memory.size(), 2 * count * k));
      low = {memory.data(), count, k};
      high = {memory.data() + count * k, count, k};
    }
    predictor_.rule().intervals(block.rows, scores.slice(block.first, count), low, high);
    from_units({low.data(), count * k}, {high.data(), count * k});
    if (direct) return;
    copy_rows(low, lower.slice(block.first, count));
    copy_rows(high, upper.slice(block.first, count));
  });
}

PredictedInterval OneModel::predict(std::span<const double> x, const Level& level, std::span<const double> given,
                                    std::optional<std::int64_t> group, std::optional<double> weight) const {
  std::array<double, 2> numbers{kNaN, kNaN};
  if (base_ == nullptr) {
    std::ranges::copy(given, numbers.begin());
  } else {
    base_->evaluate({x.data(), 1, features_}, {numbers.data(), 1, outputs_});
  }
  double f = numbers[0];
  double half = kNaN;
  if (outputs_ == 2) split_pairs(numbers, {&f, 1}, {&half, 1});

  const std::size_t columns = predictor_.rule().parameter_count();
  const Scratch<double, kStackParameters> parameters(columns);
  if (columns != 0) {
    const Scratch<double, kStackFeatures + 2> wide(features_ + outputs_);
    std::ranges::copy(x, wide.data());
    if (outputs_ == 2) wide[features_] = half;
    wide[features_ + outputs_ - 1] = f;
    localizer_->evaluate({wide.data(), 1, features_ + outputs_}, {parameters.data(), 1, columns});
  }
  const Interval interval =
      predictor_.interval(in_units(f, unit_), parameters.span(), level, {}, group, weights_.of_row(x, weight));
  const auto [lower, upper] = space_.inside(Interval{interval.lower * unit_, interval.upper * unit_});
  return {f, lower, upper};
}

void OneModel::p_values(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const {
  std::vector<double> learnt;
  for_each_outcome_block(rows, outcomes, [&](const Block& block, std::span<const double> y) {
    PredictionRows some = block.rows;
    some.test_weights = weights_.of(rows, block.first, y.size(), learnt);
    predictor_.p_values(some, y, out.subspan(block.first, y.size()));
  });
}

void OneModel::quantiles(const Rows& rows, std::span<const Level> probabilities, MutableMatrixView out) const {
  std::vector<double> learnt;
  for_each_block(rows, [&](const Block& block) {
    const MutableMatrixView part = out.slice(block.first, block.predictions.size());
    PredictionRows some = block.rows;
    some.test_weights = weights_.of(rows, block.first, part.rows(), learnt);
    predictor_.quantiles(some, probabilities, part);
    for (std::size_t j = 0; j < probabilities.size(); ++j) {
      const bool upper = is_upper_quantile(probabilities[j]);
      for (std::size_t i = 0; i < part.rows(); ++i) part(i, j) = space_.inside(part(i, j) * unit_, upper);
    }
  });
}

void OneModel::parameters(const Rows& rows, std::span<double> predictions, MutableMatrixView out) const {
  for_each_block(rows, [&](const Block& block) {
    std::ranges::copy(block.predictions, predictions.begin() + static_cast<std::ptrdiff_t>(block.first));
    if (out.columns() == 0) return;
    for (std::size_t i = 0; i < block.predictions.size(); ++i) {
      std::ranges::copy(block.rows.parameters.row(i), out.row(block.first + i).begin());
    }
  });
}

void OneModel::scores(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const {
  for_each_outcome_block(rows, outcomes, [&](const Block& block, std::span<const double> y) {
    predictor_.rule().scores(block.rows, y, out.subspan(block.first, y.size()));
  });
}

void OneModel::score_rows(const Rows& rows, std::span<const double> outcomes, const ScoredRows& out) const {
  for_each_outcome_block(rows, outcomes, [&](const Block& block, std::span<const double> y) {
    for (std::size_t i = 0; i < y.size(); ++i) out.above[block.first + i] = y[i] > block.rows.predictions[i];
    if (!out.predictions.empty()) {
      std::ranges::copy(block.predictions, out.predictions.begin() + static_cast<std::ptrdiff_t>(block.first));
    }
    const std::span<double> found = out.scores.subspan(block.first, y.size());
    predictor_.rule().scores(block.rows, y, found);
    const auto missing = std::ranges::find_if(found, [](double score) { return std::isnan(score); });
    if (missing == found.end()) return;
    const auto i = static_cast<std::size_t>(missing - found.begin());
    throw make_error(ErrorCode::kNotFinite,
                     "calibrate: {} has no score: outcome {}, prediction {}; drop such rows from the "
                     "calibration and test sets, or impute them",
                     rows.name_of_row(block.first + i), outcomes[block.first + i], block.predictions[i]);
  });
}

}  // namespace widthwise::internal
