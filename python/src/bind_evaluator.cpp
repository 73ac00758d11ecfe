#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <widthwise/evaluator.hpp>
#include <widthwise/model.hpp>
#include <widthwise/report.hpp>
#include <widthwise/train/registry.hpp>

#include "bindings.hpp"
#include "figures.hpp"
#include "rows.hpp"

namespace widthwise::python {

namespace {

/// Name, values and labels of a column to test coverage by; no labels for numbers.
using ByColumn = std::tuple<std::string, Doubles, std::vector<std::string>>;

/// Goal, score transform, mean width, that of the finite intervals, coverage and worst slab (share, low, high) on the
/// hold-out of `fit`.
using Slab = std::tuple<double, double, double>;
using HoldoutGoal = std::tuple<std::string, std::string, double, double, double, std::optional<Slab>>;
using HoldoutGoals = std::tuple<std::vector<HoldoutGoal>, double, std::string>;

PageFit page_fit(const std::vector<HoldoutGoal>& goals, double base_error, const std::string& summary) {
  PageFit fit{.goals = {}, .base_error = base_error, .summary = summary};
  for (const auto& [goal, transform, mean_width, finite_mean_width, coverage, slab] : goals) {
    fit.goals.push_back({.goal = goal,
                         .score_transform = transform,
                         .mean_width = mean_width,
                         .finite_mean_width = finite_mean_width,
                         .coverage = coverage});
    if (!slab) continue;
    const auto [share, low, high] = *slab;
    fit.goals.back().worst_slab = Proportion{.share = share, .low = low, .high = high};
  }
  return fit;
}

/// The trainer for ERT, from the file of XGBoost's library, empty to search for it; none if it is not requested.
std::shared_ptr<const LocalizerTrainer> classifier_of(const std::optional<std::string>& library) {
  return library ? make_classifier_trainer({.xgboost = *library}) : nullptr;
}

/// An evaluator of the rows of tables. Thread safety: none; Python's lock is held between parts only.
class TableEvaluator {
 public:
  TableEvaluator(const Model& model, const std::vector<double>& levels, const std::vector<double>& counted_levels,
                 const std::optional<double>& false_alarm_rate, const std::optional<std::string>& classifier,
                 bool by_column)
      : features_(model.parts().features),
        evaluator_(model, options(levels, counted_levels, false_alarm_rate, classifier, by_column)) {}

  TableEvaluator(IntervalOrigin origin, const std::vector<double>& levels, const std::optional<std::string>& classifier)
      : features_(origin.features), evaluator_(std::move(origin), options(levels, {}, {}, classifier, false)) {}

  void add(const GivenRows& rows) {
    const std::span<const double> outcomes = rows.y();
    rows_of(rows).for_each_part([&](const widthwise::Rows& part, std::size_t first) {
      evaluator_.add(part, outcomes.subspan(first, part.x.rows()));
    });
    add_unknown(rows.table);
  }

  void add_intervals(const DoubleCube& intervals, const Doubles& outcomes, const Table* table,
                     const std::optional<Doubles>& predictions) {
    const nb::gil_scoped_release release;
    const std::size_t n = intervals.shape(0);
    const std::size_t k = intervals.shape(2);
    std::vector<double> lower;
    std::vector<double> upper;
    for (std::size_t i = 0; i < n; ++i) {
      const double* const row = intervals.data() + i * 2 * k;
      lower.insert(lower.end(), row, row + k);
      upper.insert(upper.end(), row + k, row + 2 * k);
    }
    const auto add_part = [&](MatrixView x, std::size_t first, std::size_t count) {
      const auto values = span_of(outcomes).subspan(first, count);
      const auto given = predictions ? span_of(*predictions).subspan(first, count) : std::span<const double>();
      evaluator_.add_intervals(MatrixView(lower.data(), n, k).slice(first, count),
                               MatrixView(upper.data(), n, k).slice(first, count), values, x, given);
    };
    if (table == nullptr) {
      add_part(MatrixView(), 0, n);
      return;
    }
    check_outcomes(*table, outcomes);
    table->for_each_part([&](MatrixView x, std::size_t first) { add_part(x, first, x.rows()); });
    add_unknown(*table);
  }

  [[nodiscard]] EvaluationReport report(const std::optional<ByColumn>& by) const {
    const Labels labels = by ? Labels(std::get<2>(*by)) : Labels();
    std::optional<EvaluatedColumn> column;
    if (by) {
      column = EvaluatedColumn{.name = std::get<0>(*by), .values = span_of(std::get<1>(*by))};
      if (labels.size() > 0) column->labels = &labels;
      const auto found = std::ranges::find(features_, column->name);
      if (found != features_.end()) column->feature = static_cast<std::size_t>(found - features_.begin());
    }
    const nb::gil_scoped_release release;
    EvaluationReport report = evaluator_.report(column);
    report.unknown_categories = unknown_;
    return report;
  }

  [[nodiscard]] std::string page(const EvaluationReport& report, const std::string& title, const std::string& estimator,
                                 const std::vector<std::string>& advice, const std::optional<HoldoutGoals>& fit) const {
    const nb::gil_scoped_release release;
    EvaluationPage page = evaluator_.page(report);
    page.title = title;
    page.estimator = estimator;
    page.advice = advice;
    if (fit) page.fit = std::apply(page_fit, *fit);
    return to_html(page);
  }

  /// The figure of coverage at the counted levels.
  [[nodiscard]] nb::dict coverage() const {
    const internal::MeasuredCoverage measured = [&] {
      const nb::gil_scoped_release release;
      const EvaluationReport none;
      return internal::measured_coverage(evaluator_.page(none));
    }();
    return coverage_dict(measured);
  }

 private:
  static EvaluatorOptions options(const std::vector<double>& levels, const std::vector<double>& counted_levels,
                                  const std::optional<double>& false_alarm_rate,
                                  const std::optional<std::string>& classifier, bool by_column) {
    EvaluatorOptions options{.levels = levels_of(levels),
                             .counted_levels = levels_of(counted_levels),
                             .classifier = classifier_of(classifier),
                             .by_column = by_column};
    if (false_alarm_rate) options.in_order = ExchangeabilityOptions{.false_alarm_rate = *false_alarm_rate};
    return options;
  }

  void add_unknown(const Table& table) {
    std::ranges::copy_if(table.unknown_labels(), std::back_inserter(unknown_),
                         [](const UnknownLabels& labels) { return labels.unknown > 0; });
  }

  std::vector<std::string> features_;
  Evaluator evaluator_;
  std::vector<UnknownLabels> unknown_;
};

}  // namespace

void bind_evaluator(nb::module_& module) {
  nb::class_<EvaluationReport>(module, "EvaluationReport")
      .def("to_json", [](const EvaluationReport& report) { return to_json(report, NonFinite::kName); })
      .def("to_text", [](const EvaluationReport& report) { return to_text(report); });
  nb::class_<TableEvaluator>(module, "Evaluator")
      .def(nb::init<const Model&, const std::vector<double>&, const std::vector<double>&, const std::optional<double>&,
                    const std::optional<std::string>&, bool>(),
           nb::arg("model"), nb::arg("levels"), nb::arg("counted_levels") = std::vector<double>(),
           nb::arg("false_alarm_rate") = nb::none(), nb::arg("classifier") = nb::none(), nb::arg("by_column") = false,
           nb::keep_alive<1, 2>())
      .def_static(
          "of_intervals",
          [](const std::vector<double>& levels, const std::optional<std::uint64_t>& calibration_rows,
             const std::string& guarantee, const std::vector<std::string>& features,
             const std::vector<std::vector<std::string>>& categories, const std::optional<std::string>& classifier) {
            return TableEvaluator({.calibration_rows = calibration_rows,
                                   .guarantee = Guarantee::parse(guarantee),
                                   .features = features,
                                   .categories = {categories.begin(), categories.end()}},
                                  levels, classifier);
          },
          nb::arg("levels"), nb::arg("calibration_rows").none(), nb::arg("guarantee"), nb::arg("features"),
          nb::arg("categories"), nb::arg("classifier").none())
      .def("add", &TableEvaluator::add, nb::arg("rows"))
      .def("add_intervals", &TableEvaluator::add_intervals, nb::arg("intervals"), nb::arg("outcomes"),
           nb::arg("table").none(), nb::arg("predictions").none())
      .def("report", &TableEvaluator::report, nb::arg("by").none() = nb::none())
      .def("page", &TableEvaluator::page, nb::arg("report"), nb::arg("title"), nb::arg("estimator"), nb::arg("advice"),
           nb::arg("fit").none())
      .def("coverage", &TableEvaluator::coverage);
}

}  // namespace widthwise::python
