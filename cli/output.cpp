#include "output.hpp"

#include <unistd.h>

#include <cerrno>
#include <iostream>

#include <nlohmann/json.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise::cli {
namespace {

std::string& speaker() {
  static std::string name = "widthwise";
  return name;
}

bool& results_to_stderr() {
  static bool to_stderr = false;
  return to_stderr;
}

int& stdout_error() {
  static int error = 0;
  return error;
}

}  // namespace

std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
  const std::string nearest = internal::nearest_name(name, names);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

void print_json(const Json& json) {
  print_raw(internal::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n");
}

void print(std::string_view text) { print_raw(internal::printable(text, internal::Newlines::kKept)); }

void print_raw(std::string_view text) {
  if (results_to_stderr()) {
    std::cerr << text;
    return;
  }
  if (!std::cout) return;
  errno = 0;
  std::cout << text << std::flush;
  if (!std::cout) stdout_error() = errno;
}

void print_to_stderr() { results_to_stderr() = true; }

bool shows_rows() { return results_to_stderr() && isatty(STDOUT_FILENO) != 0; }

int output_error() { return stdout_error(); }

void set_speaker(std::string name) { speaker() = std::move(name); }

void complain(std::string_view text) { std::cerr << speaker() << ": " << internal::printable(text) << "\n"; }

void warn(std::string_view text) { complain("warning: " + std::string(text)); }

}  // namespace widthwise::cli
