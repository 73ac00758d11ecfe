#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/registry.hpp>
#include <widthwise/version.hpp>

#include "base/hash.hpp"
#include "base/values.hpp"
#include "command.hpp"
#include "described_options.hpp"
#include "fit_tables.hpp"
#include "options.hpp"
#include "output.hpp"
#include "standard_streams.hpp"
#include "tables.hpp"
#include "terminal.hpp"
#include "workers.hpp"

namespace widthwise::cli {
namespace {

struct FitArguments {
  FitColumnChoice columns;
  std::string output;
  std::string shift_to;
  bool json = false;
  FitOptions options;
  TrainerOptions trainers;
  WorkerChoice workers;
  bool calibration_size_given = false;

  /// The columns by role, and the options that they may not come with.
  [[nodiscard]] Combination combination() const {
    Combination parts = options.combination();
    parts.add(columns.roles).add(Role::kGroup, !columns.group.empty(), join_labels(columns.group));
    return parts.add(Choice::kLearntWeights, !shift_to.empty())
        .add(Choice::kCvPredictions, !columns.cv_prediction.empty())
        .add(Choice::kQuantilePredictions, !columns.upper_prediction.empty())
        .add(Choice::kWorkers, workers.any());
  }

  /// The tables as text for messages.
  [[nodiscard]] std::string tables() const {
    const auto& names = columns.tables;
    return names.size() == 1
               ? names.front()
               : fmt::format("{} and {}", names.front(), internal::Count{names.size() - 1, "other table"});
  }
};

void require_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::kFile, file.string() + ": there is no folder " + folder.string());
  }
}

/// Throw unless this trainer supports several workers.
void check_distributed(TrainerKind kind, const std::string& name) {
  if (name.empty() || find_trainer(kind, name).distributed) return;
  std::string distributed;
  for (const TrainerEntry& entry : trainers()) {
    if (entry.kind == kind && entry.distributed) distributed += " " + entry.name;
  }
  throw Error(ErrorCode::kInvalidArgument, "--" + std::string(name_of(kind)) + " " + name +
                                               " trains in one process; several workers train" + distributed);
}

void check_arguments(const FitArguments& arguments) {
  const TrainerOptions& trainers = arguments.trainers;
  const int sources = (arguments.columns.prediction.empty() ? 0 : 1) +
                      (arguments.columns.cv_prediction.empty() ? 0 : 1) + (trainers.base.empty() ? 0 : 1);
  if (sources != 1) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "give one of --prediction COL, predictions of the deployed model on rows it has not seen; "
        "--cv-prediction COL, cross-validated predictions; or --base trees|quantiles to train a base model here");
  }
  if (!arguments.columns.upper_prediction.empty() && !trainers.base.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--upper-prediction: the base model that is trained here predicts the rows; leave it out");
  }
  if (!arguments.columns.cv_prediction.empty() && arguments.calibration_size_given) {
    throw Error(ErrorCode::kInvalidArgument,
                "--calibration-size: rows with cross-validated predictions (--cv-prediction) do not calibrate; leave "
                "it out, and run 'widthwise calibrate' with rows predicted by the deployed model");
  }
  if (arguments.options.calibration == CalibrationMethod::kCross && arguments.calibration_size_given) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "--calibration-size: with --calibration cross, every row calibrates the model of its fold; leave it out");
  }
  arguments.combination().check("fit");
  if (arguments.options.pool_groups != 0 && arguments.columns.group.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--pool-groups needs the column of the groups: --group COL");
  }
  if (arguments.workers.any()) {
    check_distributed(TrainerKind::kBase, trainers.base);
    check_distributed(TrainerKind::kLocalizer, trainers.localizer);
  }
  require_folder_of(arguments.output);
  require_other_file("--output", arguments.output, arguments.columns.tables);
}

/// This process, which fits alone or as one of several workers.
struct FitProcess {
  CommunicatorOptions meeting = {};
  std::string engine = {};                                ///< version of the engine that connects workers
  std::unique_ptr<const Communicator> communicator = {};  ///< null: alone

  void all_or_none(const std::function<void()>& work) const {
    if (communicator) {
      widthwise::all_or_none(*communicator, work);
    } else {
      work();
    }
  }
};

FitProcess join_workers(const FitArguments& arguments) {
  if (!arguments.workers.any()) return {};
  FitProcess process{.meeting = worker_options(arguments.workers)};
  const WorkerEngine& engine = worker_engine();
  process.engine = engine.version(arguments.trainers.xgboost);
  process.communicator = engine.join(arguments.trainers.xgboost, process.meeting);
  return process;
}

// ---- read

/// The rows of this process, and what fits them.
struct FitInput {
  FitColumns columns;
  FitData data;
  std::unique_ptr<Checkpoint> checkpoint;  ///< of several workers; the trainers borrow it
  Trainers trainers;
  std::unique_ptr<const LocalizerTrainer> shift;  ///< with --shift-to

  [[nodiscard]] FitTable table(const FitColumnChoice& choice) const {
    const bool cross_validated = !choice.cv_prediction.empty();
    Rows rows{.x = {data.x.data(), data.y.size(), columns.features.size()},
              .predictions = cross_validated ? std::span<const double>() : data.predictions,
              .labels = &data.labels[static_cast<std::size_t>(Role::kGroup)]};
    data.columns.set(rows);
    return {
        .rows = rows,
        .y = data.y,
        .features = columns.names(),
        .target = choice.target,
        .prediction = choice.prediction_column(),
        .upper_prediction = choice.upper_prediction,
        .columns = columns.roles,
        .categories = data.categories,
        .row_numbers = data.row_numbers,
        .cv_predictions = cross_validated ? data.predictions : std::span<const double>(),
        .shift_to = {data.shift_to.data(), data.shift_to.size() / columns.features.size(), columns.features.size()}};
  }
};

/// The fingerprints of the tables of all workers, separated by spaces.
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

/// The number that identifies a fit in a checkpoint: a hash of the tables, the columns, the options, the engine and the
/// number of workers.
std::uint64_t fit_number(const FitArguments& arguments, const FitColumns& columns, const std::string& origin,
                         const std::string& engine) {
  std::string text;
  const auto add = [&](const std::string& word) { text += std::to_string(word.size()) + ":" + word; };
  for (const std::string& word :
       {std::string(kVersion), engine, origin, arguments.options.to_string(), arguments.trainers.to_string(),
        std::to_string(arguments.workers.world), arguments.columns.target, arguments.columns.prediction,
        arguments.columns.cv_prediction, arguments.columns.upper_prediction}) {
    add(word);
  }
  for (const RoleEntry& entry : roles()) add(columns.roles[entry.role]);
  for (const FitFeature& feature : columns.features) add(feature.name + (feature.categorical ? " categorical" : ""));
  for (const std::string& marker : arguments.columns.reading.missing) add(marker);
  return internal::hash_bytes(text.size(), std::as_bytes(std::span(text)));
}

/// The part of the bar of a fit that reading fills. Tables are read much faster than they are fitted.
constexpr double kReadingShare = 0.05;

FitInput read_input(const FitArguments& arguments, const FitProcess& process) {
  const bool is_alone = process.communicator == nullptr;
  const auto make = [&](const TrainingContext& context) {
    return make_trainers(arguments.trainers, arguments.options.seed, arguments.options.needs_localizer(), context);
  };
  FitInput input;
  process.all_or_none([&] {
    input.columns = choose_columns(arguments.columns);
    if (is_alone) input.trainers = make({});  // throws before the rows are read
    const BarPart part(0, kReadingShare);
    const bool reads_all = is_alone || arguments.workers.own_tables;
    input.data = read_rows(arguments.columns, input.columns,
                           reads_all ? RowShare{} : RowShare{process.meeting.rank, process.meeting.workers});
  });
  agree_on_categories(input.columns, input.data, arguments.tables(), process.communicator.get());
  if (!arguments.shift_to.empty()) {
    const BarPart part(kReadingShare, kReadingShare);
    input.data.shift_to = read_shift_rows(arguments.shift_to, arguments.columns.reading, input.columns, input.data);
    input.shift = make_classifier_trainer(arguments.trainers, arguments.options.seed);
  }
  if (!is_alone) {
    const std::string origin = origin_of(input.data, *process.communicator);
    input.checkpoint = std::make_unique<Checkpoint>(arguments.output + ".checkpoint",
                                                    fit_number(arguments, input.columns, origin, process.engine),
                                                    process.communicator.get());
    input.trainers = make({process.communicator.get(), input.checkpoint.get()});
  }
  return input;
}

// ---- fit

FitResult fit_input(const FitArguments& arguments, const FitProcess& process, const FitInput& input) {
  const BarPart part(kReadingShare, 1);
  ProgressBar bar("rounds");
  return fit(input.table(arguments.columns), input.trainers.base.get(), input.trainers.localizer.get(),
             arguments.options, bar.callback(), process.communicator.get(), input.shift.get());
}

// ---- write

void warn_of_small_calibration(const Model& model) {
  if (model.calibration_rows() == 0) {
    warn_of_no_calibration(model);
    return;
  }
  for (const Level& level : model.parts().levels) {
    const std::string text = model.scheme().infinite_warning(model.parts().calibration, level);
    if (!text.empty()) {
      warn(text + (model.scheme().takes_rows() ? "; add rows with 'widthwise calibrate'" : "; fit with more rows"));
    }
  }
}

void report(const FitArguments& arguments, const FitColumns& columns, const FitResult& result) {
  std::vector<std::string> left_out;
  for (const LeftOut& column : columns.left_out) left_out.push_back(column.column);
  const std::optional<FitFiles> files = FitFiles{arguments.output, arguments.tables(), left_out};
  print_report(arguments.json, result, files);
  for (const LeftOut& column : columns.left_out) {
    warn(arguments.tables() + ": left out the column '" + column.column + "', which " + column.why);
  }
  for (const auto& warning : result.report.warnings) warn(warning);
  warn_of_small_calibration(result.model);
}

void write_result(const FitArguments& arguments, const FitProcess& process, const FitInput& input,
                  const FitResult& result) {
  process.all_or_none([&] { save(result.model, arguments.output); });
  if (input.checkpoint) input.checkpoint->remove();
  if (process.meeting.rank == 0) {
    report(arguments, input.columns, result);
  } else {
    print(fmt::format("{}: written by worker {} of {}, the same as by the others.\n", arguments.output,
                      process.meeting.rank, process.meeting.workers));
  }
}

void run(const FitArguments& arguments) {
  check_arguments(arguments);
  const FitProcess process = join_workers(arguments);
  const FitInput input = read_input(arguments, process);
  const FitResult result = fit_input(arguments, process, input);
  write_result(arguments, process, input, result);
}

// ---- arguments

void add_columns(CLI::App& command, FitColumnChoice& columns) {
  accept_standard_input(command.add_option("TABLE", columns.tables,
                                           "CSV or Parquet file, or several with the same columns; -: standard input"))
      ->required()
      ->type_name("FILE");
  const auto add = [&](const std::string& name, std::string& value, const std::string& help) {
    return command.add_option(name, value, help)->type_name("COL")->group("Data");
  };
  add("--target", columns.target, "column of outcomes")->required();
  add("--prediction", columns.prediction,
      "column of predictions by the deployed model, which has not seen these rows; they train and calibrate. "
      "Cross-validated predictions here would make coverage too low");
  add("--cv-prediction", columns.cv_prediction,
      "column of cross-validated predictions; they only train, and intervals are infinite until 'widthwise calibrate' "
      "adds rows predicted by the deployed model in the same column");
  add("--upper-prediction", columns.upper_prediction,
      "column of upper quantiles, such as those for 95%, if --prediction or --cv-prediction names the column of lower "
      "ones: intervals are learnt around the centre of both");
  for (const RoleEntry& entry : roles()) {
    if (!entry.reads(Step::kFit)) continue;
    if (entry.role == Role::kGroup) {
      add_list(command, entry.option(), columns.group, "COL", entry.help)->group("Data");
    } else {
      add(entry.option(), columns.roles[entry.role], entry.help);
    }
  }
  CLI::Option* features = add_list(command, "--features", columns.features, "A,B,...",
                                   "columns of x; default: all columns of numbers, and of text as categories")
                              ->group("Data");
  add_list(command, "--exclude", columns.exclude, "A,B,...", "columns to leave out of x")
      ->group("Data")
      ->excludes(features);
  add_list(command, "--categorical", columns.categorical, "A,B,...",
           "columns of integers or booleans to read as categories; columns of text always are")
      ->group("Data");
  add_table_options(command, columns.reading, "Data");
}

/// The trainer that does not take categorical features, as an option; empty if all do.
std::string trainer_without_categories(const TrainerOptions& trainers, bool with_localizer) {
  const auto lacks = [](TrainerKind kind, const std::string& name) {
    return !name.empty() && !find_trainer(kind, name).takes_categories;
  };
  if (lacks(TrainerKind::kBase, trainers.base)) return "--base " + trainers.base;
  return with_localizer && lacks(TrainerKind::kLocalizer, trainers.localizer) ? "--localizer " + trainers.localizer
                                                                              : "";
}

}  // namespace

Command add_fit(CLI::App& program) {
  auto arguments = std::make_shared<FitArguments>();
  CLI::App& command =
      add_command(program, "fit", "Fit a model to a table: base model, localizer and calibration.",
                  "widthwise fit homes.csv --target price --base trees -o homes.safetensors\n"
                  "  widthwise fit homes.csv --target price --prediction forecast --goal narrow -o homes.safetensors");
  add_columns(command, arguments->columns);
  command
      .add_option(
          "--shift-to", arguments->shift_to,
          "CSV or Parquet file of rows to predict, without outcomes, from another population than TABLE "
          "(covariate shift): learn how much more often each row occurs there, and weight calibration rows by it")
      ->type_name("FILE")
      ->group("Data");
  add_described_options(command, FitOptions::table(), arguments->options);
  add_described_options(command, TrainerOptions::table(), arguments->trainers);
  add_worker_options(command, arguments->workers, "Several machines");
  command.add_option("-o,--output", arguments->output, "model file to write")
      ->required()
      ->type_name("MODEL")
      ->group("Output");
  add_json(command, arguments->json)->group("Output");
  return {&command, [arguments, &command] {
            arguments->calibration_size_given = command.count("--calibration-size") > 0;
            arguments->options.outcome_space.check("--outcome-step");
            arguments->columns.outcome_space = arguments->options.outcome_space;
            arguments->columns.takes_no_categories =
                trainer_without_categories(arguments->trainers, arguments->options.needs_localizer());
            run(*arguments);
          }};
}

}  // namespace widthwise::cli
