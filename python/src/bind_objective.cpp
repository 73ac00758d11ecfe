#include <algorithm>
#include <mutex>

#include "conformal/transform/spline.hpp"
#include "objective.hpp"

namespace widthwise::python {
namespace {

ScoreOptions score_options_of(const OptionValues& values) {
  FitOptions options;
  FitOptions::table().set(options, values);
  return {options.score, {.gamma = options.gamma, .epsilon = options.epsilon}};
}

using FloatsOut = nb::ndarray<nb::numpy, float, nb::ndim<2>>;

/// Sums over workers with a Python function that takes an array and returns the sum of the arrays of all workers.
class PythonReducer final : public Reducer {
 public:
  PythonReducer(const nb::object& sum, std::size_t rank, std::size_t workers)
      : sum_(sum), rank_(rank), workers_(workers) {}

  void sum(std::span<double> values) const override {
    const nb::gil_scoped_acquire acquire;
    auto copy = room_for(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    const nb::object total = sum_(give<Vector>(std::move(copy), {values.size()}));
    const auto numbers = nb::cast<Doubles>(total);
    if (numbers.size() != values.size()) throw Error(ErrorCode::kShapeMismatch, "sum over workers: the length changed");
    std::copy_n(numbers.data(), values.size(), values.begin());
  }
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t workers() const override { return workers_; }

 private:
  const nb::object& sum_;
  std::size_t rank_;
  std::size_t workers_;
};

/// Loss, gradient and diagonal Hessian (n x P each, or empty if not requested).
std::tuple<double, Matrix, Matrix> evaluate(const WidthObjective& self, const Doubles& residuals,
                                            const DoubleMatrix& parameters, const std::optional<Doubles>& weights,
                                            bool with_gradient, bool with_hessian) {
  const std::size_t n = parameters.shape(0);
  const std::size_t p = parameters.shape(1);
  const std::size_t gradient_rows = with_gradient ? n : 0;
  const std::size_t hessian_rows = with_hessian ? n : 0;
  auto gradient = room_for(gradient_rows * p);
  auto hessian = room_for(hessian_rows * p);
  double loss = 0;
  {
    const nb::gil_scoped_release release;
    loss =
        self.resolved.objective->evaluate({span_of(residuals), span_of(weights)}, view_of(parameters),
                                          with_gradient ? MutableMatrixView(gradient.get(), n, p) : MutableMatrixView(),
                                          with_hessian ? MutableMatrixView(hessian.get(), n, p) : MutableMatrixView());
  }
  return {loss, give<Matrix>(std::move(gradient), {gradient_rows, p}),
          give<Matrix>(std::move(hessian), {hessian_rows, p})};
}

/// One round of XGBoost: loss, unit, gradient and Hessian (n x P, empty if not requested).
std::tuple<double, double, FloatsOut, FloatsOut> boost(const WidthObjective& self, const Floats& labels,
                                                       const Floats& weights, const Floats& outputs,
                                                       std::optional<double> unit, bool derivatives,
                                                       const nb::object& sum, std::size_t rank, std::size_t workers) {
  const PythonReducer others(sum, rank, workers);
  const SingleWorker alone;
  const Reducer& reducer = workers > 1 ? static_cast<const Reducer&>(others) : alone;
  const std::size_t count = derivatives ? outputs.size() : 0;
  auto gradient = std::make_unique_for_overwrite<float[]>(count);
  auto hessian = std::make_unique_for_overwrite<float[]>(count);
  Boosting::Result result;
  {
    const nb::gil_scoped_release release;
    const Boosting::Round round{span_of(labels), span_of(weights), span_of(outputs), unit};
    // Threads that share the objective do not wait for its memory: others may hold the lock until this one has summed.
    Boosting temporary;
    const std::unique_lock lock(*self.boosting_mutex, std::try_to_lock);
    result = (lock ? *self.boosting : temporary)
                 .evaluate(*self.resolved.objective, round, reducer, {gradient.get(), count}, {hessian.get(), count});
  }
  const std::size_t n = derivatives ? labels.size() : 0;
  const std::size_t p = self.resolved.objective->parameter_count();
  return {result.loss, result.unit, give<FloatsOut>(std::move(gradient), {n, p}),
          give<FloatsOut>(std::move(hessian), {n, p})};
}

Vector scores(const WidthObjective& self, const Doubles& residuals, const DoubleMatrix& parameters) {
  auto out = room_for(residuals.size());
  {
    const nb::gil_scoped_release release;
    const std::vector<double> zeros(residuals.size());
    self.resolved.rule.scores({zeros, view_of(parameters)}, span_of(residuals), {out.get(), residuals.size()});
  }
  return give<Vector>(std::move(out), {residuals.size()});
}

std::pair<Matrix, Matrix> half_widths(const WidthObjective& self, const DoubleMatrix& scores,
                                      const DoubleMatrix& parameters) {
  const std::size_t n = scores.shape(0);
  const std::size_t m = scores.shape(1);
  auto lower = room_for(n * m);
  auto upper = room_for(n * m);
  {
    const nb::gil_scoped_release release;
    self.resolved.rule.half_widths(view_of(scores), view_of(parameters), {lower.get(), n, m}, {upper.get(), n, m});
  }
  return {give<Matrix>(std::move(lower), {n, m}), give<Matrix>(std::move(upper), {n, m})};
}

}  // namespace

WidthObjective::WidthObjective(const std::string& goal, const std::string& transform, bool two_sided,
                               const std::optional<std::tuple<double, double, double>>& level_window,
                               const OptionValues& score_options)
    : resolved(resolve_goal(goal.empty() ? std::nullopt : std::optional(Goal::parse(goal)), transform,
                            two_sided ? Sides::kTwo : Sides::kOne, level_window_of(level_window),
                            score_options_of(score_options))) {
  if (resolved.objective != nullptr) return;
  throw Error(ErrorCode::kInvalidArgument, "the transform identity has no parameters to train");
}

/// What a graph needs to take the shortest intervals of the transform shortest.
nb::dict shortest_intervals() {
  nb::list ends;
  nb::list lengths;
  for (std::size_t k = 0; k < internal::kSplineSegments; ++k) {
    ends.append(internal::kSplineEnds[k]);
    lengths.append(internal::kSplineEnds[k] - internal::kSplineKnots[k]);
  }
  nb::list lower;
  nb::list upper;
  nb::list handicaps;
  for (const internal::TailShare& share : internal::tail_shares()) {
    lower.append(share.lower);
    upper.append(share.upper);
    handicaps.append(share.handicap);
  }
  nb::dict about;
  about["ends"] = ends;
  about["lengths"] = lengths;
  about["lower"] = lower;
  about["upper"] = upper;
  about["handicaps"] = handicaps;
  about["least_growth"] = internal::kLeastGrowth;
  return about;
}

void bind_objective(nb::module_& module) {
  nb::class_<WidthObjective>(module, "WidthObjective")
      .def(nb::init<const std::string&, const std::string&, bool,
                    const std::optional<std::tuple<double, double, double>>&, const OptionValues&>(),
           nb::arg("goal"), nb::arg("transform"), nb::arg("two_sided"), nb::arg("level_window").none(),
           nb::arg("score_options") = OptionValues())
      .def_prop_ro("parameter_count",
                   [](const WidthObjective& self) { return self.resolved.objective->parameter_count(); })
      .def_prop_ro("transform",
                   [](const WidthObjective& self) { return std::string(self.resolved.rule.transform().name()); })
      .def_prop_ro("goal", [](const WidthObjective& self) { return self.resolved.goal.to_string(); })
      .def("scores", &scores, nb::arg("residuals"), nb::arg("parameters"))
      .def("half_widths", &half_widths, nb::arg("scores"), nb::arg("parameters"))
      .def("evaluate", &evaluate, nb::arg("residuals"), nb::arg("parameters"), nb::arg("weights").none(),
           nb::arg("with_gradient"), nb::arg("with_hessian"))
      .def("boost", &boost, nb::arg("labels"), nb::arg("weights"), nb::arg("outputs"), nb::arg("unit").none(),
           nb::arg("derivatives"), nb::arg("sum"), nb::arg("rank"), nb::arg("workers"));
  module.def("spline_basis", &internal::spline_basis, nb::arg("b"));
  module.def("shortest_intervals", &shortest_intervals);
  module.def("unit_near", &unit_near, nb::arg("typical_residual"));
}

}  // namespace widthwise::python
