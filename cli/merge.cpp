#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>
#include <widthwise/row_checks.hpp>

#include "base/message.hpp"
#include "command.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct MergeArguments {
  std::string model;
  std::vector<std::string> shards;
  std::string output;
  std::string population;
  bool replace = false;
  bool json = false;
};

/// The rows of the shards, in addition to those of the model or, with --replace, alone.
CalibrationUpdate merged(const Model& model, const MergeArguments& arguments) {
  CalibrationUpdate update(model, arguments.replace, "--replace");
  for (const std::string& file : arguments.shards) {
    CalibrationShard shard = load_shard(file);
    with_file_in_errors(file, [&] {
      try {
        update.add(std::move(shard));
      } catch (const DuplicateRowError&) {
        throw internal::make_error(
            ErrorCode::kDuplicateRows,
            "rows of this shard are already in the calibration set{}, and duplicates make intervals too narrow. Pass "
            "every row once, or use --replace to calibrate with these shards only",
            arguments.shards.size() > 1 ? " or in an earlier shard" : "");
      }
    });
  }
  return update;
}

void run(const MergeArguments& arguments) {
  if (!arguments.output.empty()) require_other_file("--output", arguments.output, arguments.shards);
  const std::string& written = arguments.output.empty() ? arguments.model : arguments.output;
  const auto lock = lock_for_update(arguments.model, written);
  const Model before_rows = load(arguments.model);
  const Model model = for_rows_of(before_rows, arguments.population, arguments.replace);
  CalibrationUpdate update = merged(model, arguments);
  const std::string warning = check_in_sample(model, update.rows().residuals).warning();
  const Model calibrated = std::move(update).finish();
  save(calibrated, written);
  const std::uint64_t before = arguments.replace ? 0 : model.parts().calibration.rows_seen();
  print_report(arguments.json, CalibrationReport{.model = calibrated,
                                                 .file = written,
                                                 .rows_added = calibrated.parts().calibration.rows_seen() - before,
                                                 .weights_dropped = before_rows.scheme().weighs_new_rows() &&
                                                                    !calibrated.scheme().weighs_new_rows()});
  if (!warning.empty()) warn(warning);
}

void declare(CLI::App& command, MergeArguments& arguments) {
  command.add_option("MODEL", arguments.model, "model file; replaced atomically")->required()->type_name("FILE");
  command.add_option("SHARD", arguments.shards, "shards written by 'widthwise calibrate --emit' with this model")
      ->required()
      ->type_name("FILE");
  command.add_flag("--replace", arguments.replace, "discard the existing calibration set and use only these shards");
  add_population(command, arguments.population);
  command.add_option("-o,--output", arguments.output, "model file to write instead of MODEL")->type_name("FILE");
  add_json(command, arguments.json);
}

}  // namespace

Command add_merge(CLI::App& program) {
  return make_command<MergeArguments>(program, "merge",
                                      "Add shards written by 'calibrate --emit' to the calibration set of a model.",
                                      "widthwise merge homes.safetensors march.shard april.shard", declare, run);
}

}  // namespace widthwise::cli
