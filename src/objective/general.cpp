#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "objective/gather.hpp"
#include "objective/level_window.hpp"
#include "objective/objectives.hpp"

namespace widthwise::internal {
namespace {

/// The loss for any transform, from its derivatives: the log of the mean of D_m(t_j) over rows m and nodes t_j, which
/// are the means of B over equal ranges of ranks. With one node per row it is the paper's l_all.
class GeneralObjective final : public Objective {
 public:
  GeneralObjective(std::shared_ptr<const Transform> transform, Score score, const WidthOptions& options,
                   std::size_t nodes)
      : transform_(std::move(transform)), score_(score), options_(options), nodes_(nodes) {}

  [[nodiscard]] std::size_t parameter_count() const override { return sides() * transform_->parameter_count(); }

  using Objective::evaluate;
  double evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                  MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const override;

 private:
  struct Node {
    double value = 0;   // mean of B
    double weight = 0;  // of the rows of this node
    double pull = 0;    // d width / d value
    double pull_curvature = 0;
  };

  [[nodiscard]] std::size_t sides() const { return options_.sides == Sides::kTwo ? 2 : 1; }

  /// The rows of one evaluation, one number each.
  struct State {
    const ResidualRows& rows;
    MatrixView parameters;  // one row per entry
    std::vector<double> scores;
    std::vector<double> values;         // B
    std::vector<double> level_weights;  // of the rows as levels
    std::vector<std::size_t> node_of;
    std::vector<Node> nodes;
  };

  [[nodiscard]] State make_state(const ResidualRows& rows, MatrixView parameters, Workspace& workspace) const;

  /// Put rows into nodes by rank.
  void make_nodes(State& state) const;

  /// Return the weighted sum of widths over entries and nodes. Adds the derivatives of the sum in the parameters of the
  /// entries to the matrices that are not empty, and its derivatives in the values of the nodes to the nodes.
  double sum_widths(State& state, MutableMatrixView gradient, MutableMatrixView hessian) const;

  /// Add the derivatives through the values of the nodes.
  void add_pulls(const State& state, MutableMatrixView gradient, MutableMatrixView hessian) const;

  std::shared_ptr<const Transform> transform_;
  Score score_;
  WidthOptions options_;
  std::size_t nodes_;
};

GeneralObjective::State GeneralObjective::make_state(const ResidualRows& rows, MatrixView parameters,
                                                     Workspace& workspace) const {
  const std::size_t n = rows.residuals.size();
  State state{.rows = rows,
              .parameters = {parameters.data(), n * sides(), transform_->parameter_count()},
              .scores = std::vector<double>(n),
              .values = std::vector<double>(n),
              .level_weights = std::vector<double>(n, 1.0),
              .node_of = std::vector<std::size_t>(n),
              .nodes = {}};
  for (std::size_t i = 0; i < n; ++i) {
    state.scores[i] = to_score(score_, std::abs(rows.residuals[i]));
    state.values[i] = transform_->value(state.scores[i], state.parameters.row(own_entry(rows, sides(), i)));
  }
  if (options_.level_window) {
    const WindowEnds ends = window_ends(*options_.level_window, state.values, rows.weights, workspace);
    weigh_window(ends, state.values, rows.weights, state.level_weights);
  } else if (!rows.weights.empty()) {
    state.level_weights.assign(rows.weights.begin(), rows.weights.end());
  }
  make_nodes(state);
  return state;
}

void GeneralObjective::make_nodes(State& state) const {
  const std::vector<double>& values = state.values;
  const std::vector<double>& weights = state.level_weights;
  const std::size_t n = values.size();
  std::vector<Node> nodes(std::min(nodes_, n));
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t node = nodes.size() == n ? i : i * nodes.size() / n;
    const std::size_t row = order[i];
    state.node_of[row] = node;
    // Exclude the log of a residual of 0 from the mean; its interval is empty at every level.
    if (weights[row] == 0 || std::isinf(values[row])) continue;
    nodes[node].value += weights[row] * values[row];
    nodes[node].weight += weights[row];
  }
  for (Node& node : nodes) {
    if (node.weight > 0) node.value /= node.weight;
  }
  state.nodes = std::move(nodes);
}

/// One inverse per pair of entry and node. The curvature is that of log D, Gauss-Newton: D (d log D)^2 where D is not
/// tiny. For scale transforms it is the diagonal of the fast objective.
double GeneralObjective::sum_widths(State& state, MutableMatrixView gradient, MutableMatrixView hessian) const {
  const ResidualRows& rows = state.rows;
  double mean_residual = 0;
  for (const double r : rows.residuals) mean_residual += std::abs(r) / static_cast<double>(rows.residuals.size());
  const double tiny = 0.05 * mean_residual;
  const std::size_t count = transform_->parameter_count();
  const std::size_t k = state.nodes.size();
  const bool derivatives = !gradient.empty();
  std::vector<double> levels(k);
  std::transform(state.nodes.begin(), state.nodes.end(), levels.begin(), [](const Node& node) { return node.value; });
  std::vector<double> scores(k);
  std::vector<double> d_scores(derivatives ? k : 0);
  std::vector<double> d_parameters(derivatives ? k * count : 0);
  const RowInverses inverses{scores, d_scores, {d_parameters.data(), derivatives ? k : 0, count}};
  const double share = 1 / static_cast<double>(sides());
  double width = 0;
  for (std::size_t entry = 0; entry < state.parameters.rows(); ++entry) {
    const double entry_weight = share * weight_of(rows, entry / sides());
    if (entry_weight == 0) continue;
    transform_->row_inverses(levels, state.parameters.row(entry), inverses);
    double* const gradient_of_entry = derivatives ? gradient.data() + entry * count : nullptr;
    double* const hessian_of_entry = hessian.empty() ? nullptr : hessian.data() + entry * count;
    for (std::size_t node = 0; node < k; ++node) {
      const double half_width = to_residual(score_, scores[node]);
      const double factor = entry_weight * state.nodes[node].weight;
      if (factor == 0) continue;
      width += factor * half_width;
      const double to_width = to_residual_derivative(score_, scores[node]);
      if (!derivatives || to_width == 0) continue;
      const double through_value = to_width / d_scores[node];
      const double per_width = factor / std::max(half_width, tiny);
      state.nodes[node].pull += factor * through_value;
      state.nodes[node].pull_curvature += per_width * through_value * through_value;
      for (std::size_t j = 0; j < count; ++j) {
        const double slope = -through_value * d_parameters[node * count + j];
        gradient_of_entry[j] += factor * slope;
        if (hessian_of_entry != nullptr) hessian_of_entry[j] += per_width * slope * slope;
      }
    }
  }
  return width;
}

void GeneralObjective::add_pulls(const State& state, MutableMatrixView gradient, MutableMatrixView hessian) const {
  const std::size_t count = transform_->parameter_count();
  std::vector<double> slopes(count);
  for (std::size_t i = 0; i < state.values.size(); ++i) {
    const Node& node = state.nodes[state.node_of[i]];
    if (state.level_weights[i] == 0 || std::isinf(state.values[i])) continue;
    const double part = state.level_weights[i] / node.weight;
    const std::size_t own = own_entry(state.rows, sides(), i);
    transform_->d_parameters(state.scores[i], state.parameters.row(own), slopes);
    for (std::size_t j = 0; j < count; ++j) {
      gradient.data()[own * count + j] += part * node.pull * slopes[j];
      if (!hessian.empty()) hessian.data()[own * count + j] += part * node.pull_curvature * slopes[j] * slopes[j];
    }
  }
}

double GeneralObjective::evaluate(const ResidualRows& rows, MatrixView parameters, MutableMatrixView gradient,
                                  MutableMatrixView hessian, Workspace& workspace, const Reducer& reducer) const {
  check_shapes(parameter_count(), rows, parameters, gradient, hessian);
  if (reducer.workers() > 1) {
    return evaluate_gathered(*this, rows, parameters, gradient, hessian, workspace, reducer);
  }
  explain_bad_input(rows, parameters);
  State state = make_state(rows, parameters, workspace);
  const std::size_t n = rows.residuals.size();
  double total_weight = 0;
  double total_level_weight = 0;
  for (std::size_t i = 0; i < n; ++i) {
    total_weight += weight_of(rows, i);
    total_level_weight += state.level_weights[i];
  }

  // Derivatives are those of the sum of widths, divided by it at the end.
  if (!gradient.empty()) fill(gradient, 0);
  if (!hessian.empty()) fill(hessian, 0);
  const double width = sum_widths(state, gradient, hessian);
  if (!gradient.empty()) add_pulls(state, gradient, hessian);

  const double curvature_unit = 1 / static_cast<double>(n);
  if (width == 0) {
    if (!hessian.empty()) fill(hessian, curvature_unit);
    return -std::numeric_limits<double>::infinity();
  }
  for (double& x : std::span(gradient.data(), gradient.rows() * gradient.columns())) x /= width;
  for (double& x : std::span(hessian.data(), hessian.rows() * hessian.columns())) {
    x = std::max(x / width, kMinCurvature * curvature_unit);
  }
  const double loss = std::log(width) - std::log(total_weight) - std::log(total_level_weight);
  require_finite(loss, rows, parameters);
  return loss;
}

}  // namespace

std::unique_ptr<const Objective> make_general_objective(std::shared_ptr<const Transform> transform, Score score,
                                                        const WidthOptions& options, std::size_t nodes) {
  return std::make_unique<GeneralObjective>(std::move(transform), score, options, nodes);
}

}  // namespace widthwise::internal
