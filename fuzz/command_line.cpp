// Read bytes as the arguments of the program, one per line: an error with exit code 2, or parsed. Only `plan`
// and `help` are run, because they read and write no files.
#include <iostream>
#include <vector>

#include "program.hpp"
#include "target.hpp"

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines{"widthwise"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end).substr(0, text.substr(0, end).find('\0')));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Discard the output.
  std::cout.setstate(std::ios::failbit);
  std::cerr.setstate(std::ios::failbit);
  const std::vector<std::string> arguments = lines_of(widthwise::fuzz::text_of({data, size}));
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  widthwise::cli::Program program;
  auto code = program.parse(static_cast<int>(pointers.size()), pointers.data());
  if (!code && (program.command() == "plan" || program.command() == "help")) code = program.run();
  widthwise::fuzz::require(!code || (*code >= 0 && *code <= 2), "the exit code is documented");
  return 0;
}
