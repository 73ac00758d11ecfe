#include <widthwise/evaluation.hpp>
#include <widthwise/report.hpp>
#include <widthwise/train/conditional_coverage.hpp>
#include <widthwise/train/registry.hpp>

#include "base/text.hpp"
#include "bindings.hpp"

namespace widthwise::python {

namespace {

template <class Value>
nb::dict to_dict(const Value& value) {
  return nb::cast<nb::dict>(value_of(to_json(value, NonFinite::kName)));
}

nb::list to_list(const std::vector<Bin>& bins) { return nb::cast<nb::list>(value_of(to_json(bins, NonFinite::kName))); }

/// Bins with weak ones marked; without calibration rows, coverage is compared with the level itself.
nb::list marked(std::vector<Bin> bins, const std::optional<double>& level,
                const std::optional<std::uint64_t>& calibration_rows) {
  if (level) mark_weak(bins, *level, calibration_rows);
  return to_list(bins);
}

/// The probabilities of the quantiles that `evaluate` scores.
std::vector<double> crps_probabilities() {
  std::vector<double> values;
  for (const Level& probability : Crps::default_probabilities()) values.push_back(probability.value());
  return values;
}

/// Functions that score predicted probabilities and quantiles.
void bind_scores(nb::module_& module) {
  module.attr("CRPS_PROBABILITIES") = crps_probabilities();
  module.def(
      "crps",
      [](const DoubleMatrix& quantiles, const std::vector<double>& probabilities, const Doubles& outcomes,
         const std::optional<Doubles>& weights) {
        Crps crps({probabilities.begin(), probabilities.end()});
        crps.add(view_of(quantiles), span_of(outcomes), span_of(weights));
        return crps.mean();
      },
      nb::arg("quantiles"), nb::arg("probabilities"), nb::arg("outcomes"), nb::arg("weights").none());
  module.def(
      "excess_risk",
      [](const Integers& covered, const Doubles& probabilities, double level) {
        const std::vector<std::uint8_t> flags(span_of(covered).begin(), span_of(covered).end());
        return to_dict(excess_risk(flags, span_of(probabilities), level));
      },
      nb::arg("covered"), nb::arg("probabilities"), nb::arg("level"));
  module.def(
      "cross_fit_coverage",
      [](const DoubleMatrix& x, const Integers& covered, std::size_t folds, std::uint64_t seed,
         const std::string& library) {
        const std::vector<std::uint8_t> flags(span_of(covered).begin(), span_of(covered).end());
        const std::size_t n = x.shape(0);
        auto probabilities = std::make_unique_for_overwrite<double[]>(n);
        {
          const nb::gil_scoped_release release;
          cross_fit_coverage(*make_classifier_trainer({.xgboost = library}), view_of(x), flags,
                             {.folds = folds, .seed = seed}, {probabilities.get(), n});
        }
        return give<Vector>(std::move(probabilities), {n});
      },
      nb::arg("x"), nb::arg("covered"), nb::arg("folds"), nb::arg("seed"), nb::arg("library"));
}

/// Functions for the coverage of rows, overall and by bins.
void bind_bins(nb::module_& module) {
  module.def(
      "proportion",
      [](std::uint64_t successes, std::uint64_t trials, double confidence) {
        return to_dict(proportion(successes, trials, confidence));
      },
      nb::arg("successes"), nb::arg("trials"), nb::arg("confidence") = 0.95);
  module.def(
      "coverage_by_width",
      [](const Doubles& lower, const Doubles& upper, const Doubles& outcomes, std::size_t bins,
         std::optional<double> level, std::optional<std::uint64_t> calibration_rows) {
        return marked(coverage_by_width({span_of(lower), span_of(upper), span_of(outcomes)}, bins), level,
                      calibration_rows);
      },
      nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"), nb::arg("bins") = 10, nb::arg("level") = nb::none(),
      nb::arg("calibration_rows") = nb::none());
  module.def(
      "coverage_by_feature",
      [](const Doubles& lower, const Doubles& upper, const Doubles& outcomes, const Doubles& feature, std::size_t bins,
         std::optional<double> level, std::optional<std::uint64_t> calibration_rows) {
        return marked(coverage_by_feature({span_of(lower), span_of(upper), span_of(outcomes)}, span_of(feature), bins),
                      level, calibration_rows);
      },
      nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"), nb::arg("feature"), nb::arg("bins") = 10,
      nb::arg("level") = nb::none(), nb::arg("calibration_rows") = nb::none());
  module.def(
      "coverage_by_label",
      [](const Doubles& lower, const Doubles& upper, const Doubles& outcomes, const Doubles& numbers,
         const std::vector<std::string>& labels, std::optional<double> level,
         std::optional<std::uint64_t> calibration_rows) {
        return marked(coverage_by_label({span_of(lower), span_of(upper), span_of(outcomes)}, span_of(numbers),
                                        Labels(labels), kMinBinRows),
                      level, calibration_rows);
      },
      nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"), nb::arg("numbers"), nb::arg("labels"),
      nb::arg("level") = nb::none(), nb::arg("calibration_rows") = nb::none());
  module.def(
      "coverage_by_group",
      [](const Doubles& lower, const Doubles& upper, const Doubles& outcomes, const Integers& groups) {
        return to_list(coverage_by_group({span_of(lower), span_of(upper), span_of(outcomes)}, span_of(groups)));
      },
      nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"), nb::arg("groups"));
}

/// Functions for expected coverage, and for levels and numbers as text.
void bind_plans(nb::module_& module) {
  const std::string marginal = Guarantee().to_string();
  module.def(
      "plan",
      [](double level, std::optional<double> tolerance, std::optional<std::uint64_t> rows, double confidence,
         const std::string& guarantee) {
        const Guarantee wanted = Guarantee::parse(guarantee);
        const CalibrationPlan plan = tolerance ? CalibrationPlan::for_tolerance(level, *tolerance, confidence, wanted)
                                               : CalibrationPlan::for_rows(level, rows.value_or(0), confidence, wanted);
        return nb::cast<nb::dict>(value_of(to_json(std::vector{plan}, NonFinite::kName)));
      },
      nb::arg("level"), nb::arg("tolerance").none(), nb::arg("rows").none(), nb::arg("confidence"),
      nb::arg("guarantee"));
  module.def("count_of", &internal::count_of, nb::arg("n"), nb::arg("thing"));
  module.def("percent", &internal::percent, nb::arg("share"), nb::arg("decimals") = 1);
  module.def("significant", &internal::significant, nb::arg("x"), nb::arg("digits") = 4);
  module.def("level_text", [](double level) { return Level(level).to_string(); }, nb::arg("level"));
  module.def(
      "min_rows",
      [](double level, const std::string& guarantee) { return Guarantee::parse(guarantee).min_rows(level); },
      nb::arg("level"), nb::arg("guarantee") = marginal);
}

/// Functions for reports on evaluations.
void bind_page(nb::module_& module) {
  module.def(
      "page_levels",
      [](const std::vector<double>& levels) {
        std::vector<double> found;
        for (const Level& level : page_levels(std::vector<Level>(levels.begin(), levels.end()))) {
          found.push_back(level.value());
        }
        return found;
      },
      nb::arg("levels"));
  module.def(
      "require_html_name", [](const nb::bytes& file) { require_html_name(file_name_of(file)); }, nb::arg("file"));
  module.def("goal_summary", &goal_summary, nb::arg("model"));
}

}  // namespace

void bind_diagnostics(nb::module_& module) {
  module.attr("MIN_SLAB_ROWS") = kMinSlabRows;
  bind_page(module);
  bind_scores(module);
  bind_bins(module);
  bind_plans(module);
}

}  // namespace widthwise::python
