#include <cstdio>
#include <cstdlib>

#include "engines.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  widthwise::cli::register_engines();
  const int code = widthwise::cli::run_program(argc, argv);
  // Everything is written and every thread of ours has ended. Destructors of LibTorch and Arrow would only take time.
  std::fflush(nullptr);
  std::_Exit(code);
}
