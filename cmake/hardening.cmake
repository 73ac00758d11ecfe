# Options of optimised builds that turn an error in memory into the end of the program instead of a way in, and that leave
# no table of functions writable. tests/hardening.py reads them off the program and the Python module.
#   _GLIBCXX_ASSERTIONS          checks the indices of vectors, spans, strings and optionals
#   _FORTIFY_SOURCE=3            checks the sizes of buffers that are given to the C library
#   -fstack-protector-strong     notices when a function's frame was overwritten
#   -fstack-clash-protection     touches each page of a large frame, so that it cannot jump over the guard page
#   -fcf-protection              marks the targets of indirect jumps and calls, for processors that check them (CET);
#                                linkers mark the whole file only if the C library's start-up code has it, not on Debian
#   -z relro, -z now             binds all functions at the start and makes their table read-only
# Debug builds are those of the sanitizers, which check more, and do not go together with _FORTIFY_SOURCE.
include(CheckCXXCompilerFlag)
set(optimised "$<CONFIG:Release,RelWithDebInfo>")
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "WIDTHWISE_COMPILER_TAKES${flag}" taken)
  check_cxx_compiler_flag(${flag} ${taken})
  if(${taken})
    add_compile_options($<${optimised}:${flag}>)
  endif()
endforeach()
add_compile_options("$<${optimised}:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>" $<${optimised}:-D_GLIBCXX_ASSERTIONS>)
add_link_options(-Wl,-z,relro,-z,now)
