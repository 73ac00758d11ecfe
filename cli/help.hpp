#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace widthwise::cli {

/// How help is laid out: purpose, usage, arguments, options by group, example.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_formatter();

/// What to say of arguments that were not understood: one line, with the nearest name where there is one.
[[nodiscard]] std::string usage_error(const CLI::App& program, const CLI::App& command, const CLI::ParseError& error);

}  // namespace widthwise::cli
