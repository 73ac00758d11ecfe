# Options of every build of the library: bit-identical results on every CPU, and loops that vectorise.
#   -ffp-contract=off      a * b + c rounds twice on every CPU, without fused multiply-add
#   -fno-math-errno        math functions do not set errno, which would prevent vectorisation
#   -fno-trapping-math     floating-point exceptions are not trapped, so both sides of a branch may be computed
# Unlike -ffast-math, these options preserve infinities, NaNs and the order of additions.
function(widthwise_set_numeric_options target)
  target_compile_options(
    ${target} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math
                      $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
endfunction()

# Warnings are enabled only in our own builds, because other compilers may have new ones.
function(widthwise_set_warnings target)
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(
      ${target}
      PRIVATE -Wall
              -Wextra
              -Wpedantic
              -Wconversion
              -Wshadow
              -Wsign-conversion
              -Wnon-virtual-dtor
              -Wold-style-cast)
  endif()
  if(WIDTHWISE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
