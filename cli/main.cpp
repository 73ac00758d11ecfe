#include "program.hpp"

int main(int argc, char** argv) { return widthwise::cli::run_program(argc, argv); }
