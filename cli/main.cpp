#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <widthwise/error.hpp>
#include <widthwise/version.hpp>

#include "command.hpp"
#include "help.hpp"
#include "interrupt.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

constexpr int kDone = 0;
constexpr int kBadData = 1;
constexpr int kBadUsage = 2;

constexpr const char* kFooter =
    "'widthwise COMMAND --help' explains a command.\n"
    "\n"
    "Guarantee:\n"
    "  If new rows are exchangeable with the calibration rows, a 90% interval contains the outcome with\n"
    "  probability at least 90%, on average over calibration sets and new rows (marginal coverage).\n"
    "  This holds for any model and any data distribution, at any sample size. It does not say that\n"
    "  coverage is 90% for every kind of row; 'evaluate' and the report measure that.\n"
    "\n"
    "Exit codes:\n"
    "  0    done\n"
    "  1    bad data: a file that cannot be read or written, or does not hold what it should\n"
    "  2    bad usage: arguments that cannot be\n"
    "  3    a worker of several is gone (fit --workers, --tracker); the same command goes on where it was\n"
    "  130  interrupted (Ctrl-C); no file is left half-written\n"
    "\n"
    "Example:\n"
    "  widthwise fit homes.csv --target price --base xgboost -o homes.safetensors\n"
    "  widthwise predict homes.safetensors new.csv -o intervals.csv";

int exit_code(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kCancelled:
      return 128 + interrupt();
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kMissingEngine:
      return kBadUsage;
    case ErrorCode::kLostWorker:
      return kLostWorkerExit;
    default:
      return kBadData;
  }
}

// What the library says of a function called as the command, "fit: ...", without saying it twice.
std::string message_of(const std::exception& error, const std::string& command) {
  const std::string message = error.what();
  const std::string twice = command + ": ";
  return message.starts_with(twice) ? message.substr(twice.size()) : message;
}

int run(int argc, const char* const* argv) {
  CLI::App program("Honest prediction intervals around the predictions of any regression model.", "widthwise");
  program.formatter(help_formatter());
  program.set_help_flag("-h,--help", "print this help");
  program.set_version_flag("--version", std::string("widthwise ") + kVersion, "print the version");
  program.require_subcommand(1);
  program.footer(kFooter);
  const std::vector<Command> commands = {add_fit(program),     add_calibrate(program), add_merge(program),
                                         add_predict(program), add_track(program),     add_evaluate(program),
                                         add_plan(program),    add_inspect(program),   add_completion(program)};

  const auto chosen = [&]() -> const CLI::App& {
    const auto parsed = program.get_subcommands();
    return parsed.empty() ? program : *parsed.front();
  };
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return kDone;
  } catch (const CLI::CallForHelp&) {
    print(&chosen() == &program ? program.help() : chosen().help(program.get_name()));
    return kDone;
  } catch (const CLI::ParseError& error) {
    set_speaker(&chosen() == &program ? "widthwise" : "widthwise " + chosen().get_name());
    complain(usage_error(program, chosen(), error));
    return kBadUsage;
  }

  set_speaker("widthwise " + chosen().get_name());
  const auto command =
      std::find_if(commands.begin(), commands.end(), [&](const Command& known) { return known.options == &chosen(); });
  try {
    command->run();
  } catch (const ExitWith& exit) {
    return exit.code;
  } catch (const Error& error) {
    complain(error.code() == ErrorCode::kCancelled ? "interrupted" : message_of(error, chosen().get_name()));
    return exit_code(error);
  }
  return kDone;
}

}  // namespace
}  // namespace widthwise::cli

int main(int argc, char** argv) {
  namespace cli = widthwise::cli;
  try {
    cli::catch_interrupts();
    const int code = cli::run(argc, argv);
    std::cout.flush();
    if (std::cout) return code;
    cli::complain("cannot write to the standard output");
  } catch (const std::bad_alloc&) {
    cli::complain("out of memory");
  } catch (const std::exception& error) {
    cli::complain(error.what());
  }
  return cli::kBadData;
}
