#include <widthwise/objective.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/vector_math.hpp"
#include "objective/objectives.hpp"

namespace widthwise {

std::span<std::byte> Workspace::bytes(std::size_t slot, std::size_t n) {
  if (slot >= buffers_.size()) {
    buffers_.resize(slot + 1);
    sizes_.resize(slot + 1, 0);
  }
  if (sizes_[slot] < n) {
    buffers_[slot] = std::make_unique_for_overwrite<std::byte[]>(n);
    sizes_[slot] = n;
  }
  return {buffers_[slot].get(), n};
}

std::span<double> Workspace::numbers(std::size_t slot, std::size_t n) {
  // operator new[] aligns for every fundamental type.
  return {reinterpret_cast<double*>(bytes(slot, n * sizeof(double)).data()), n};
}

double Objective::evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                           MutableMatrixView hessian) const {
  Workspace workspace;
  return evaluate(rows, parameters, gradient, hessian, workspace, SingleWorker());
}

LevelWindow LevelWindow::around(std::span<const Level> levels) {
  const auto [minimum, maximum] = std::minmax_element(levels.begin(), levels.end());
  const auto near = [](double level) { return Level(std::round(level * 1e9) / 1e9); };
  const double low = minimum->value();
  const double high = maximum->value();
  constexpr double kReach = 0.1;
  constexpr double kShareOfTheWay = 0.9;
  // Extreme levels have no neighbours inside (0, 1).
  return {low < 1e-6 ? *minimum : near(low - std::min(kReach, kShareOfTheWay * low)),
          high > 1 - 1e-6 ? *maximum : near(high + std::min(kReach, kShareOfTheWay * (1 - high))), 0.4};
}

namespace {

void check_options(const Transform& transform, Score score, const WidthOptions& options) {
  if (transform.parameter_count() == 0) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "width objective: the transform {} has no parameters to train", transform.name());
  }
  if (score == Score::kLog && !transform.takes_negative_scores()) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "width objective: {} needs positive scores; use the squared or absolute score",
                               transform.name());
  }
  if (options.nodes == 0) {
    throw Error(ErrorCode::kInvalidArgument, "width objective: nodes must be at least 1");
  }
  internal::check_levels("width objective", options.evenness, options.level_window.value_or(LevelWindow::all()));
}

void check_evenness(const Transform& transform, Score score, const WidthOptions& options) {
  if (options.evenness == 0) return;
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "width objective: evenness needs a scale transform (exp, linear, sigma, erc) on the "
                             "squared or absolute score, found {} on {}",
                             transform.name(), name_of(score));
}

}  // namespace

std::unique_ptr<const Objective> make_width_objective(std::shared_ptr<const Transform> transform, Score score,
                                                      const WidthOptions& options) {
  check_options(*transform, score, options);
  const AffineForm* form = transform->affine_form();
  if (form != nullptr && !form->has_offset() && score != Score::kLog) {
    return internal::make_scale_objective(std::move(transform), score, options);
  }
  check_evenness(*transform, score, options);
  if (form != nullptr && form->has_offset() && score == Score::kAbsolute) {
    return internal::make_offset_objective(std::move(transform), options);
  }
  return internal::make_general_objective(std::move(transform), score, options, options.nodes);
}

std::unique_ptr<const Objective> make_pairwise_objective(std::shared_ptr<const Transform> transform, Score score,
                                                         const WidthOptions& options) {
  check_options(*transform, score, options);
  check_evenness(*transform, score, options);
  return internal::make_general_objective(std::move(transform), score, options, internal::kEveryRow);
}

namespace internal {

void check_levels(std::string_view what, double evenness, const LevelWindow& window) {
  if (!(evenness >= 0 && evenness <= 1)) {
    throw make_error(ErrorCode::kInvalidArgument, "{}: evenness must be in [0, 1], found {}", what, evenness);
  }
  if (window.upper < window.lower) {
    throw make_error(ErrorCode::kInvalidArgument, "{}: the level window ends at {}, before it begins at {}", what,
                     window.upper.to_string(), window.lower.to_string());
  }
  if (!(window.outside >= 0 && window.outside <= 1)) {
    throw make_error(ErrorCode::kInvalidArgument, "{}: the weight of levels outside the window is {}; expected 0 to 1",
                     what, window.outside);
  }
}

void check_shapes(std::size_t parameter_count, const ResidualRows& rows, MatrixView parameters,
                  MutableMatrixView gradient, MutableMatrixView hessian) {
  const std::size_t n = rows.residuals.size();
  const auto expect = [&](std::string_view what, MatrixView matrix) {
    if (matrix.rows() != n || matrix.columns() != parameter_count) {
      throw make_error(ErrorCode::kShapeMismatch, "objective: {} is {} x {}, expected {} x {}", what, matrix.rows(),
                       matrix.columns(), n, parameter_count);
    }
    if (!matrix.contiguous()) {
      throw make_error(ErrorCode::kShapeMismatch, "objective: {} is not contiguous", what);
    }
  };
  expect("the parameter matrix", parameters);
  if (!gradient.empty()) expect("the gradient", gradient);
  if (!hessian.empty()) expect("the hessian", hessian);
  if (!rows.weights.empty() && rows.weights.size() != n) {
    throw make_error(ErrorCode::kShapeMismatch, "objective: {} residuals but {} weights", n, rows.weights.size());
  }
  // A finite loss would not reveal a negative weight.
  const auto good = [](double weight) { return weight >= 0 && weight <= std::numeric_limits<double>::max(); };
  if (!std::all_of(rows.weights.begin(), rows.weights.end(), good)) explain_bad_input(rows, parameters);
}

void explain_bad_input(const ResidualRows& rows, MatrixView parameters) {
  for (std::size_t i = 0; i < rows.residuals.size(); ++i) {
    const std::string row = fmt::format("objective: row {}: ", i + 1);
    if (!std::isfinite(rows.residuals[i])) {
      throw make_error(ErrorCode::kNotFinite, "{}the residual is {}", row, rows.residuals[i]);
    }
    if (!rows.weights.empty() && !(rows.weights[i] >= 0 && std::isfinite(rows.weights[i]))) {
      throw make_error(ErrorCode::kInvalidArgument, "{}the weight is {}, expected a finite number >= 0", row,
                       rows.weights[i]);
    }
    for (std::size_t j = 0; j < parameters.columns(); ++j) {
      if (!std::isfinite(parameters(i, j))) {
        throw make_error(ErrorCode::kNotFinite, "{}parameter {} is {}", row, j, parameters(i, j));
      }
    }
  }
}

void require_finite(double loss, const ResidualRows& rows, MatrixView parameters) {
  // The clipped exponential turns an infinite parameter into a huge loss.
  if (std::abs(loss) < kExponentBound / 2) return;
  explain_bad_input(rows, parameters);
  if (std::isfinite(loss)) return;
  throw Error(ErrorCode::kNotFinite,
              "objective: the loss is not finite: a row of another worker is not finite, all weights are zero, or "
              "parameters exceed e^300");
}

void fill(MutableMatrixView matrix, double value) {
  std::fill_n(matrix.data(), matrix.rows() * matrix.columns(), value);
}

double total_of(std::span<const double> weights, std::size_t n) {
  if (weights.empty()) return static_cast<double>(n);
  LaneSum sum;
  sum.add(weights.data(), n);
  return sum.total();
}

}  // namespace internal
}  // namespace widthwise
