#include <cstdio>
#include <cstdlib>

#include "engines.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  widthwise::cli::register_engines();
  const int code = widthwise::cli::run_program(argc, argv);
  // All output is written and all threads of this program have ended. Skip the slow destructors of LibTorch and Arrow.
  std::fflush(nullptr);
  std::_Exit(code);
}
