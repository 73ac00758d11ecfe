#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/plan.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/transform.hpp>

#include "command.hpp"
#include "engines.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct FitArguments {
  std::string table;
  std::string output;
  std::string target;
  std::string prediction;
  std::vector<std::string> features;
  std::vector<std::string> exclude;
  std::string goal;
  bool one_sided = false;
  bool two_sided = false;
  std::string window;
  std::vector<std::string> levels;
  std::string range;
  bool no_compare = false;
  bool json = false;
  EngineChoice engines;
  FitOptions options;
};

/// The columns to fit with.
struct FitColumns {
  std::vector<std::string> features;
  std::vector<std::string> left_out;  ///< columns that do not hold numbers, when the user named no features
};

FitColumns choose_columns(const FitArguments& arguments, const TableReader& reader) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, arguments.table + ": " + why);
  };
  require_column(reader, arguments.table, arguments.target, ErrorCode::kInvalidArgument);
  if (!arguments.prediction.empty()) {
    require_column(reader, arguments.table, arguments.prediction, ErrorCode::kInvalidArgument);
    if (arguments.prediction == arguments.target) refuse("--prediction and --target name the same column");
  }
  FitColumns chosen;
  if (!arguments.features.empty()) {
    chosen.features = parse_columns(reader, arguments.table, arguments.features);
    for (const auto& name : chosen.features) {
      if (name == arguments.target) refuse("the target '" + name + "' cannot be a feature");
      if (name == arguments.prediction) {
        refuse("the prediction '" + name + "' is used as a feature anyway; leave it out of --features");
      }
    }
    return chosen;
  }
  std::vector<std::string> excluded = parse_columns(reader, arguments.table, arguments.exclude);
  excluded.push_back(arguments.target);
  excluded.push_back(arguments.prediction);
  for (const auto& [name, kind] : reader.columns()) {
    if (std::find(excluded.begin(), excluded.end(), name) != excluded.end()) continue;
    (kind == ColumnKind::kNumber ? chosen.features : chosen.left_out).push_back(name);
  }
  if (chosen.features.empty()) refuse("no column of numbers is left to be a feature");
  return chosen;
}

/// A whole table in memory.
struct FitData {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> predictions;
};

FitData read_rows(const FitArguments& arguments, const std::vector<std::string>& features, TableReader& reader) {
  std::vector<std::string> selected = features;
  selected.push_back(arguments.target);
  if (!arguments.prediction.empty()) selected.push_back(arguments.prediction);
  reader.select(std::move(selected), {});

  FitData data;
  if (const auto rows = reader.rows()) {
    data.x.reserve(static_cast<std::size_t>(*rows) * features.size());
    data.y.reserve(static_cast<std::size_t>(*rows));
  }
  ProgressBar bar("rows");
  TableBatch batch;
  bar.show("reading", 0, 0);
  while (reader.next(batch)) {
    const MatrixView numbers = batch.numbers();
    const std::size_t before = data.y.size();
    for (std::size_t i = 0; i < numbers.rows(); ++i) {
      const auto row = numbers.row(i);
      data.x.insert(data.x.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(features.size()));
      data.y.push_back(row[features.size()]);
      if (!arguments.prediction.empty()) data.predictions.push_back(row[features.size() + 1]);
    }
    require_finite(std::span(data.y).subspan(before), arguments.table, arguments.target, before,
                   "remove the rows without an outcome");
    if (!arguments.prediction.empty()) {
      require_finite(std::span(data.predictions).subspan(before), arguments.table, arguments.prediction, before,
                     "remove the rows without a prediction");
    }
    bar.show("reading", data.y.size(), reader.progress());
  }
  return data;
}

FitOptions fit_options(const FitArguments& arguments) {
  FitOptions options = arguments.options;
  if (!arguments.goal.empty()) options.goal = Goal::parse(arguments.goal);
  if (arguments.one_sided) options.sides = Sides::kOne;
  if (arguments.two_sided) options.sides = Sides::kTwo;
  if (arguments.window == "all") {
    options.window = LevelWindow::all();
  } else if (!arguments.window.empty()) {
    const auto [low, high] = parse_pair("--window", arguments.window);
    options.window = LevelWindow{Level::parse(low), Level::parse(high)};
  }
  if (!arguments.levels.empty()) options.levels = parse_levels(arguments.levels);
  if (!arguments.range.empty()) options.range = parse_range(arguments.range);
  options.compare = !arguments.no_compare;
  options.seed = arguments.engines.seed;
  return options;
}

/// The model with the file it was fitted on noted, so that nobody calibrates with that file.
Model with_origin(const Model& model, const TableReader& reader) {
  ModelParts parts = model.parts();
  parts.notes[kFittedOn] = fingerprint_text(reader);
  return Model(std::move(parts));
}

void require_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::kFile, file.string() + ": there is no folder " + folder.string());
  }
}

// ---- the report

Json to_json(const GoalReport& report) {
  return {{"goal", report.goal},         {"transform", report.transform},   {"mean_width", report.mean_width},
          {"coverage", report.coverage}, {"worst_slab", report.worst_slab}, {"length", report.length}};
}

std::string goal_name(const GoalReport& report) {
  if (report.goal == "fixed") return "one width";
  const bool named = report.goal == "even" || report.goal == "narrow";
  return (named ? "" : "evenness ") + report.goal + " (" + report.transform + ")";
}

std::string to_text(const FitArguments& arguments, const FitColumns& columns, const FitResult& result) {
  const FitReport& report = result.report;
  const Level& level = result.model.parts().levels.front();
  std::string text = arguments.output + ": fitted on " + arguments.table + ", " +
                     count_of(columns.features.size(), "feature") + "\n\n";
  text += "  rows to fit        " + count(report.fit_rows) + ", " + count(report.hold_rows) +
          " of them held out to stop in time and for this report\n";
  text += "  rows to calibrate  " + count(report.calibration_rows) + "\n";
  text += "  base error         " + significant(report.base_error) + ", the mean |" + arguments.target +
          " - prediction| out of sample\n\n";
  text += "On the rows held out, at level " + level.text() + ":\n\n";
  TextTable table;
  table.add({"goal", "mean width", "coverage", "worst slab"});
  const auto add = [&](const GoalReport& goal, const std::string& note) {
    table.add({goal_name(goal) + note, significant(goal.mean_width), percent(goal.coverage), percent(goal.worst_slab)});
  };
  add(report.chosen, ", this model");
  if (report.other) add(*report.other, "");
  if (report.chosen.goal != "fixed") add(report.fixed, "");
  text += table.text() + "\n" + wrapped(report.in_words()) + "\n";
  return text;
}

Json to_json(const FitArguments& arguments, const FitColumns& columns, const FitResult& result) {
  const FitReport& report = result.report;
  return {{"model", arguments.output},        {"table", arguments.table},
          {"target", arguments.target},       {"features", columns.features},
          {"left_out", columns.left_out},     {"fit_rows", report.fit_rows},
          {"hold_rows", report.hold_rows},    {"calibration_rows", report.calibration_rows},
          {"base_error", report.base_error},  {"level", result.model.parts().levels.front().value()},
          {"chosen", to_json(report.chosen)}, {"other", report.other ? to_json(*report.other) : Json(nullptr)},
          {"fixed", to_json(report.fixed)},   {"in_words", report.in_words()},
          {"warnings", report.warnings}};
}

void warn_of_small_calibration(const Model& model) {
  const std::uint64_t rows = model.parts().calibration.rows_kept();
  if (rows == 0) {
    warn("the model is not calibrated yet: intervals are infinite until 'widthwise calibrate' adds rows");
    return;
  }
  for (const Level& level : model.parts().levels) {
    if (rows >= level.least_rows()) continue;
    warn("intervals of level " + level.text() + " are infinite: it needs " +
         count_of(level.least_rows(), "calibration row") + ", the model has " + count(rows) +
         "; add some with 'widthwise calibrate'");
  }
}

void run(const FitArguments& arguments) {
  if (arguments.prediction.empty() == arguments.engines.base.empty()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "give either --prediction COL, your model's out-of-sample predictions, or --base xgboost|knn to train a "
        "base model here");
  }
  const FitOptions options = fit_options(arguments);
  require_folder_of(arguments.output);
  const auto reader = TableReader::open(arguments.table);
  const FitColumns columns = choose_columns(arguments, *reader);
  const bool with_localizer = options.transform == "auto" || make_transform(options.transform)->parameter_count() > 0;
  const Engines engines = make_engines(arguments.engines, with_localizer);
  const FitData data = read_rows(arguments, columns.features, *reader);

  const FitTable table{.x = {data.x.data(), data.y.size(), columns.features.size()},
                       .y = data.y,
                       .predictions = data.predictions,
                       .features = columns.features,
                       .target = arguments.target,
                       .prediction = arguments.prediction,
                       .first_row = first_row_number(*reader)};
  const FitResult result = [&] {
    ProgressBar bar("rounds");
    return fit(table, engines.base.get(), engines.localizer.get(), options, bar.callback());
  }();
  const Model model = with_origin(result.model, *reader);
  save(model, arguments.output);
  if (arguments.json) {
    print_json(to_json(arguments, columns, result));
  } else {
    print(to_text(arguments, columns, result));
  }
  if (!columns.left_out.empty()) {
    warn(arguments.table + ": left out what does not hold numbers: " + list(columns.left_out));
  }
  for (const auto& warning : result.report.warnings) warn(warning);
  warn_of_small_calibration(model);
}

}  // namespace

Command add_fit(CLI::App& program) {
  auto arguments = std::make_shared<FitArguments>();
  FitOptions& options = arguments->options;
  EngineChoice& engines = arguments->engines;
  CLI::App& command =
      add_command(program, "fit", "Fit a model to a table: base model, localizer and calibration.",
                  "widthwise fit homes.csv --target price --base xgboost -o homes.safetensors\n"
                  "  widthwise fit homes.csv --target price --prediction forecast --goal narrow -o homes.safetensors");
  command.add_option("TABLE", arguments->table, "CSV or Parquet file")->required()->type_name("FILE");
  command.add_option("--target", arguments->target, "column of outcomes")->required()->type_name("COL")->group("Data");
  command
      .add_option("--prediction", arguments->prediction,
                  "column of your own model's predictions, of rows it was not trained on; or --base")
      ->type_name("COL")
      ->group("Data");
  add_choice(command, "--base", engines.base, base_names(), "base model to train here; or --prediction")->group("Data");
  CLI::Option* features =
      add_list(command, "--features", arguments->features, "A,B,...", "columns of x; default: all columns of numbers")
          ->group("Data");
  add_list(command, "--exclude", arguments->exclude, "A,B,...", "columns that are no features")
      ->group("Data")
      ->excludes(features);
  command.add_option("--range", arguments->range, "what is known of the target, as 0,100 or 0, for at least 0")
      ->type_name("LO,HI")
      ->group("Data");

  command
      .add_option("--goal", arguments->goal,
                  "what intervals are to be: even, the same coverage everywhere; narrow, the smallest mean width; or a "
                  "number between, 1 being even; default: 0.85")
      ->type_name("even|narrow|0..1")
      ->group("Intervals");
  add_levels(command, arguments->levels, "0.9")->group("Intervals");
  auto* two_sided =
      command
          .add_flag("--two-sided", arguments->two_sided,
                    "learn the widths below and above the prediction apart; default: for the goal narrow, if that is "
                    "narrower on rows held out")
          ->group("Intervals");
  command.add_flag("--one-sided", arguments->one_sided, "do not")->group("Intervals")->excludes(two_sided);
  std::vector<std::string> transforms = {"auto"};
  for (const auto name : transform_names()) transforms.emplace_back(name);
  add_choice(command, "--transform", options.transform, transforms, "how widths depend on x; auto follows the goal")
      ->capture_default_str()
      ->group("Intervals");
  command
      .add_option("--window", arguments->window,
                  "levels to train for, as 0.8,0.95; default: for the goal narrow those near --level, else all")
      ->type_name("LO,HI|all")
      ->group("Intervals");

  add_choice(command, "--localizer", engines.localizer, localizer_names(), "what learns where errors are large")
      ->capture_default_str()
      ->group("Training");
  command
      .add_option("--calibration-share", options.calibration_share,
                  "share of the rows set aside for the calibration; 0 to calibrate later")
      ->type_name("S")
      ->capture_default_str()
      ->group("Training");
  add_count(command, "--folds", options.folds, "folds of cross-fitting the base model")
      ->capture_default_str()
      ->group("Training");
  add_count(command, "--seed", engines.seed, "of every random choice")->capture_default_str()->group("Training");
  add_count(command, "--threads", engines.threads, "0 for as many as there are processors")
      ->capture_default_str()
      ->group("Training");
  command
      .add_option("--xgboost", engines.xgboost,
                  "XGBoost's library file; default: $WIDTHWISE_XGBOOST, else that of python3's xgboost package")
      ->type_name("FILE")
      ->group("Training");
  command
      .add_flag("--no-compare", arguments->no_compare, "do not train the other end of the dial for the report; faster")
      ->group("Training");

  command.add_option("-o,--output", arguments->output, "model file to write")
      ->required()
      ->type_name("MODEL")
      ->group("Output");
  add_json(command, arguments->json)->group("Output");
  return {&command, [=] { run(*arguments); }};
}

}  // namespace widthwise::cli
