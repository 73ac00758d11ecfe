#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <widthwise/train/options.hpp>

namespace widthwise::cli {

/// The name of an option on the command line: --calibration-size.
[[nodiscard]] std::string flag_of(const OptionInfo& info);

/// Declare an option from its description. `set` assigns its value from text. `check` throws kInvalidArgument for
/// invalid text; it is called during parsing.
void add_described_option(CLI::App& command, const OptionInfo& info,
                          const std::function<void(const std::string& text)>& set,
                          const std::function<void(const std::string& text)>& check);

/// Declare all options of a table. `options` must outlive the command.
template <class Options>
void add_described_options(CLI::App& command, const OptionTable<Options>& table, Options& options) {
  for (const OptionInfo& info : table.infos()) {
    add_described_option(
        command, info, [&table, &options, &info](const std::string& text) { table.set(options, info.name, text); },
        [&table, &info](const std::string& text) {
          Options copy;
          table.set(copy, info.name, text);
        });
  }
}

}  // namespace widthwise::cli
