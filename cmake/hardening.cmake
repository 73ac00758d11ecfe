# Hardening options of optimised builds: memory errors abort the program, and function tables are read-only.
# tests/hardening.py verifies them on the program and the Python module.
#   _GLIBCXX_ASSERTIONS          checks the indices of vectors, spans, strings and optionals; _LIBCPP_HARDENING_MODE with libc++
#   _FORTIFY_SOURCE=3            checks the sizes of buffers passed to the C library
#   -fstack-protector-strong     detects overwritten stack frames
#   -fstack-clash-protection     touches each page of a large frame, so that it cannot skip the guard page
#   -fcf-protection              marks the targets of indirect jumps and calls, for processors that check them (CET);
#                                linkers mark the whole file only if the startup code of the C library has it, which Debian's does not
#   -z relro, -z now             binds all functions at startup and makes their table read-only
# Debug builds are for the sanitizers, which check more and are incompatible with _FORTIFY_SOURCE.
include(CheckCXXCompilerFlag)
include(CheckCXXSymbolExists)
set(optimised "$<CONFIG:Release,RelWithDebInfo>")
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "WIDTHWISE_COMPILER_TAKES${flag}" taken)
  check_cxx_compiler_flag(${flag} ${taken})
  if(${taken})
    add_compile_options($<${optimised}:${flag}>)
  endif()
endforeach()
add_compile_options("$<${optimised}:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>" $<${optimised}:-D_GLIBCXX_ASSERTIONS>)
check_cxx_symbol_exists(_LIBCPP_VERSION version WIDTHWISE_LIBCPP)
if(WIDTHWISE_LIBCPP)
  set(mode "-U_LIBCPP_HARDENING_MODE -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_FAST")
  add_compile_options("$<${optimised}:SHELL:${mode}>")
endif()
if(NOT APPLE)
  add_link_options(-Wl,-z,relro,-z,now)
endif()
