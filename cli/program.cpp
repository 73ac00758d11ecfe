#include "program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <system_error>

#include <widthwise/error.hpp>
#include <widthwise/version.hpp>

#include "base/file.hpp"
#include "base/layout.hpp"
#include "base/text.hpp"
#include "help.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "standard_streams.hpp"
#include "terminal.hpp"

namespace widthwise::cli {
namespace {

constexpr int kDone = 0;
constexpr int kBadData = 1;
constexpr int kBadUsage = 2;
constexpr const char* kMoreThreads =
    "; raise the limit of processes (ulimit -u, or that of the container) or of memory";

constexpr const char* kFooter =
    "Run 'widthwise help COMMAND' for the options of a command.\n"
    "\n"
    "Guarantee:\n"
    "  If new rows are exchangeable with the calibration rows, a 90% interval contains the outcome with "
    "probability at least 90%, on average over calibration sets and new rows (marginal coverage). "
    "This holds for any model and any data distribution, at any sample size. It does not say that "
    "coverage is 90% for every kind of row; 'evaluate' and the report measure that.\n"
    "\n"
    "Exit codes:\n"
    "  0    done\n"
    "  1    invalid data: a file cannot be read or written, or its content is invalid\n"
    "  2    invalid arguments, or a training engine is missing\n"
    "  3    lost a worker (fit --tracker); rerun the same command to resume\n"
    "  130  interrupted (Ctrl-C, SIGINT); output files are complete or unchanged\n"
    "  141  the reader of standard output closed it (SIGPIPE), as 'head' does\n"
    "  143  terminated (SIGTERM); output files are complete or unchanged\n"
    "\n"
    "Example:\n"
    "  widthwise fit homes.csv --target price --base trees -o homes.safetensors\n"
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

// The message without names of C++ functions, and without the prefix "fit: " if the command has this name.
std::string message_of(const std::exception& error, const std::string& command) {
  const std::string message = internal::without_functions(error.what());
  const std::string twice = command + ": ";
  return message.starts_with(twice) ? message.substr(twice.size()) : message;
}

}  // namespace

Program::Program() : app_("Calibrated prediction intervals for any regression model.", "widthwise") {
  app_.formatter(help_formatter());
  app_.set_help_flag("-h,--help", "print this help");
  app_.set_version_flag("--version", std::string("widthwise ") + kVersion, "print the version");
  app_.require_subcommand(1);
  app_.footer(kFooter);
  commands_ = {add_fit(app_),     add_calibrate(app_),  add_merge(app_),  add_predict(app_),
               add_track(app_),   add_evaluate(app_),   add_report(app_), add_plan(app_),
               add_inspect(app_), add_completion(app_), add_help(app_)};
}

const CLI::App& Program::chosen() const {
  const auto parsed = app_.get_subcommands();
  return parsed.empty() ? app_ : *parsed.front();
}

std::string Program::command() const { return chosen().get_name(); }

std::optional<int> Program::parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return kDone;
  } catch (const CLI::CallForHelp&) {
    print(&chosen() == &app_ ? app_.help() : chosen().help(app_.get_name()));
    return kDone;
  } catch (const CLI::ParseError& error) {
    set_speaker(&chosen() == &app_ ? "widthwise" : "widthwise " + command());
    complain(usage_error(app_, chosen(), error));
    return kBadUsage;
  }
  set_speaker("widthwise " + command());
  return std::nullopt;
}

int Program::run() const {
  const auto parsed = std::find_if(commands_.begin(), commands_.end(),
                                   [&](const Command& known) { return known.options == &chosen(); });
  try {
    parsed->run();
  } catch (const ExitWith& exit) {
    return exit.code;
  } catch (const Error& error) {
    complain(error.code() == ErrorCode::kCancelled ? "interrupted" : message_of(error, command()));
    return exit_code(error);
  }
  return kDone;
}

int run_program(int argc, const char* const* argv) {
  try {
    reserve_standard_streams();
    catch_interrupts();
    if (const auto columns = terminal_columns(STDOUT_FILENO)) internal::set_text_width(*columns);
    Program program;
    const auto ended = program.parse(argc, argv);
    const int code = ended ? *ended : program.run();
    const int error = output_error();
    if (error == 0) return code;
    if (code == kDone && internal::has_committed_files()) {
      // The command did its work, and calibrating with the same rows again would be an error.
      warn("standard output: the summary cannot be written: " + std::system_category().message(error) +
           "; the output files are complete");
      return kDone;
    }
    // The reader closed the pipe, as in 'widthwise inspect m.safetensors | head -1'.
    if (error == EPIPE) return kClosedPipeExit;
    complain("standard output: cannot be written: " + std::system_category().message(error));
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::system_error& error) {
    const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
    complain(no_thread ? std::string("cannot start a thread: ") + error.what() + kMoreThreads : error.what());
  } catch (const std::exception& error) {
    complain(internal::without_functions(error.what()));
  }
  return kBadData;
}

}  // namespace widthwise::cli
