#include <cmath>

#include <widthwise/evaluation.hpp>
#include <widthwise/model.hpp>

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

nb::list to_list(const std::vector<Bin>& bins) {
  nb::list list;
  for (const Bin& bin : bins) {
    nb::dict dict;
    dict["low"] = bin.low;
    dict["high"] = bin.high;
    dict["coverage"] = to_dict(bin.coverage);
    dict["mean_width"] = bin.mean_width;
    dict["weak"] = bin.weak;
    list.append(dict);
  }
  return list;
}

namespace {

nb::object slab_of(const LevelEvaluation& evaluation, const std::vector<std::string>& features) {
  if (!evaluation.slab) return nb::none();
  nb::dict direction;
  for (std::size_t j = 0; j < features.size(); ++j) {
    direction[nb::cast(features[j])] = evaluation.slab->direction[j];
  }
  nb::dict slab;
  slab["coverage"] = python::to_dict(evaluation.slab->coverage);
  slab["low"] = evaluation.slab->low;
  slab["high"] = evaluation.slab->high;
  slab["direction"] = direction;
  slab["weak"] = evaluation.slab_is_weak;
  return slab;
}

nb::object weakest_of(const LevelEvaluation& evaluation, const std::vector<std::string>& features) {
  if (!evaluation.weakest) return nb::none();
  const FeatureSlab& weakest = *evaluation.weakest;
  nb::dict range;
  range["feature"] = features[weakest.feature];
  range["low"] = weakest.low;
  range["high"] = weakest.high;
  range["coverage"] = python::to_dict(weakest.coverage);
  range["where"] = summary(weakest, features[weakest.feature]);
  range["weak"] = evaluation.range_is_weak;
  return range;
}

nb::dict weak_places_of(const LevelEvaluation& evaluation, const std::vector<std::string>& features) {
  nb::list found;
  for (const WeakPlace& place : evaluation.weak_places) {
    nb::dict one;
    one["kind"] = std::string(name_of(place.kind));
    one["where"] = summary(place, evaluation, features);
    one["coverage"] = python::to_dict(place.coverage);
    one["p_value"] = place.p_value;
    found.append(one);
  }
  nb::dict places;
  places["tested"] = evaluation.places_tested;
  places["error"] = kWeakPlaceError;
  places["found"] = found;
  return places;
}

/// The prediction is called so, whatever the features are called.
nb::list by_feature_of(const LevelEvaluation& evaluation, const std::vector<std::string>& features) {
  nb::list list;
  for (const FeatureBins& feature : evaluation.by_feature) {
    nb::dict one;
    const bool is_prediction = feature.feature == features.size();
    one["feature"] = is_prediction ? nb::object(nb::none()) : nb::cast(features[feature.feature]);
    one["bins"] = to_list(feature.bins);
    list.append(one);
  }
  return list;
}

nb::dict to_dict(const LevelEvaluation& evaluation, const std::vector<std::string>& features) {
  const IntervalSummary& summary = evaluation.intervals;
  nb::dict dict;
  dict["level"] = evaluation.level.value();
  dict["coverage"] = python::to_dict(summary.coverage);
  dict["mean_width"] = summary.mean_width;
  dict["median_width"] = summary.median_width;
  dict["interval_score"] = summary.interval_score;
  dict["infinite"] = summary.infinite;
  dict["empty"] = summary.empty;
  nb::dict verdict;
  verdict["word"] = std::string(name_of(evaluation.verdict));
  verdict["text"] = evaluation.summary;
  verdict["confidence"] = evaluation.confidence;
  verdict["expected_low"] = evaluation.expected.low;
  verdict["expected_high"] = evaluation.expected.high;
  dict["verdict"] = verdict;
  dict["worst_slab"] = slab_of(evaluation, features);
  dict["weakest"] = weakest_of(evaluation, features);
  dict["weak_places"] = weak_places_of(evaluation, features);
  dict["by_width"] = to_list(evaluation.by_width);
  dict["by_group"] = to_list(evaluation.by_group);
  dict["by_feature"] = by_feature_of(evaluation, features);
  return dict;
}

CalibrationRanks ranks_of(const Model* model, std::uint64_t calibration_rows, const std::optional<Integers>& groups,
                          double level, const std::string& guarantee) {
  return model != nullptr
             ? CalibrationRanks::of(model->parts().calibration, level, span_of(groups), model->parts().guarantee)
             : CalibrationRanks::of_rows(level, calibration_rows, Guarantee::parse(guarantee));
}

nb::dict expected_coverage(const Model* model, std::uint64_t calibration_rows, const std::optional<Integers>& groups,
                           std::size_t test_rows, double level, double confidence, const std::string& guarantee) {
  const CoverageSpread spread = [&] {
    const nb::gil_scoped_release release;
    return expected_coverage(ranks_of(model, calibration_rows, groups, level, guarantee), test_rows, confidence);
  }();
  return python::to_dict(spread);
}

/// Intervals of a model, or of any origin when there is none: then all that is known is how many rows calibrated them.
nb::dict evaluate_rows(const Model* model, std::uint64_t calibration_rows, const Doubles& lower, const Doubles& upper,
                       const Doubles& outcomes, const std::optional<Doubles>& predictions,
                       const std::optional<Integers>& groups, double level, std::size_t levels,
                       const Integers& search_rows, const DoubleMatrix& search_features,
                       const std::vector<std::string>& features, const std::string& guarantee) {
  if (search_rows.size() != search_features.shape(0) || search_features.shape(1) != features.size()) {
    throw Error(ErrorCode::kShapeMismatch, "evaluate: rows to search, their features and names do not fit");
  }
  std::vector<std::size_t> rows;
  std::vector<double> search_predictions;
  for (const std::int64_t row : span_of(search_rows)) {
    rows.push_back(static_cast<std::size_t>(row));
    if (rows.back() >= outcomes.size()) {
      throw Error(ErrorCode::kInvalidArgument, "evaluate: there is no row " + std::to_string(row));
    }
    if (predictions) search_predictions.push_back(span_of(*predictions)[rows.back()]);
  }
  const LevelEvaluation evaluation = [&] {
    const nb::gil_scoped_release release;
    const bool may_be_empty = model != nullptr && model->parts().rule.may_be_empty();
    const IntervalRows intervals{span_of(lower), span_of(upper), span_of(outcomes),
                                 may_be_empty ? span_of(predictions) : std::span<const double>()};
    return evaluate(intervals, level, ranks_of(model, calibration_rows, groups, level, guarantee),
                    {rows, view_of(search_features), search_predictions}, {.levels = levels});
  }();
  return to_dict(evaluation, features);
}

/// Bins with their marks; without calibration rows, coverage is compared with the level itself.
nb::list marked(std::vector<Bin> bins, const std::optional<double>& level,
                const std::optional<std::uint64_t>& calibration_rows) {
  if (level) mark_weak(bins, *level, calibration_rows);
  return to_list(bins);
}

}  // namespace

void bind_diagnostics(nb::module_& module) {
  const std::string marginal = Guarantee().to_string();
  module.attr("SEARCH_ROWS_AT_MOST") = kMaxSearchRows;
  module.attr("MIN_SEARCH_ROWS") = kMinSearchRows;
  module.attr("MIN_SLAB_ROWS") = kMinSlabRows;
  module.attr("VERDICT_CONFIDENCE") = kVerdictConfidence;
  module.attr("WEAK_PLACE_ERROR") = kWeakPlaceError;
  module.def("evaluate", &evaluate_rows, nb::arg("model").none(), nb::arg("calibration_rows"), nb::arg("lower"),
             nb::arg("upper"), nb::arg("outcomes"), nb::arg("predictions").none(), nb::arg("groups").none(),
             nb::arg("level"), nb::arg("levels"), nb::arg("search_rows"), nb::arg("search_features"),
             nb::arg("features"), nb::arg("guarantee") = marginal);
  module.def("expected_coverage", &expected_coverage, nb::arg("model").none(), nb::arg("calibration_rows"),
             nb::arg("groups").none(), nb::arg("test_rows"), nb::arg("level"), nb::arg("confidence"),
             nb::arg("guarantee") = marginal);
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
  module.def("level_text", [](double level) { return Level(level).to_string(); }, nb::arg("level"));
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
      "min_rows",
      [](double level, const std::string& guarantee) { return Guarantee::parse(guarantee).min_rows(level); },
      nb::arg("level"), nb::arg("guarantee") = marginal);
}

}  // namespace widthwise::python
