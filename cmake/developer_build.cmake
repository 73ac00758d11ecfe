# Settings for builds of widthwise itself; a project that adds widthwise as a subdirectory makes its own choices.

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  set_property(CACHE CMAKE_BUILD_TYPE PROPERTY VALUE Release)
  message(STATUS "widthwise: no build type given, building Release")
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WIDTHWISE_CCACHE ccache)
  mark_as_advanced(WIDTHWISE_CCACHE)
  if(WIDTHWISE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${WIDTHWISE_CCACHE}")
  endif()
endif()

find_program(WIDTHWISE_MOLD mold)
mark_as_advanced(WIDTHWISE_MOLD)
if(WIDTHWISE_MOLD)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold WIDTHWISE_COMPILER_TAKES_MOLD)
  if(WIDTHWISE_COMPILER_TAKES_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
