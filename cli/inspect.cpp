#include <filesystem>
#include <memory>
#include <string>

#include <widthwise/model_file.hpp>
#include <widthwise/report.hpp>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

struct InspectArguments {
  std::string model;
  bool json = false;
};

void run(const InspectArguments& arguments) {
  const Model model = load(arguments.model);
  print_report(
      arguments.json,
      ModelReport{.model = model, .file = arguments.model, .bytes = std::filesystem::file_size(arguments.model)});
}

void declare(CLI::App& command, InspectArguments& arguments) {
  command.add_option("MODEL", arguments.model, "model file")->required()->type_name("FILE");
  add_json(command, arguments.json);
}

}  // namespace

Command add_inspect(CLI::App& program) {
  return make_command<InspectArguments>(program, "inspect", "Show the contents of a model file.",
                                        "widthwise inspect homes.safetensors", declare, run);
}

}  // namespace widthwise::cli
