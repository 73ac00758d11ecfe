#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/seen_rows.hpp>

#include "command.hpp"
#include "options.hpp"
#include "outcomes_outside.hpp"
#include "output.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct EvaluateArguments {
  std::string model;
  std::string table;
  std::vector<std::string> levels;
  std::string by;
  std::string guarantee;
  bool json = false;
};

constexpr std::size_t kMaxGroups = 20;  // integers of more values are numbers, not groups

/// What a whole table gave.
struct Evaluated {
  std::vector<double> outcomes;
  std::vector<std::vector<double>> lower;  // for each level
  std::vector<std::vector<double>> upper;
  std::vector<double> by;
  RowSketch sketch;
  std::vector<double> predictions;
  // A sample of the rows for the search for weak places, and their features.
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
  RowSample sample(kMaxSearchRows, 0);
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
      if (place == RowSample::kNowhere) continue;
      all.sampled.resize(sample.size());
      all.sampled_features.resize(sample.size() * features);
      all.sampled[place] = all.outcomes.size() + i;
      std::copy_n(rows.x.row(i).begin(), features, all.sampled_features.data() + place * features);
    }
    all.outcomes.insert(all.outcomes.end(), outcomes.begin(), outcomes.end());
    all.predictions.insert(all.predictions.end(), predictions.begin(), predictions.end());
    if (!by.empty()) all.by.insert(all.by.end(), table.column(by).begin(), table.column(by).end());
  }
  outside.require_none(table.file().string() + ": '" + target + "'");
  return all;
}

/// Bins by the values of a column: one for each when it holds a few integers, else ten of equal size.
std::vector<Bin> coverage_by(const IntervalRows& rows, std::span<const double> values) {
  std::set<double> distinct;
  for (const double value : values) {
    // 2^53: integers up to here are exact.
    const bool integer = std::trunc(value) == value && std::abs(value) <= 0x1p53;
    if (integer) distinct.insert(value);
    if (!integer || distinct.size() > kMaxGroups) return coverage_by_feature(rows, values);
  }
  std::vector<std::int64_t> groups;
  groups.reserve(values.size());
  for (const double value : values) groups.push_back(static_cast<std::int64_t>(value));
  return coverage_by_group(rows, groups);
}

Json to_json(const std::vector<Bin>& bins) {
  Json array = Json::array();
  for (const Bin& bin : bins) {
    array.push_back({{"low", bin.low},
                     {"high", bin.high},
                     {"coverage", cli::to_json(bin.coverage)},
                     {"mean_width", bin.mean_width},
                     {"weak", bin.weak}});
  }
  return array;
}

std::string to_text(const std::string& title, const std::vector<Bin>& bins) {
  TextTable table;
  table.add({title, "rows", "mean width", "coverage", "95 % confidence"});
  for (const Bin& bin : bins) {
    const std::string name = std::isnan(bin.low)   ? "missing"
                             : bin.low == bin.high ? significant(bin.low)
                                                   : significant(bin.low) + " to " + significant(bin.high);
    std::vector<std::string> cells = {name, count(bin.coverage.trials), significant(bin.mean_width),
                                      percent(bin.coverage.share), percent_range(bin.coverage.low, bin.coverage.high)};
    if (bin.weak) cells.emplace_back("weak");
    table.add(std::move(cells));
  }
  return table.to_string();
}

std::string with_confidence(const Proportion& share) {
  return percent(share.share) + "  (" + percent_range(share.low, share.high) + " at 95 % confidence)";
}

/// The shares of rows that the model has seen, or null.
Json to_json(const SeenRows& seen) {
  if (!seen.any()) return nullptr;
  const auto share = [](const RowOverlap& rows) { return rows.found() ? rows.share() : 0; };
  return {{"fitted", share(seen.fitted)},
          {"calibrated", share(seen.calibrated)},
          {"rows", seen.shares()},
          {"text", seen.to_string()}};
}

/// What `evaluate` takes, of one level.
struct LevelRows {
  const Model& model;
  const Evaluated& all;
  std::size_t level;   ///< its place among all levels
  std::size_t levels;  ///< evaluated together
  MatrixView features;
  std::span<const double> predictions;

  [[nodiscard]] LevelEvaluation evaluation(const Level& value) const {
    const bool may_be_empty = model.parts().rule.may_be_empty();
    const IntervalRows rows{all.lower[level], all.upper[level], all.outcomes,
                            may_be_empty ? std::span<const double>(all.predictions) : std::span<const double>()};
    return evaluate(rows, value, CalibrationRanks::of(model.parts().calibration, value, {}, model.parts().guarantee),
                    {all.sampled, features, predictions}, {.levels = levels});
  }
};

/// Everything about one level, as text and as JSON.
class LevelReport {
 public:
  LevelReport(const LevelRows& rows, const Level& level, const std::string& by, const SeenRows& seen)
      : features_(rows.model.parts().features),
        by_(by),
        evaluation_(rows.evaluation(level)),
        verdict_(seen.any() ? kSeenVerdict : name_of(evaluation_.verdict)),
        summary_(seen.any() ? seen.to_string() : evaluation_.summary) {
    if (by.empty()) return;
    const Evaluated& all = rows.all;
    by_column_ = coverage_by({all.lower[rows.level], all.upper[rows.level], all.outcomes}, all.by);
    mark_weak(by_column_, level, rows.model.parts().calibration.rows_kept());
  }

  [[nodiscard]] std::string to_string() const {
    const IntervalSummary& summary = evaluation_.intervals;
    std::string text = "\nLevel " + evaluation_.level.to_string() + "\n";
    text += "  coverage        " + with_confidence(summary.coverage) + "\n";
    if (evaluation_.slab) text += "  worst slab      " + with_confidence(evaluation_.slab->coverage) + "\n";
    text += weak_places_text();
    text += "  mean width      " + significant(summary.mean_width) + "\n";
    text += "  median width    " + significant(summary.median_width) + "\n";
    text += "  interval score  " + significant(summary.interval_score) + "\n";
    text += share_text("infinite", summary.infinite) + share_text("empty", summary.empty);
    text += "\n  " + wrapped(summary_, 100, 2) + "\n\n";
    text += to_text("by width", evaluation_.by_width);
    if (!by_.empty()) text += "\n" + to_text("by " + by_, by_column_);
    return text;
  }

  [[nodiscard]] Json json() const {
    Json json = {{"level", evaluation_.level.value()},
                 {"coverage", cli::to_json(evaluation_.intervals.coverage)},
                 {"mean_width", evaluation_.intervals.mean_width},
                 {"median_width", evaluation_.intervals.median_width},
                 {"interval_score", evaluation_.intervals.interval_score},
                 {"infinite", evaluation_.intervals.infinite},
                 {"empty", evaluation_.intervals.empty},
                 {"verdict",
                  {{"word", verdict_},
                   {"text", summary_},
                   {"confidence", evaluation_.confidence},
                   {"expected_low", evaluation_.expected.low},
                   {"expected_high", evaluation_.expected.high}}},
                 {"worst_slab", slab_json()},
                 {"weakest", weakest_json()},
                 {"weak_places", weak_places_json()},
                 {"by_width", to_json(evaluation_.by_width)},
                 {"by_group", to_json(evaluation_.by_group)},
                 {"by_feature", Json::array()}};
    for (const FeatureBins& feature : evaluation_.by_feature) {
      const bool is_prediction = feature.feature == features_.size();
      json["by_feature"].push_back({{"feature", is_prediction ? Json(nullptr) : Json(features_[feature.feature])},
                                    {"bins", to_json(feature.bins)}});
    }
    if (!by_.empty()) json["by"] = {{"column", by_}, {"bins", to_json(by_column_)}};
    return json;
  }

 private:
  /// "  empty           12 intervals, 3.2 %", or nothing for none.
  [[nodiscard]] std::string share_text(std::string name, std::uint64_t found) const {
    if (found == 0) return "";
    const double share = static_cast<double>(found) / static_cast<double>(evaluation_.intervals.coverage.trials);
    name.resize(16, ' ');
    return "  " + name + count_of(found, "interval") + ", " + percent(share) + "\n";
  }

  [[nodiscard]] std::string weak_places_text() const {
    constexpr std::size_t kShown = 3;
    if (evaluation_.places_tested == 0) return "";
    const std::vector<WeakPlace>& found = evaluation_.weak_places;
    const std::string tested = count(evaluation_.places_tested) + " tested\n";
    if (found.empty()) return "  weak places     none of " + tested;
    std::string text = "  weak places     " + count(found.size()) + " of " + tested;
    const std::string indent(18, ' ');
    for (std::size_t i = 0; i < std::min(kShown, found.size()); ++i) {
      text.append(indent).append(with_confidence(found[i].coverage)).append("\n");
      text.append(indent).append("where ").append(summary(found[i], evaluation_, features_)).append("\n");
    }
    if (found.size() > kShown) text += indent + "and " + count(found.size() - kShown) + " more\n";
    return text;
  }

  [[nodiscard]] Json slab_json() const {
    if (!evaluation_.slab) return nullptr;
    Json direction = Json::object();
    for (std::size_t f = 0; f < features_.size(); ++f) direction[features_[f]] = evaluation_.slab->direction[f];
    return {{"coverage", cli::to_json(evaluation_.slab->coverage)},
            {"low", evaluation_.slab->low},
            {"high", evaluation_.slab->high},
            {"direction", direction},
            {"weak", evaluation_.slab_is_weak}};
  }

  [[nodiscard]] Json weakest_json() const {
    if (!evaluation_.weakest) return nullptr;
    const FeatureSlab& weakest = *evaluation_.weakest;
    return {{"feature", features_[weakest.feature]},
            {"low", weakest.low},
            {"high", weakest.high},
            {"coverage", cli::to_json(weakest.coverage)},
            {"where", summary(weakest, features_[weakest.feature])},
            {"weak", evaluation_.range_is_weak}};
  }

  [[nodiscard]] Json weak_places_json() const {
    Json found = Json::array();
    for (const WeakPlace& place : evaluation_.weak_places) {
      found.push_back({{"kind", name_of(place.kind)},
                       {"where", summary(place, evaluation_, features_)},
                       {"coverage", cli::to_json(place.coverage)},
                       {"p_value", place.p_value}});
    }
    return {{"tested", evaluation_.places_tested}, {"error", kWeakPlaceError}, {"found", found}};
  }

  const std::vector<std::string>& features_;
  std::string by_;
  LevelEvaluation evaluation_;
  std::string verdict_;
  std::string summary_;
  std::vector<Bin> by_column_;
};

void run(const EvaluateArguments& arguments) {
  const Model model = load_with_guarantee(arguments.model, arguments.guarantee);
  const std::string& target = target_of(model);
  const std::vector<Level> levels = arguments.levels.empty() ? model.parts().levels : parse_levels(arguments.levels);
  auto reader = TableReader::open(arguments.table, batches_for(levels.size()));
  require_column(*reader, arguments.table, target, ErrorCode::kBadData, ", the outcomes to compare with");
  std::vector<std::string> wanted = {target};
  if (!arguments.by.empty()) {
    require_column(*reader, arguments.table, arguments.by, ErrorCode::kInvalidArgument);
    wanted.push_back(arguments.by);
  }
  ModelTable table(model, arguments.table, std::move(reader), wanted);
  Evaluated all = evaluate_rows(model, levels, table, arguments.by);
  if (all.outcomes.empty()) throw Error(ErrorCode::kBadData, arguments.table + ": no rows");

  const std::size_t columns = model.parts().features.size();
  const MatrixView features(all.sampled_features.data(), all.sampled.size(), columns);
  const std::vector<double> predictions = all.sampled_predictions();
  std::string text = arguments.table + ": " + count_of(all.outcomes.size(), "row") + "\n";
  const SeenRows seen = seen_rows(model, all.sketch);
  Json json = {{"table", arguments.table},
               {"rows", all.outcomes.size()},
               {"guarantee", cli::to_json(model.parts().guarantee)},
               {"seen", to_json(seen)},
               {"levels", Json::array()}};
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const LevelReport report({model, all, j, levels.size(), features, predictions}, levels[j], arguments.by, seen);
    text += report.to_string();
    json["levels"].push_back(report.json());
  }
  if (arguments.json) {
    print_json(json);
  } else {
    print(text);
  }
  (void)warn_of_no_calibration(model);
}

}  // namespace

Command add_evaluate(CLI::App& program) {
  auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App& command =
      add_command(program, "evaluate", "Measure coverage and width on new rows, and test where coverage is low.",
                  "widthwise evaluate homes.safetensors april.csv --by rooms");
  command.add_option("MODEL", arguments->model, "model file")->required()->type_name("FILE");
  command.add_option("TABLE", arguments->table, "CSV or Parquet file of rows the model has not seen, with outcomes")
      ->required()
      ->type_name("FILE");
  add_levels(command, arguments->levels, "those the model was fitted for");
  add_guarantee(command, arguments->guarantee, "that of the model");
  command
      .add_option("--by", arguments->by,
                  "also show coverage by the values of this column of numbers: one bin per value when they are few "
                  "integers, else ten bins")
      ->type_name("COL");
  add_json(command, arguments->json);
  return {&command, [=] { run(*arguments); }};
}

}  // namespace widthwise::cli
