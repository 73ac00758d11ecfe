#include "described_options.hpp"

#include <algorithm>

#include <widthwise/error.hpp>

#include "options.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

using SetText = std::function<void(const std::string&)>;

/// Whether an option can be repeated, once per part of its value.
bool is_list(const OptionInfo& info) { return info.form.ends_with(",..."); }

bool is_flag(const OptionInfo& info) { return info.form.ends_with("true|false"); }

/// The flag that sets an option to false:.
std::string negative_flag(const OptionInfo& info) {
  return info.name == "two_sided" ? "--symmetric" : "--no-" + flag_of(info).substr(2);
}

void add_flags(CLI::App& command, const OptionInfo& info, const SetText& set) {
  CLI::Option* positive = nullptr;
  if (info.default_value != "true") {
    positive = command.add_flag_callback(flag_of(info), [set] { set("true"); }, info.help)->group(info.group);
  }
  if (info.default_value == "false") return;
  const std::string help = info.name == "two_sided" ? "use one half-width for both sides" : "do not " + info.help;
  CLI::Option* const negative =
      command.add_flag_callback(negative_flag(info), [set] { set("false"); }, help)->group(info.group);
  if (positive != nullptr) negative->excludes(positive);
}

CLI::Validator validator(const OptionInfo& info, const SetText& check, const std::vector<std::string>& choices) {
  return {[&info, check, choices](const std::string& text) {
            try {
              check(text);
            } catch (const Error&) {
              return "'" + text + "' is invalid; expected " + info.expected + suggestion(text, choices) +
                     (info.hint ? info.hint(text) : "");
            }
            return std::string();
          },
          ""};
}

}  // namespace

std::string flag_of(const OptionInfo& info) {
  std::string name = info.name == "confidence_level" ? "level" : info.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

void add_described_option(CLI::App& command, const OptionInfo& info, const SetText& set, const SetText& check) {
  if (is_flag(info)) {
    add_flags(command, info, set);
    return;
  }
  CLI::Option* option = nullptr;
  if (is_list(info)) {
    const auto set_all = [set](const std::vector<std::string>& texts) {
      std::string all;
      for (const std::string& text : texts) all.append(all.empty() ? "" : ",").append(text);
      set(all);
    };
    option = command.add_option_function<std::vector<std::string>>(flag_of(info), set_all, info.help)
                 ->allow_extra_args(false);
  } else {
    option = command.add_option_function<std::string>(flag_of(info), set, info.help);
  }
  option->type_name(info.form)->default_str(info.default_value)->group(info.group);
  option->check(validator(info, check, choices_of(*option)));
}

}  // namespace widthwise::cli
