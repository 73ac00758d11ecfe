#include <algorithm>
#include <cmath>
#include <iterator>

#include <widthwise/evaluation.hpp>
#include <widthwise/model.hpp>
#include <widthwise/page.hpp>
#include <widthwise/report.hpp>
#include <widthwise/train/conditional_coverage.hpp>
#include <widthwise/train/registry.hpp>

#include "bindings.hpp"
#include "message.hpp"
#include "row_sample.hpp"
#include "rows.hpp"
#include "text.hpp"

namespace widthwise::python {

namespace {

template <class Value>
nb::dict to_dict(const Value& value) {
  return nb::cast<nb::dict>(value_of(to_json(value, NonFinite::kName)));
}

nb::list to_list(const std::vector<Bin>& bins) { return nb::cast<nb::list>(value_of(to_json(bins, NonFinite::kName))); }

/// Without a model and without a number of calibration rows, coverage is compared with the level.
CalibrationRanks ranks_of(const Model* model, std::optional<std::uint64_t> calibration_rows,
                          const std::optional<Integers>& groups, double level, const std::string& guarantee) {
  if (model == nullptr) {
    return calibration_rows ? CalibrationRanks::of_rows(level, *calibration_rows, Guarantee::parse(guarantee))
                            : CalibrationRanks::of_level(level);
  }
  return model->law(level, span_of(groups));
}

/// Throw if intervals without a model are finite, but so few calibration rows give infinite ones.
void check_calibration_rows(std::uint64_t calibration_rows, const LevelEvaluation& found, const Guarantee& guarantee) {
  const bool is_finite = found.intervals.infinite < found.intervals.coverage.trials;
  if (found.verdict != Verdict::kInfinite || !is_finite) return;
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "calibration_rows is {}, but finite intervals of level {} need at least {}, and these are "
                             "finite; pass the number of calibration rows, or None to compare coverage with the level",
                             calibration_rows, found.level.to_string(), guarantee.min_rows(found.level));
}

nb::dict expected_coverage(const Model* model, std::uint64_t calibration_rows, const std::optional<Integers>& groups,
                           std::size_t test_rows, double level, double confidence, const std::string& guarantee) {
  const CoverageSpread spread = [&] {
    const nb::gil_scoped_release release;
    return expected_coverage(ranks_of(model, calibration_rows, groups, level, guarantee), test_rows, confidence);
  }();
  return to_dict(spread);
}

/// Bounds of all rows at one level.
struct LevelBounds {
  std::vector<double> lower;
  std::vector<double> upper;

  LevelBounds(const DoubleCube& intervals, std::size_t level) {
    const std::size_t levels = intervals.shape(2);
    for (std::size_t i = 0; i < intervals.shape(0); ++i) {
      const double* const row = intervals.data() + i * 2 * levels;
      lower.push_back(row[level]);
      upper.push_back(row[levels + level]);
    }
  }
};

/// Rows to search for weak places: the same sample as in `widthwise evaluate`.
Numbers search_rows(std::size_t rows) {
  internal::RowSample sample(kMaxSearchRows, 0);
  auto chosen = std::make_unique_for_overwrite<std::int64_t[]>(std::min(rows, kMaxSearchRows));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t place = sample.place_of_next();
    if (place != internal::RowSample::kNowhere) chosen[place] = static_cast<std::int64_t>(row);
  }
  return give<Numbers>(std::move(chosen), {sample.size()});
}

/// Name, values and labels of a column to test coverage by; no labels for numbers.
using ByColumn = std::tuple<std::string, Doubles, std::vector<std::string>>;

/// Numbers of rows that were searched for weak places; throws if one is not below `n`.
std::vector<std::size_t> row_numbers(const Integers& searched, std::size_t n) {
  std::vector<std::size_t> rows;
  for (const std::int64_t row : span_of(searched)) {
    rows.push_back(static_cast<std::size_t>(row));
    if (rows.back() >= n)
      throw internal::make_error(ErrorCode::kInvalidArgument, "evaluate: there is no row {}", row + 1);
  }
  return rows;
}

/// Without a model, calibration_rows and guarantee describe the intervals. With `conditional`, XGBoost's library file
/// or empty to search for it, the ERT is estimated.
EvaluationReport evaluate_rows(const Model* model, const SharedSketch* sketch,
                               const std::optional<std::uint64_t>& calibration_rows, const std::string& guarantee,
                               const DoubleCube& intervals, const Doubles& outcomes,
                               const std::optional<Doubles>& predictions, const std::optional<Integers>& groups,
                               const std::vector<double>& levels, const Integers& searched,
                               const DoubleMatrix& search_features, const std::vector<std::string>& features,
                               const std::vector<std::vector<std::string>>& categories,
                               const std::optional<ByColumn>& by, const std::optional<Integers>& clusters,
                               const ExchangeabilityMonitor* exchangeability, const std::optional<CrpsSummary>& crps,
                               const std::optional<std::string>& conditional,
                               const std::vector<UnknownLabels>& unknown) {
  if (searched.size() != search_features.shape(0) || search_features.shape(1) != features.size() ||
      intervals.shape(2) != levels.size()) {
    throw Error(ErrorCode::kShapeMismatch, "evaluate: intervals, levels, rows to search, features and names differ");
  }
  const std::vector<std::size_t> rows = row_numbers(searched, outcomes.size());
  std::vector<double> search_predictions;
  for (const std::size_t row : rows) {
    if (predictions) search_predictions.push_back(span_of(*predictions)[row]);
  }
  EvaluationReport report{.rows = outcomes.size(),
                          .guarantee = model != nullptr ? model->parts().guarantee : Guarantee::parse(guarantee),
                          .features = features,
                          .crps = crps,
                          .conditional = conditional.has_value()};
  if (exchangeability != nullptr) report.exchangeability = *exchangeability;
  if (model != nullptr) {
    report.model = EvaluatedModel::of(*model);
    report.missed_by_range = MissedByRange::of(*model, span_of(outcomes));
    if (!levels.empty() && intervals.shape(0) == outcomes.size()) {
      const LevelBounds first(intervals, 0);
      report.outcome_advice = OutcomeAdvice::of(*model, span_of(outcomes), first.lower, first.upper);
    }
  } else if (!levels.empty()) {
    report.model =
        EvaluatedModel{.level = levels.front(), .calibration_rows = calibration_rows.value_or(0), .is_known = false};
  }
  std::ranges::copy_if(unknown, std::back_inserter(report.unknown_categories),
                       [](const UnknownLabels& labels) { return labels.unknown > 0; });
  if (model != nullptr && sketch != nullptr) {
    report.seen = locked([&](const RowSketch& seen) { return seen_rows(*model, seen, span_of(clusters)); }, *sketch);
  }
  const std::vector<Labels> labels_of_features(categories.begin(), categories.end());
  const Labels by_labels = by ? Labels(std::get<2>(*by)) : Labels();
  EvaluationOptions options{.levels = levels.size(), .clusters = span_of(clusters)};
  if (by) {
    const auto found = std::ranges::find(features, std::get<0>(*by));
    options.by = {.name = std::get<0>(*by), .values = span_of(std::get<1>(*by))};
    if (by_labels.size() > 0) options.by->labels = &by_labels;
    if (found != features.end()) options.by->feature = static_cast<std::size_t>(found - features.begin());
  }
  const nb::gil_scoped_release release;
  const bool may_be_empty = model == nullptr || model->parts().rule.may_be_empty();
  const auto trainer = conditional ? make_classifier_trainer({.xgboost = *conditional}) : nullptr;
  const SearchRows search{rows, view_of(search_features), search_predictions, labels_of_features};
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const LevelBounds bounds(intervals, j);
    const IntervalRows bounded{bounds.lower, bounds.upper, span_of(outcomes),
                               may_be_empty ? span_of(predictions) : std::span<const double>()};
    report.levels.push_back(
        evaluate(bounded, levels[j], ranks_of(model, calibration_rows, groups, levels[j], guarantee), search, options));
    if (model == nullptr && calibration_rows) {
      check_calibration_rows(*calibration_rows, report.levels.back(), report.guarantee);
    }
    if (trainer) report.levels.back().ert = estimate_ert(*trainer, bounded, search, levels[j]);
  }
  return report;
}

/// Goal, score transform, mean width, that of the finite intervals, coverage and worst slab (share, low, high) on the
/// hold-out of `fit`.
using Slab = std::tuple<double, double, double>;
using HoldoutGoal = std::tuple<std::string, std::string, double, double, double, std::optional<Slab>>;

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

/// The page of a report on these rows; `covered` are numbers of rows at page_levels.
std::string page_of(const EvaluationReport& report, const Model& model, const DoubleCube& intervals,
                    const Doubles& outcomes, const Doubles& predictions, const std::optional<Integers>& groups,
                    const Integers& searched, const DoubleMatrix& search_features, const Integers& covered,
                    const std::string& title, const std::string& estimator, const std::vector<std::string>& advice,
                    const std::optional<std::tuple<std::vector<HoldoutGoal>, double, std::string>>& fit) {
  std::vector<LevelBounds> bounds;
  std::vector<IntervalRows> rows;
  std::vector<Level> levels;
  const bool may_be_empty = model.parts().rule.may_be_empty();
  for (std::size_t j = 0; j < report.levels.size(); ++j) {
    bounds.emplace_back(intervals, j);
    levels.push_back(report.levels[j].level);
  }
  for (const LevelBounds& level : bounds) {
    rows.push_back(
        {level.lower, level.upper, span_of(outcomes), may_be_empty ? span_of(predictions) : std::span<const double>()});
  }
  const std::vector<std::size_t> numbers = row_numbers(searched, outcomes.size());
  EvaluationPage page{.model = model,
                      .report = report,
                      .rows = rows,
                      .predictions = span_of(predictions),
                      .levels = page_levels(levels),
                      .search = {.rows = numbers, .features = view_of(search_features)},
                      .title = title,
                      .estimator = estimator,
                      .advice = advice};
  page.covered.assign(covered.data(), covered.data() + covered.size());
  if (fit) page.fit = std::apply(page_fit, *fit);
  const nb::gil_scoped_release release;
  const double confidence = 1 - (1 - kVerdictConfidence) / static_cast<double>(page.levels.size());
  for (const Level& level : page.levels) {
    page.expected.push_back(
        expected_coverage(ranks_of(&model, 0, groups, level.value(), ""), outcomes.size(), confidence));
  }
  return to_html(page);
}

/// Bins with weak ones marked; without calibration rows, coverage is compared with the level itself.
nb::list marked(std::vector<Bin> bins, const std::optional<double>& level,
                const std::optional<std::uint64_t>& calibration_rows) {
  if (level) mark_weak(bins, *level, calibration_rows);
  return to_list(bins);
}

/// CRPS of a model's quantiles; none if the model has no quantiles.
std::optional<CrpsSummary> crps_of_model(const Model& model, const Table& table,
                                         const std::optional<Doubles>& predictions,
                                         const std::optional<Integers>& groups, const std::optional<Doubles>& weights,
                                         const Doubles& outcomes) {
  if (!model.scheme().refusal(SchemeUse::kQuantiles).empty() || model.calibration_rows() == 0) return std::nullopt;
  Crps crps;
  const std::size_t m = crps.probabilities().size();
  std::vector<double> quantiles;
  Rows{table, span_of(predictions), span_of(groups), span_of(weights)}.for_each_part(
      [&](const ModelRows& part, std::size_t first) {
        const std::size_t n = part.x.rows();
        quantiles.resize(n * m);
        model.quantiles(part, crps.probabilities(), {quantiles.data(), n, m});
        crps.add({quantiles.data(), n, m}, span_of(outcomes).subspan(first, n));
      });
  return crps.summary();
}

/// Functions that score predicted probabilities and quantiles.
void bind_scores(nb::module_& module) {
  nb::class_<CrpsSummary>(module, "CrpsSummary");  // NOLINT(bugprone-unused-raii): the constructor registers the class
  module.def("crps_of_model", &crps_of_model, nb::arg("model"), nb::arg("table"), nb::arg("predictions").none(),
             nb::arg("groups").none(), nb::arg("weights").none(), nb::arg("outcomes"));
  module.def(
      "crps",
      [](const DoubleMatrix& quantiles, const std::vector<double>& probabilities, const Doubles& outcomes) {
        Crps crps({probabilities.begin(), probabilities.end()});
        crps.add(view_of(quantiles), span_of(outcomes));
        return crps.mean();
      },
      nb::arg("quantiles"), nb::arg("probabilities"), nb::arg("outcomes"));
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
      "greatest_level",
      [](std::uint64_t rows, const std::string& guarantee) { return Guarantee::parse(guarantee).max_level(rows); },
      nb::arg("rows"), nb::arg("guarantee"));
  module.def(
      "min_rows",
      [](double level, const std::string& guarantee) { return Guarantee::parse(guarantee).min_rows(level); },
      nb::arg("level"), nb::arg("guarantee") = marginal);
}

void bind_page(nb::module_& module) {
  nb::class_<EvaluationReport>(module, "EvaluationReport")
      .def("to_json", [](const EvaluationReport& report) { return to_json(report, NonFinite::kName); })
      .def("to_text", [](const EvaluationReport& report) { return to_text(report); });
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
  module.def("page", &page_of, nb::arg("report"), nb::arg("model"), nb::arg("intervals"), nb::arg("outcomes"),
             nb::arg("predictions"), nb::arg("groups").none(), nb::arg("search_rows"), nb::arg("search_features"),
             nb::arg("covered"), nb::arg("title"), nb::arg("estimator"), nb::arg("advice"), nb::arg("fit").none());
}

}  // namespace

void bind_diagnostics(nb::module_& module) {
  const std::string marginal = Guarantee().to_string();
  module.attr("MIN_SLAB_ROWS") = kMinSlabRows;
  module.attr("VERDICT_CONFIDENCE") = kVerdictConfidence;
  module.def("search_rows", &search_rows, nb::arg("rows"));
  bind_page(module);
  bind_scores(module);
  module.def("evaluate", &evaluate_rows, nb::arg("model").none(), nb::arg("sketch").none(),
             nb::arg("calibration_rows").none(), nb::arg("guarantee"), nb::arg("intervals"), nb::arg("outcomes"),
             nb::arg("predictions").none(), nb::arg("groups").none(), nb::arg("levels"), nb::arg("search_rows"),
             nb::arg("search_features"), nb::arg("features"), nb::arg("categories"), nb::arg("by").none(),
             nb::arg("clusters").none() = nb::none(), nb::arg("exchangeability").none() = nb::none(),
             nb::arg("crps").none() = nb::none(), nb::arg("conditional").none() = nb::none(),
             nb::arg("unknown") = nb::list());
  module.def("expected_coverage", &expected_coverage, nb::arg("model").none(), nb::arg("calibration_rows"),
             nb::arg("groups").none(), nb::arg("test_rows"), nb::arg("level"), nb::arg("confidence"),
             nb::arg("guarantee") = marginal);
  bind_bins(module);
  bind_plans(module);
}

}  // namespace widthwise::python
