#pragma once

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace widthwise::cli {

/// One command of the program: its declared options, and the function that runs it after parsing.
struct Command {
  CLI::App* options = nullptr;
  std::function<void()> run;
};

/// Thrown to end the program with this exit code after all messages have been printed.
struct ExitWith {
  int code;
};

/// Exit code if a worker was lost; rerunning the command may succeed.
inline constexpr int kLostWorkerExit = 3;

/// Exit code if the reader of standard output has closed it; shells report SIGPIPE with this code.
inline constexpr int kClosedPipeExit = 141;

// Each function declares the options of one command and returns the command. It is defined in the file of that command.
[[nodiscard]] Command add_fit(CLI::App& program);
[[nodiscard]] Command add_calibrate(CLI::App& program);
[[nodiscard]] Command add_merge(CLI::App& program);
[[nodiscard]] Command add_predict(CLI::App& program);
[[nodiscard]] Command add_track(CLI::App& program);
[[nodiscard]] Command add_evaluate(CLI::App& program);
[[nodiscard]] Command add_report(CLI::App& program);
[[nodiscard]] Command add_plan(CLI::App& program);
[[nodiscard]] Command add_inspect(CLI::App& program);
[[nodiscard]] Command add_completion(CLI::App& program);
[[nodiscard]] Command add_help(CLI::App& program);

}  // namespace widthwise::cli
