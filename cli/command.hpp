#pragma once

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): as CLI11 calls itself
class App;
}

namespace widthwise::cli {

/// One command of the program: where its options were declared, and what to do once they are read.
struct Command {
  CLI::App* options = nullptr;
  std::function<void()> run;
};

/// Thrown to end the program with this code when all has been said.
struct ExitWith {
  int code;
};

/// The exit code when one of several workers is gone: worth another try.
inline constexpr int kLostWorkerExit = 3;

/// The exit code when the reader of standard output has closed it: what a shell makes of SIGPIPE.
inline constexpr int kClosedPipeExit = 141;

// Each declares one command's options and returns it. They stand in files of the same names.
[[nodiscard]] Command add_fit(CLI::App& program);
[[nodiscard]] Command add_calibrate(CLI::App& program);
[[nodiscard]] Command add_merge(CLI::App& program);
[[nodiscard]] Command add_predict(CLI::App& program);
[[nodiscard]] Command add_track(CLI::App& program);
[[nodiscard]] Command add_evaluate(CLI::App& program);
[[nodiscard]] Command add_plan(CLI::App& program);
[[nodiscard]] Command add_inspect(CLI::App& program);
[[nodiscard]] Command add_completion(CLI::App& program);
[[nodiscard]] Command add_help(CLI::App& program);

}  // namespace widthwise::cli
