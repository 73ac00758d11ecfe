#include <cmath>

#include <widthwise/evaluation.hpp>

#include "bindings.hpp"

namespace widthwise::python {

nb::dict to_dict(const Proportion& share) {
  nb::dict dict;
  dict["share"] = share.share;
  dict["low"] = share.low;
  dict["high"] = share.high;
  dict["successes"] = share.successes;
  dict["trials"] = share.trials;
  return dict;
}

nb::dict to_dict(const CoverageSpread& spread) {
  nb::dict dict;
  dict["rows"] = spread.rows;
  dict["mean"] = spread.mean;
  dict["low"] = spread.low;
  dict["high"] = spread.high;
  return dict;
}

nb::list to_list(const std::vector<Part>& parts) {
  nb::list list;
  for (const Part& part : parts) {
    nb::dict dict;
    dict["low"] = part.low;
    dict["high"] = part.high;
    dict["coverage"] = to_dict(part.coverage);
    dict["mean_width"] = part.mean_width;
    list.append(dict);
  }
  return list;
}

namespace {

nb::dict to_dict(const Evaluation& evaluation, const std::vector<std::string>& features) {
  const IntervalSummary& summary = evaluation.summary;
  nb::dict dict;
  dict["level"] = evaluation.level.value();
  dict["coverage"] = python::to_dict(summary.coverage);
  dict["mean_width"] = summary.mean_width;
  dict["median_width"] = summary.median_width;
  dict["interval_score"] = summary.interval_score;
  dict["infinite"] = summary.infinite;
  nb::dict verdict;
  verdict["word"] = std::string(name_of(evaluation.verdict));
  verdict["text"] = evaluation.in_words;
  verdict["confidence"] = kVerdictConfidence;
  verdict["expected_low"] = evaluation.expected.low;
  verdict["expected_high"] = evaluation.expected.high;
  dict["verdict"] = verdict;
  dict["worst_slab"] = nb::none();
  if (evaluation.slab) {
    nb::dict slab;
    nb::dict direction;
    for (std::size_t j = 0; j < features.size(); ++j) {
      direction[nb::cast(features[j])] = evaluation.slab->direction[j];
    }
    slab["coverage"] = python::to_dict(evaluation.slab->coverage);
    slab["low"] = evaluation.slab->low;
    slab["high"] = evaluation.slab->high;
    slab["direction"] = direction;
    dict["worst_slab"] = slab;
  }
  dict["weakest"] = nb::none();
  if (evaluation.weakest) {
    const FeatureSlab& weakest = *evaluation.weakest;
    nb::dict range;
    range["feature"] = features[weakest.feature];
    range["low"] = weakest.low;
    range["high"] = weakest.high;
    range["coverage"] = python::to_dict(weakest.coverage);
    range["where"] = in_words(weakest, features[weakest.feature]);
    range["weak"] = evaluation.has_weak_range();
    dict["weakest"] = range;
  }
  dict["by_width"] = to_list(evaluation.by_width);
  return dict;
}

nb::dict evaluate_rows(const Doubles& lower, const Doubles& upper, const Doubles& outcomes, double level,
                       std::uint64_t calibration_rows, const Integers& search_rows, const DoubleMatrix& search_features,
                       const std::vector<std::string>& features, const std::string& guarantee) {
  if (search_rows.size() != search_features.shape(0) || search_features.shape(1) != features.size()) {
    throw Error(ErrorCode::kShapeMismatch, "evaluate: rows to search, their features and names do not fit");
  }
  std::vector<std::size_t> rows;
  for (const std::int64_t row : span_of(search_rows)) {
    rows.push_back(static_cast<std::size_t>(row));
    if (rows.back() < outcomes.size()) continue;
    throw Error(ErrorCode::kInvalidArgument, "evaluate: there is no row " + std::to_string(row));
  }
  const Evaluation evaluation = [&] {
    const nb::gil_scoped_release release;
    return evaluate({span_of(lower), span_of(upper), span_of(outcomes)}, level, calibration_rows,
                    {rows, view_of(search_features)}, Guarantee::parse(guarantee));
  }();
  return to_dict(evaluation, features);
}

}  // namespace

void bind_diagnostics(nb::module_& module) {
  const std::string marginal = Guarantee().text();
  module.attr("SEARCH_ROWS_AT_MOST") = kSearchRowsAtMost;
  module.def("evaluate", &evaluate_rows, nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"), nb::arg("level"),
             nb::arg("calibration_rows"), nb::arg("search_rows"), nb::arg("search_features"), nb::arg("features"),
             nb::arg("guarantee") = marginal);
  module.def(
      "coverage_by_width",
      [](const Doubles& lower, const Doubles& upper, const Doubles& outcomes, std::size_t parts) {
        return to_list(coverage_by_width({span_of(lower), span_of(upper), span_of(outcomes)}, parts));
      },
      nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"), nb::arg("parts") = 10);
  module.def(
      "coverage_by_feature",
      [](const Doubles& lower, const Doubles& upper, const Doubles& outcomes, const Doubles& feature,
         std::size_t parts) {
        return to_list(
            coverage_by_feature({span_of(lower), span_of(upper), span_of(outcomes)}, span_of(feature), parts));
      },
      nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"), nb::arg("feature"), nb::arg("parts") = 10);
  module.def(
      "coverage_by_group",
      [](const Doubles& lower, const Doubles& upper, const Doubles& outcomes, const Integers& groups) {
        return to_list(coverage_by_group({span_of(lower), span_of(upper), span_of(outcomes)}, span_of(groups)));
      },
      nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"), nb::arg("groups"));
  module.def(
      "coverage_spread",
      [](double level, std::uint64_t rows, double confidence, const std::string& guarantee) {
        return to_dict(coverage_spread(level, rows, confidence, Guarantee::parse(guarantee)));
      },
      nb::arg("level"), nb::arg("rows"), nb::arg("confidence") = 0.95, nb::arg("guarantee") = marginal);
  module.def(
      "measured_coverage_spread",
      [](double level, std::uint64_t rows, std::uint64_t test_rows, double confidence, const std::string& guarantee) {
        return to_dict(measured_coverage_spread(level, rows, test_rows, confidence, Guarantee::parse(guarantee)));
      },
      nb::arg("level"), nb::arg("rows"), nb::arg("test_rows"), nb::arg("confidence") = 0.95,
      nb::arg("guarantee") = marginal);
  module.def(
      "rows_for_tolerance",
      [](double level, double tolerance, double confidence, const std::string& guarantee) {
        return rows_for_tolerance(level, tolerance, confidence, Guarantee::parse(guarantee));
      },
      nb::arg("level"), nb::arg("tolerance"), nb::arg("confidence") = 0.95, nb::arg("guarantee") = marginal);
  module.def("level_text", [](double level) { return Level(level).text(); }, nb::arg("level"));
  module.def(
      "greatest_level",
      [](std::uint64_t rows, const std::string& guarantee) {
        // Marginal: n / (n + 1). Training-conditional: level^n is at most 1 - confidence.
        const auto n = static_cast<double>(rows);
        const std::optional<Level> confidence = Guarantee::parse(guarantee).confidence();
        return confidence ? std::pow(confidence->complement().value(), 1 / n) : n / (n + 1);
      },
      nb::arg("rows"), nb::arg("guarantee"));
  module.def(
      "least_rows",
      [](double level, const std::string& guarantee) { return Guarantee::parse(guarantee).least_rows(level); },
      nb::arg("level"), nb::arg("guarantee") = marginal);
}

}  // namespace widthwise::python
