#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace widthwise::cli {

/// Layout of help: purpose, usage, arguments, options by group, example.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_formatter();

/// The message for invalid arguments: one line, with the nearest name if there is one.
[[nodiscard]] std::string usage_error(const CLI::App& program, const CLI::App& command, const CLI::ParseError& error);

}  // namespace widthwise::cli
