#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/transform.hpp>
#include <widthwise/version.hpp>

#include "command.hpp"
#include "engines.hpp"
#include "fit_tables.hpp"
#include "hash.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables.hpp"
#include "workers.hpp"

namespace widthwise::cli {
namespace {

struct FitArguments {
  FitColumnChoice columns;
  std::string output;
  std::string goal;
  bool one_sided = false;
  bool two_sided = false;
  std::string level_window;
  std::vector<std::string> levels;
  std::string outcome_range;
  std::string guarantee;
  bool no_compare = false;
  bool json = false;
  EngineChoice engines;
  WorkerChoice workers;
  bool threads_given = false;
  bool share_given = false;
  FitOptions options;

  /// The tables as words for messages.
  [[nodiscard]] std::string tables() const {
    const auto& names = columns.tables;
    return names.size() == 1 ? names.front() : names.front() + " and " + count_of(names.size() - 1, "other table");
  }
};

FitOptions fit_options(const FitArguments& arguments) {
  FitOptions options = arguments.options;
  if (!arguments.goal.empty()) options.goal = Goal::parse(arguments.goal);
  if (arguments.one_sided) options.sides = Sides::kOne;
  if (arguments.two_sided) options.sides = Sides::kTwo;
  if (arguments.level_window == "all") {
    options.level_window = LevelWindow::all();
  } else if (!arguments.level_window.empty()) {
    const auto [low, high] = parse_pair("--level-window", arguments.level_window);
    options.level_window = LevelWindow{Level::parse(low), Level::parse(high)};
  }
  if (!arguments.levels.empty()) options.levels = parse_levels(arguments.levels);
  options.outcome_range = arguments.columns.outcome_range;
  if (!arguments.guarantee.empty()) options.guarantee = parse_guarantee(arguments.guarantee);
  options.compare = !arguments.no_compare;
  options.seed = arguments.engines.seed;
  return options;
}

/// What was read, by whomever: the fingerprints of all tables, with blanks between.
std::string origin_of(const FitData& data, const Communicator& communicator) {
  std::string own;
  for (const auto& text : data.fingerprints) own += text + " ";
  std::set<std::string> all;
  for (const std::string& text : gather_texts(communicator, own)) {
    std::istringstream words(text);
    for (std::string word; words >> word;) all.insert(word);
  }
  std::string text;
  for (const auto& word : all) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// A number that tells fits apart, for a checkpoint: what is fitted, on what, how, by how many.
std::uint64_t fit_number(const FitArguments& arguments, const FitOptions& options, const FitColumns& columns,
                         const std::string& origin, const std::string& engine) {
  std::string text;
  const auto add = [&](const std::string& word) { text += std::to_string(word.size()) + ":" + word; };
  for (const std::string& word : {std::string(kVersion), engine, origin, options.to_string(), arguments.engines.base,
                                  std::to_string(arguments.workers.world), arguments.columns.target,
                                  arguments.columns.prediction, arguments.columns.cv_prediction}) {
    add(word);
  }
  for (const std::string& feature : columns.features) add(feature);
  return internal::hash_bytes(text.size(), std::as_bytes(std::span(text)));
}

void require_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::kFile, file.string() + ": there is no folder " + folder.string());
  }
}

void warn_of_small_calibration(const Model& model) {
  if (model.parts().calibration.rows_kept() == 0) {
    warn_of_no_calibration(model);
    return;
  }
  for (const Level& level : model.parts().levels) {
    const std::string text = infinite_warning(model, level);
    if (!text.empty()) warn(text + "; add rows with 'widthwise calibrate'");
  }
}

void check_arguments(const FitArguments& arguments) {
  const EngineChoice& engines = arguments.engines;
  const int sources = (arguments.columns.prediction.empty() ? 0 : 1) +
                      (arguments.columns.cv_prediction.empty() ? 0 : 1) + (engines.base.empty() ? 0 : 1);
  if (sources != 1) {
    throw Error(ErrorCode::kInvalidArgument,
                "give one of --prediction COL, predictions of the deployed model on rows it has not seen; "
                "--cv-prediction COL, cross-validated predictions; or --base trees|knn to train a base model here");
  }
  if (!arguments.columns.cv_prediction.empty() && arguments.share_given) {
    throw Error(ErrorCode::kInvalidArgument,
                "--calibration-size: rows with cross-validated predictions (--cv-prediction) calibrate nothing; leave "
                "it out, and run 'widthwise calibrate' with rows predicted by the deployed model");
  }
  if (arguments.workers.any() || arguments.workers.start > 0) {
    if (engines.base == "knn") {
      throw Error(ErrorCode::kInvalidArgument, "--base knn trains in one process; several workers train xgboost");
    }
    if (engines.localizer != "trees") {
      throw Error(ErrorCode::kInvalidArgument,
                  "--localizer " + engines.localizer + " trains in one process; several workers train trees");
    }
  }
  require_folder_of(arguments.output);
  require_other_file("--output", arguments.output, arguments.columns.tables);
}

void report(const FitArguments& arguments, const FitColumns& columns, const FitResult& result) {
  const std::optional<FitFiles> files = FitFiles{arguments.output, arguments.tables(), columns.left_out};
  print_report(arguments.json, result, files);
  if (!columns.left_out.empty()) {
    warn(arguments.tables() + ": left out the columns that do not hold numbers: " + list(columns.left_out));
  }
  for (const auto& warning : result.report.warnings) warn(warning);
  warn_of_small_calibration(result.model);
}

FitTable table_of(const FitArguments& arguments, const FitColumns& columns, const FitData& data) {
  const bool cross_validated = !arguments.columns.cv_prediction.empty();
  return {.x = {data.x.data(), data.y.size(), columns.features.size()},
          .y = data.y,
          .predictions = cross_validated ? std::span<const double>() : data.predictions,
          .features = columns.features,
          .target = arguments.columns.target,
          .prediction = arguments.columns.prediction_column(),
          .row_numbers = data.row_numbers,
          .cv_predictions = cross_validated ? data.predictions : std::span<const double>()};
}

bool needs_localizer(const FitOptions& options) {
  return options.score_transform == "auto" || make_transform(options.score_transform)->parameter_count() > 0;
}

FitResult fit_with_progress(const FitTable& table, const Engines& engines, const FitOptions& options,
                            const Communicator* communicator = nullptr) {
  ProgressBar bar("rounds");
  return fit(table, engines.base.get(), engines.localizer.get(), options, bar.callback(), communicator);
}

/// Fit as one of several workers.
void run_as_worker(const FitArguments& arguments) {
  const FitOptions options = fit_options(arguments);
  const CommunicatorOptions meeting = worker_options(arguments.workers);
  const auto library = load_xgboost(arguments.engines);
  const auto communicator = join_workers(library, meeting);

  FitColumns columns;
  FitData data;
  all_or_none(*communicator, [&] {
    columns = choose_columns(arguments.columns);
    const RowShare all;
    data = read_rows(arguments.columns, columns.features,
                     arguments.workers.own_tables ? all : RowShare{meeting.rank, meeting.workers});
  });
  const std::string origin = origin_of(data, *communicator);
  Checkpoint checkpoint(arguments.output + ".checkpoint",
                        fit_number(arguments, options, columns, origin, library->version()), communicator.get());
  const Engines engines = make_engines(arguments.engines, needs_localizer(options), {communicator.get(), &checkpoint});
  const FitResult result = fit_with_progress(table_of(arguments, columns, data), engines, options, communicator.get());
  all_or_none(*communicator, [&] { save(result.model, arguments.output); });
  checkpoint.remove();
  if (meeting.rank == 0) {
    report(arguments, columns, result);
  } else {
    print(arguments.output + ": written by worker " + std::to_string(meeting.rank) + " of " +
          std::to_string(meeting.workers) + ", the same as by the others.\n");
  }
}

void run(const FitArguments& arguments) {
  check_arguments(arguments);
  if (arguments.workers.start > 0) {
    check_row_groups(arguments.columns.tables, arguments.workers.start);
    run_workers(arguments.workers, arguments.threads_given);
    return;
  }
  if (arguments.workers.any()) {
    run_as_worker(arguments);
    return;
  }
  const FitOptions options = fit_options(arguments);
  const FitColumns columns = choose_columns(arguments.columns);
  const Engines engines = make_engines(arguments.engines, needs_localizer(options));
  const FitData data = read_rows(arguments.columns, columns.features, {});
  const FitResult result = fit_with_progress(table_of(arguments, columns, data), engines, options);
  save(result.model, arguments.output);
  report(arguments, columns, result);
}

}  // namespace

Command add_fit(CLI::App& program) {
  auto arguments = std::make_shared<FitArguments>();
  FitOptions& options = arguments->options;
  EngineChoice& engines = arguments->engines;
  CLI::App& command =
      add_command(program, "fit", "Fit a model to a table: base model, localizer and calibration.",
                  "widthwise fit homes.csv --target price --base trees -o homes.safetensors\n"
                  "  widthwise fit homes.csv --target price --prediction forecast --goal narrow -o homes.safetensors");
  command.add_option("TABLE", arguments->columns.tables, "CSV or Parquet file, or several that follow each other")
      ->required()
      ->type_name("FILE");
  command.add_option("--target", arguments->columns.target, "column of outcomes")
      ->required()
      ->type_name("COL")
      ->group("Data");
  command
      .add_option("--prediction", arguments->columns.prediction,
                  "column of predictions by the very model that will be deployed, which has not seen these rows: they "
                  "train and calibrate. Never cross-validated ones, with which intervals cover too little")
      ->type_name("COL")
      ->group("Data");
  command
      .add_option("--cv-prediction", arguments->columns.cv_prediction,
                  "column of cross-validated predictions: they train only, and intervals are infinite until 'widthwise "
                  "calibrate' adds rows whose column COL the deployed model predicted")
      ->type_name("COL")
      ->group("Data");
  add_choice(command, "--base", engines.base, base_names(), "base model to train here; instead of predictions")
      ->group("Data");
  CLI::Option* features = add_list(command, "--features", arguments->columns.features, "A,B,...",
                                   "columns of x; default: all columns of numbers")
                              ->group("Data");
  add_list(command, "--exclude", arguments->columns.exclude, "A,B,...", "columns that are no features")
      ->group("Data")
      ->excludes(features);
  command
      .add_option("--outcome-range", arguments->outcome_range,
                  "range that holds every outcome, as 0,100 or 0, for at least 0; intervals are cut to it")
      ->type_name("LO,HI")
      ->group("Data");

  command
      .add_option("--goal", arguments->goal,
                  "what intervals are to be: even, the same coverage everywhere; narrow, the smallest mean width; or a "
                  "number between, 1 being even; default: 0.85")
      ->type_name("even|narrow|0..1")
      ->group("Intervals");
  add_levels(command, arguments->levels, "0.9")->group("Intervals");
  add_guarantee(command, arguments->guarantee, "marginal")->group("Intervals");
  auto* two_sided =
      command
          .add_flag("--two-sided", arguments->two_sided,
                    "learn the widths below and above the prediction apart; default: for the goal narrow, if that is "
                    "narrower on rows held out")
          ->group("Intervals");
  command.add_flag("--one-sided", arguments->one_sided, "do not")->group("Intervals")->excludes(two_sided);
  std::vector<std::string> transforms = {"auto"};
  for (const auto name : transform_names()) transforms.emplace_back(name);
  add_choice(command, "--score-transform", options.score_transform, transforms,
             "how widths depend on x; auto follows the goal")
      ->capture_default_str()
      ->group("Intervals");
  command
      .add_option("--level-window", arguments->level_window,
                  "levels to train for, as 0.8,0.95; default: for the goal narrow those near --level, else all")
      ->type_name("LO,HI|all")
      ->group("Intervals");

  add_choice(command, "--localizer", engines.localizer, localizer_names(), "what learns where errors are large")
      ->capture_default_str()
      ->group("Training");
  CLI::Option* const share = command
                                 .add_option("--calibration-size", options.calibration_size,
                                             "share of the rows set aside for the calibration; 0 to calibrate later")
                                 ->type_name("S")
                                 ->capture_default_str()
                                 ->group("Training");
  add_count(command, "--folds", options.folds, "folds of cross-fitting the base model")
      ->capture_default_str()
      ->group("Training");
  add_count(command, "--seed", engines.seed, "of every random choice")->capture_default_str()->group("Training");
  CLI::Option* const threads =
      add_count(command, "--threads", engines.threads,
                "training threads; 0: by the size of the table, at most the processors this process may use")
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

  add_worker_options(command, arguments->workers, "Several processes");

  command.add_option("-o,--output", arguments->output, "model file to write")
      ->required()
      ->type_name("MODEL")
      ->group("Output");
  add_json(command, arguments->json)->group("Output");
  return {&command, [=] {
            arguments->threads_given = threads->count() > 0;
            arguments->share_given = share->count() > 0;
            if (!arguments->outcome_range.empty())
              arguments->columns.outcome_range = parse_range(arguments->outcome_range);
            run(*arguments);
          }};
}

}  // namespace widthwise::cli
