# Write widthwise.cdx.json, the bill of materials of the wheel (CycloneDX), with the versions that are compiled in.
# tests/python/test_supply_chain.py compares it with the includes of the sources and the libraries that are linked.

function(widthwise_read_version out header pattern)
  file(STRINGS "${header}" line REGEX "${pattern}")
  if(NOT line MATCHES "${pattern}")
    message(FATAL_ERROR "${header}: no line that matches '${pattern}', which the bill of materials needs")
  endif()
  set(${out}
      "${CMAKE_MATCH_1}"
      PARENT_SCOPE)
endfunction()

widthwise_read_version(cli11_version "${WIDTHWISE_CLI11_INCLUDE_DIR}/CLI/Version.hpp" "define CLI11_VERSION \"([^\"]+)\"")
foreach(part MAJOR MINOR RELEASE)
  widthwise_read_version(xxhash_${part} "${WIDTHWISE_XXHASH_INCLUDE_DIR}/xxhash.h" "define XXH_VERSION_${part} +([0-9]+)")
endforeach()
set(xxhash_version "${xxhash_MAJOR}.${xxhash_MINOR}.${xxhash_RELEASE}")
widthwise_read_version(fmt_number "${WIDTHWISE_FMT_INCLUDE_DIR}/fmt/core.h" "define FMT_VERSION +([0-9]+)")
string(REGEX REPLACE "^([0-9]+)([0-9][0-9])([0-9][0-9])$" "\\1.\\2.\\3" fmt_version "${fmt_number}")
string(REGEX REPLACE "\\.0([0-9])" ".\\1" fmt_version "${fmt_version}")

# The hash of a library: SHA-256 of what `sha256sum` prints for its files that are compiled in, in the order of their
# names: cd FOLDER && find NAMES -type f | LC_ALL=C sort | xargs sha256sum | sha256sum
function(widthwise_hash_headers out folder)
  set(found "")
  foreach(name IN LISTS ARGN)
    if(IS_DIRECTORY "${folder}/${name}")
      file(GLOB_RECURSE files RELATIVE "${folder}" "${folder}/${name}/*")
      list(APPEND found ${files})
    elseif(EXISTS "${folder}/${name}")
      list(APPEND found "${name}")
    else()
      message(FATAL_ERROR "${folder}: no ${name}, which the bill of materials needs")
    endif()
  endforeach()
  list(SORT found)
  set(lines "")
  foreach(name IN LISTS found)
    file(SHA256 "${folder}/${name}" hash)
    string(APPEND lines "${hash}  ${name}\n")
  endforeach()
  string(SHA256 hash "${lines}")
  set(${out}
      "${hash}"
      PARENT_SCOPE)
endfunction()

widthwise_hash_headers(boost_hash "${WIDTHWISE_BOOST_MATH_INCLUDE_DIR}" boost/math)
widthwise_hash_headers(cli11_hash "${WIDTHWISE_CLI11_INCLUDE_DIR}" CLI)
widthwise_hash_headers(fmt_hash "${WIDTHWISE_FMT_INCLUDE_DIR}" fmt)
widthwise_hash_headers(nanobind_hash "${NB_DIR}" include src)
widthwise_hash_headers(robin_map_hash "${NB_DIR}/ext/robin_map/include" tsl)
widthwise_hash_headers(nlohmann_json_hash "${WIDTHWISE_NLOHMANN_JSON_INCLUDE_DIR}" nlohmann)
widthwise_hash_headers(xxhash_hash "${WIDTHWISE_XXHASH_INCLUDE_DIR}" xxhash.h)
configure_file("${CMAKE_CURRENT_LIST_DIR}/sbom.cdx.json.in" widthwise.cdx.json @ONLY)
