# Create the target widthwise_arrow: Arrow and Parquet for C++, from an installed Arrow or else from the pyarrow wheel,
# which has the headers and libraries of both. Targets in the build tree find the libraries there; an installed program
# needs WIDTHWISE_LIBRARY_FOLDER in its INSTALL_RPATH. The installed package also includes this file.

set(WIDTHWISE_ARROW_OLDEST 26)
string(CONCAT arrow_help "Install it with 'pip install pyarrow==26.*' (or as a C++ package and set CMAKE_PREFIX_PATH), "
                         "or build without CSV and Parquet: -DWIDTHWISE_IO=OFF")

find_package(Arrow CONFIG QUIET)
if(Arrow_FOUND)
  find_package(Parquet CONFIG QUIET HINTS "${Arrow_DIR}/../Parquet")
endif()

add_library(widthwise_arrow INTERFACE IMPORTED)
if(Arrow_FOUND AND Parquet_FOUND)
  set(arrow_version "${Arrow_VERSION}")
  set(arrow_origin "${Arrow_DIR}")
  foreach(package Arrow Parquet)
    string(TOLOWER ${package} library)
    if(TARGET ${package}::${library}_shared)
      target_link_libraries(widthwise_arrow INTERFACE ${package}::${library}_shared)
    else()
      target_link_libraries(widthwise_arrow INTERFACE ${package}::${library}_static)
    endif()
  endforeach()
else()
  include("${CMAKE_CURRENT_LIST_DIR}/find_python.cmake")
  if(NOT Python3_Interpreter_FOUND)
    message(FATAL_ERROR "widthwise::io needs Apache Arrow; there is neither a CMake package of it nor a Python that "
                        "could have pyarrow. ${arrow_help}")
  endif()
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
            "import pyarrow as p; print(p.__version__, p.get_include(), p.get_library_dirs()[0], sep=';')"
    OUTPUT_VARIABLE arrow_answer
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE arrow_failed)
  if(arrow_failed)
    message(FATAL_ERROR "widthwise::io needs Apache Arrow; there is neither a CMake package of it nor pyarrow in "
                        "${Python3_EXECUTABLE}. ${arrow_help}")
  endif()
  list(GET arrow_answer 0 arrow_version)
  list(GET arrow_answer 1 arrow_include)
  list(GET arrow_answer 2 arrow_origin)
  foreach(library arrow parquet)
    # Wheels have only versioned names: libarrow.so.2600.
    file(GLOB files "${arrow_origin}/lib${library}.so" "${arrow_origin}/lib${library}.so.*"
         "${arrow_origin}/lib${library}.*.dylib" "${arrow_origin}/lib${library}.dylib")
    if(NOT files OR NOT EXISTS "${arrow_include}/${library}")
      message(FATAL_ERROR "widthwise::io: pyarrow ${arrow_version} in ${arrow_origin} has no headers or no library of "
                          "${library}. ${arrow_help}")
    endif()
    list(GET files 0 file)
    add_library(widthwise_arrow_${library} SHARED IMPORTED)
    set_target_properties(widthwise_arrow_${library} PROPERTIES IMPORTED_LOCATION "${file}")
    target_include_directories(widthwise_arrow_${library} SYSTEM INTERFACE "${arrow_include}")
    target_link_libraries(widthwise_arrow INTERFACE widthwise_arrow_${library})
  endforeach()
  set_target_properties(widthwise_arrow PROPERTIES WIDTHWISE_LIBRARY_FOLDER "${arrow_origin}")
endif()

if(arrow_version VERSION_LESS WIDTHWISE_ARROW_OLDEST)
  message(FATAL_ERROR "widthwise::io needs Apache Arrow ${WIDTHWISE_ARROW_OLDEST} or newer; found ${arrow_version} "
                      "in ${arrow_origin}. ${arrow_help}")
endif()
message(STATUS "widthwise: Arrow ${arrow_version} in ${arrow_origin}")
