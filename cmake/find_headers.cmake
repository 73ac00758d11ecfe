# Find the header-only libraries. Sets WIDTHWISE_<NAME>_INCLUDE_DIR for each, which the user may also give, and
# WIDTHWISE_HEADER_LIBRARIES, the include directories of the library. A target that the surrounding project has, or that
# find_package finds, is preferred to a header in the system's folders. With WIDTHWISE_FETCH_HEADERS, a library that is
# not installed is downloaded; FETCHCONTENT_SOURCE_DIR_<NAME> uses a local copy instead.
#
# The libraries are used by include directory instead of target: a target linked privately to a static library would
# still be part of the exported package, and consumers would have to find it.

# Set `out` to the include directories of the targets that exist.
function(widthwise_target_folders out)
  set(folders "")
  foreach(target ${ARGN})
    if(TARGET ${target})
      get_target_property(found ${target} INTERFACE_INCLUDE_DIRECTORIES)
      if(found)
        list(APPEND folders ${found})
      endif()
    endif()
  endforeach()
  list(TRANSFORM folders REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1")
  list(FILTER folders EXCLUDE REGEX "^\\$<")
  set(${out}
      "${folders}"
      PARENT_SCOPE)
endfunction()

# widthwise_find_headers(NAME HEADER file TITLE text DEBIAN package TARGETS ... URL address SHA256 hash FOLDER inside)
function(widthwise_find_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;TITLE;DEBIAN;URL;SHA256;FOLDER" "TARGETS")
  string(TOUPPER ${name} upper)
  set(variable WIDTHWISE_${upper}_INCLUDE_DIR)
  widthwise_target_folders(folders ${arg_TARGETS})
  find_path(${variable} ${arg_HEADER} HINTS ${folders})
  mark_as_advanced(${variable})
  if(NOT ${variable} AND WIDTHWISE_FETCH_HEADERS)
    include(FetchContent)
    # A folder that does not exist: the project of the library is not added, only its files are needed.
    FetchContent_Declare(
      ${name}
      URL "${arg_URL}"
      URL_HASH SHA256=${arg_SHA256}
      DOWNLOAD_EXTRACT_TIMESTAMP OFF
      SOURCE_SUBDIR only-headers)
    FetchContent_MakeAvailable(${name})
    FetchContent_GetProperties(${name} SOURCE_DIR source)
    find_path(${variable} ${arg_HEADER} PATHS "${source}/${arg_FOLDER}" NO_DEFAULT_PATH)
  endif()
  if(NOT ${variable})
    message(FATAL_ERROR "widthwise needs the headers of ${arg_TITLE} (${arg_HEADER}): install ${arg_DEBIAN} (Debian), name their "
                        "folder with -D${variable}=/path/to/include, or download all missing headers with "
                        "-DWIDTHWISE_FETCH_HEADERS=ON")
  endif()
endfunction()

if(NOT TARGET Boost::headers AND NOT TARGET Boost::math)
  find_package(Boost 1.74 CONFIG QUIET)
  if(NOT Boost_FOUND)
    find_package(boost_math CONFIG QUIET)
  endif()
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  find_package(nlohmann_json 3.11 QUIET)
endif()

widthwise_find_headers(
  boost_math
  HEADER boost/math/distributions/beta.hpp
  TITLE "Boost 1.74 or later, or of Boost.Math alone"
  DEBIAN libboost-dev
  TARGETS Boost::headers Boost::math
  URL https://github.com/boostorg/math/archive/refs/tags/boost-1.83.0.tar.gz
  SHA256 53e5f7539a66899fe0fca3080405cbd5f7959da5394ec13664746741aece1705
  FOLDER include)
widthwise_find_headers(
  nlohmann_json
  HEADER nlohmann/detail/abi_macros.hpp # which versions before 3.11 do not have
  TITLE "nlohmann-json 3.11 or later"
  DEBIAN nlohmann-json3-dev
  TARGETS nlohmann_json::nlohmann_json
  URL https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
  SHA256 0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406
  FOLDER include)
widthwise_find_headers(
  xxhash
  HEADER xxhash.h
  TITLE "xxHash 0.8 or later"
  DEBIAN libxxhash-dev
  TARGETS xxHash::xxhash
  URL https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.3.tar.gz
  SHA256 aae608dfe8213dfd05d909a57718ef82f30722c392344583d3f39050c7f29a80)
widthwise_find_headers(
  fmt
  HEADER fmt/format-inl.h
  TITLE "{fmt} 9 or later"
  DEBIAN libfmt-dev
  TARGETS fmt::fmt
  URL https://github.com/fmtlib/fmt/archive/refs/tags/10.1.1.tar.gz
  SHA256 78b8c0a72b1c35e4443a7e308df52498252d1cefc2b08c9a97bc9ee6cfe61f8b
  FOLDER include)
if(WIDTHWISE_CLI)
  widthwise_find_headers(
    cli11
    HEADER CLI/CLI.hpp
    TITLE "CLI11 2 or later"
    DEBIAN libcli11-dev
    TARGETS CLI11::CLI11
    URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.1.tar.gz
    SHA256 73b7ec52261ce8fe980a29df6b4ceb66243bb0b779451dbd3d014cfec9fdbb58
    FOLDER include)
endif()

# LibTorch ships another version of {fmt}, and its folder is searched before /usr/include; this link is searched first.
file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/fmt_headers")
file(CREATE_LINK "${WIDTHWISE_FMT_INCLUDE_DIR}/fmt" "${CMAKE_CURRENT_BINARY_DIR}/fmt_headers/fmt" SYMBOLIC)
set(WIDTHWISE_HEADER_LIBRARIES "${CMAKE_CURRENT_BINARY_DIR}/fmt_headers"
                               "${WIDTHWISE_XXHASH_INCLUDE_DIR}" "${WIDTHWISE_BOOST_MATH_INCLUDE_DIR}"
                               "${WIDTHWISE_NLOHMANN_JSON_INCLUDE_DIR}")
# Boost.Math by itself does not need the other libraries of Boost.
if(NOT EXISTS "${WIDTHWISE_BOOST_MATH_INCLUDE_DIR}/boost/config.hpp")
  add_compile_definitions(BOOST_MATH_STANDALONE)
endif()
