#include <exception>
#include <iostream>
#include <new>

#include "interrupt.hpp"
#include "output.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  namespace cli = widthwise::cli;
  constexpr int kFailed = 1;
  try {
    cli::catch_interrupts();
    cli::Program program;
    const auto ended = program.parse(argc, argv);
    const int code = ended ? *ended : program.run();
    std::cout.flush();
    if (std::cout) return code;
    cli::complain("cannot write to the standard output");
  } catch (const std::bad_alloc&) {
    cli::complain("out of memory");
  } catch (const std::exception& error) {
    cli::complain(error.what());
  }
  return kFailed;
}
