#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>
#include <widthwise/seen_rows.hpp>

#include "command.hpp"
#include "options.hpp"
#include "outcomes_outside.hpp"
#include "output.hpp"
#include "row_sample.hpp"
#include "standard_streams.hpp"
#include "table_options.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct EvaluateArguments {
  std::string model;
  std::string table;
  TableOptions reading;
  std::vector<std::string> levels;
  std::string by;
  std::string guarantee;
  bool json = false;
};

constexpr std::size_t kMaxGroups = 20;  // a column of integers with more distinct values is split into ranges

/// Outcomes, intervals and samples of a whole table.
struct Evaluated {
  std::vector<double> outcomes;
  std::vector<std::vector<double>> lower;  // per level
  std::vector<std::vector<double>> upper;
  std::vector<double> by;
  std::vector<std::int64_t> groups;    // whose quantiles the rows take; empty without groups
  std::vector<std::int64_t> clusters;  // empty without clusters
  RowSketch sketch;
  std::vector<double> predictions;
  // A sample of the rows to search for weak places, and the features of these rows.
  std::vector<std::size_t> sampled;
  std::vector<double> sampled_features;

  [[nodiscard]] std::vector<double> sampled_predictions() const {
    std::vector<double> values;
    values.reserve(sampled.size());
    for (const std::size_t row : sampled) values.push_back(predictions[row]);
    return values;
  }
};

Evaluated evaluate_rows(const Model& model, const std::vector<Level>& levels, ModelTable& table,
                        const std::string& by) {
  const std::string& target = model.parts().target;
  const std::size_t features = model.parts().features.size();
  const std::size_t k = levels.size();
  Evaluated all;
  all.lower.resize(k);
  all.upper.resize(k);
  internal::OutcomesOutside outside(model.parts().outcome_range);
  internal::RowSample sample(kMaxSearchRows, 0);
  std::vector<double> predictions;
  std::vector<double> lower;
  std::vector<double> upper;
  ProgressBar bar("rows");
  while (table.next(bar, "evaluating")) {
    const ModelRows rows = table.rows();
    const std::size_t n = rows.x.rows();
    const auto outcomes = table.column(target);
    require_finite(outcomes, table.file(), target, table.batch().first_row(), kRemoveRows);
    model.sketch(all.sketch, rows, outcomes);
    outside.add(outcomes, table.batch().first_row() + 1);
    predictions.resize(n);
    lower.resize(n * k);
    upper.resize(n * k);
    model.intervals(rows, levels, predictions, {lower.data(), n, k}, {upper.data(), n, k});
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        all.lower[j].push_back(lower[i * k + j]);
        all.upper[j].push_back(upper[i * k + j]);
      }
      const std::size_t place = sample.place_of_next();
      if (place == internal::RowSample::kNowhere) continue;
      all.sampled.resize(sample.size());
      all.sampled_features.resize(sample.size() * features);
      all.sampled[place] = all.outcomes.size() + i;
      std::copy_n(rows.x.row(i).begin(), features, all.sampled_features.data() + place * features);
    }
    all.outcomes.insert(all.outcomes.end(), outcomes.begin(), outcomes.end());
    all.predictions.insert(all.predictions.end(), predictions.begin(), predictions.end());
    for (const std::int64_t group : rows.groups) all.groups.push_back(model.quantile_group(group));
    all.clusters.insert(all.clusters.end(), rows.clusters.begin(), rows.clusters.end());
    if (!by.empty()) all.by.insert(all.by.end(), table.column(by).begin(), table.column(by).end());
  }
  outside.require_none(table.file().string() + ": '" + target + "'");
  return all;
}

/// Bins by the values of a column: one bin per value for a few integers, else ten bins of equal size.
std::vector<Bin> coverage_by(const IntervalRows& rows, std::span<const double> values) {
  std::set<double> distinct;
  for (const double value : values) {
    // Integers up to 2^53 are exact.
    const bool integer = std::trunc(value) == value && std::abs(value) <= 0x1p53;
    if (integer) distinct.insert(value);
    if (!integer || distinct.size() > kMaxGroups) return coverage_by_feature(rows, values);
  }
  std::vector<std::int64_t> groups;
  groups.reserve(values.size());
  for (const double value : values) groups.push_back(static_cast<std::int64_t>(value));
  return coverage_by_group(rows, groups);
}

EvaluationReport report_of(const Model& model, const std::vector<Level>& levels, const Evaluated& all,
                           const EvaluateArguments& arguments) {
  const ModelParts& parts = model.parts();
  const MatrixView features(all.sampled_features.data(), all.sampled.size(), parts.features.size());
  const std::vector<double> predictions = all.sampled_predictions();
  EvaluationReport report{.table = arguments.table,
                          .rows = all.outcomes.size(),
                          .guarantee = parts.guarantee,
                          .model = EvaluatedModel::of(model),
                          .seen = seen_rows(model, all.sketch),
                          .features = parts.features,
                          .by = arguments.by};
  // A model without calibration rows has no verdict to count clusters for.
  const auto clusters = parts.calibration.clustered() ? std::span(all.clusters) : std::span<const std::int64_t>();
  for (std::size_t j = 0; j < levels.size(); ++j) {
    IntervalRows rows{all.lower[j], all.upper[j], all.outcomes};
    if (!arguments.by.empty()) {
      report.by_column.push_back(coverage_by(rows, all.by));
      mark_weak(report.by_column.back(), levels[j], parts.calibration.effective_rows());
    }
    if (parts.rule.may_be_empty()) rows.predictions = all.predictions;
    report.levels.push_back(
        evaluate(rows, levels[j],
                 CalibrationRanks::of(parts.calibration, levels[j], all.groups, parts.guarantee, parts.pool_groups),
                 {all.sampled, features, predictions}, {.levels = levels.size(), .clusters = clusters}));
  }
  return report;
}

void run(const EvaluateArguments& arguments) {
  const Model model = load_with_guarantee(arguments.model, arguments.guarantee);
  const std::string& target = target_of(model);
  const std::vector<Level> levels = arguments.levels.empty() ? model.parts().levels : parse_levels(arguments.levels);
  auto reader = open_table(arguments.table, arguments.reading.read_options(batches_for(levels.size())));
  require_model_columns(*reader, arguments.table, model, {{target, ", the outcomes to compare with"}});
  std::vector<std::string> wanted = {target};
  if (!arguments.by.empty()) {
    require_column(*reader, arguments.table, arguments.by, ErrorCode::kInvalidArgument);
    wanted.push_back(arguments.by);
  }
  if (model.clustered() && !arguments.by.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--by: the confidence intervals of bins need independent rows, but this model has clusters; evaluate "
                "without --by");
  }
  ModelTable table(model, arguments.table, std::move(reader), wanted, {}, RowUse::kEvaluate);
  Evaluated all = evaluate_rows(model, levels, table, arguments.by);
  if (all.outcomes.empty()) throw Error(ErrorCode::kBadData, arguments.table + ": no rows");

  print_report(arguments.json, report_of(model, levels, all, arguments));
  (void)warn_of_no_calibration(model);
  table.warn_of_groups();
}

}  // namespace

Command add_evaluate(CLI::App& program) {
  auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App& command =
      add_command(program, "evaluate", "Measure coverage and width on new rows, and test where coverage is low.",
                  "widthwise evaluate homes.safetensors april.csv --by rooms");
  command.add_option("MODEL", arguments->model, "model file")->required()->type_name("FILE");
  accept_standard_input(command.add_option("TABLE", arguments->table,
                                           "CSV or Parquet file of rows the model has not seen, with outcomes; -: "
                                           "standard input"))
      ->required()
      ->type_name("FILE");
  add_levels(command, arguments->levels, "those the model was fitted for");
  add_guarantee(command, arguments->guarantee, "that of the model");
  command
      .add_option("--by", arguments->by,
                  "also show coverage by the values of this column of numbers: one bin per value when they are few "
                  "integers, else ten bins")
      ->type_name("COL");
  add_table_options(command, arguments->reading);
  add_json(command, arguments->json);
  return {&command, [=] { run(*arguments); }};
}

}  // namespace widthwise::cli
