# Options the library is always compiled with: the same results to the last bit whatever the CPU, in loops that vectorise.
#   -ffp-contract=off      a * b + c is two roundings everywhere, also where the CPU could fuse them
#   -fno-math-errno        sqrt and friends need not set errno, which would keep their loops scalar
#   -fno-trapping-math     no floating-point exception is ever trapped, so both sides of a branch may be computed
# None of them drops infinities, NaNs or the order of additions, as -ffast-math would.
function(widthwise_set_numeric_options target)
  target_compile_options(
    ${target} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math
                      $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
endfunction()

# Warnings are for our own builds only: somebody else's compiler may know new ones.
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
