#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace widthwise {

/// The description of one option. The command line, the checks of Python, the checkpoint key, the notes of a model and
/// docs/options.md are all made from it.
struct OptionInfo {
  std::string name;                ///< "learning_rate"; the command line writes --learning-rate
  std::string form;                ///< how a value is written, as --help shows it: "N", "even|narrow|0..1"
  std::string expected;            ///< accepted values, for errors: "a number above 0 and at most 1"
  std::string help;                ///< a noun phrase or an imperative
  std::string group = {};          ///< heading of --help and docs/options.md
  std::string default_value = {};  ///< as text; OptionTable fills it in
  bool in_key = true;  ///< false for options that training does not depend on, such as the number of threads
  std::function<std::string(std::string_view)> hint = {};  ///< what an invalid text may mean: "; did you mean 0.9?"
};

/// Values of options by name, as text.
using OptionValues = std::map<std::string, std::string>;

/// Read "name=value,name=value"; a value may contain commas. Throws kInvalidArgument.
[[nodiscard]] OptionValues parse_option_values(std::string_view text);
/// What parse_option_values reads.
[[nodiscard]] std::string to_string(const OptionValues& values);

/// Throw kInvalidArgument: "folds is '1'; expected a whole number of at least 2".
[[noreturn]] void throw_invalid_option(std::string_view shown_name, std::string_view text, const OptionInfo& info);
/// Throw kInvalidArgument with the nearest option name, or with all names.
[[noreturn]] void throw_unknown_option(std::string_view name, std::span<const OptionInfo> known);
/// Whether `read` succeeds; an Error of kInvalidArgument counts as false.
[[nodiscard]] bool succeeds(const std::function<bool()>& read);

/// The options of a struct, described once. Each field can be read from text and written to text exactly.
/// Invariant: reading what was written gives the same value.
/// Thread safety: immutable.
template <class Options>
class OptionTable {
 public:
  /// One field of Options.
  struct Field {
    OptionInfo info;  ///< name, range and help
    /// Set the field; false, or an Error, for an invalid text.
    std::function<bool(Options&, std::string_view)> read;
    std::function<std::string(const Options&)> write;  ///< the field as text that `read` accepts
  };

  /// The defaults are those of a new Options.
  explicit OptionTable(std::vector<Field> fields) : fields_(std::move(fields)) {
    const Options defaults{};
    for (Field& field : fields_) {
      field.info.default_value = field.write(defaults);
      infos_.push_back(field.info);
    }
  }

  [[nodiscard]] std::span<const Field> fields() const { return fields_; }  ///< in the order of --help
  /// The descriptions of `fields`, in the same order.
  [[nodiscard]] std::span<const OptionInfo> infos() const { return infos_; }

  /// Set an option from text. Throws kInvalidArgument for an unknown name or an invalid value; `shown_name` is what the
  /// message calls the option, by default its name.
  void set(Options& options, std::string_view name, std::string_view text, std::string_view shown_name = {}) const {
    const Field& field = find(name);
    const bool valid = succeeds([&] { return field.read(options, text); });
    if (!valid) throw_invalid_option(shown_name.empty() ? name : shown_name, text, field.info);
  }

  /// Set several options by name. Throws like `set` for one; options before the invalid one are then set.
  void set(Options& options, const OptionValues& values) const {
    for (const auto& [name, text] : values) set(options, name, text);
  }

  /// The value of an option as text. Throws kInvalidArgument for an unknown name.
  [[nodiscard]] std::string get(const Options& options, std::string_view name) const {
    return find(name).write(options);
  }

  /// Throw kInvalidArgument unless every field has a value that can be read back: for options that were set in C++.
  void check(const Options& options) const {
    Options copy = options;
    for (const Field& field : fields_) set(copy, field.info.name, field.write(options));
  }

  /// What to_string writes, after check.
  [[nodiscard]] std::string checked_to_string(const Options& options) const {
    check(options);
    return to_string(options);
  }

  /// The options of the key as "name=value name=value": equal for equal options only.
  [[nodiscard]] std::string to_string(const Options& options) const {
    std::string text;
    for (const Field& field : fields_) {
      if (!field.info.in_key) continue;
      if (!text.empty()) text += ' ';
      text.append(field.info.name).append("=").append(field.write(options));
    }
    return text;
  }

 private:
  [[nodiscard]] const Field& find(std::string_view name) const {
    for (const Field& field : fields_) {
      if (field.info.name == name) return field;
    }
    throw_unknown_option(name, infos_);
  }

  std::vector<Field> fields_;
  std::vector<OptionInfo> infos_;
};

}  // namespace widthwise
