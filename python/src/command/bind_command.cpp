#include <cstdio>
#include <cstdlib>

#include <widthwise/train/threads.hpp>

#include "bindings.hpp"
#include "program.hpp"

namespace widthwise::python {
namespace {

/// Run the command line; ends this process.
[[noreturn]] void run_command(const std::vector<nb::bytes>& arguments) {
  std::vector<const char*> words;
  for (const nb::bytes& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  const nb::gil_scoped_release release;
  const int code = cli::run_program(static_cast<int>(arguments.size()), words.data());
  // All output is written. Skip the slow end of Python and of the libraries in this process.
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace

void bind_command(nb::module_& module) {
  module.def("run_command", &run_command, nb::arg("arguments"));
  module.def("can_start_threads", &can_start_threads, nb::arg("count"));
}

}  // namespace widthwise::python
