# Find the Python interpreter that has the engines, as Python3_EXECUTABLE: the one given with -DPython3_EXECUTABLE=..., that
# of the active virtual or conda environment, or the first python3 on the PATH. The installed package includes this file.
#
# A cmake that was started through a pyenv shim has pyenv's own interpreter at the front of its PATH, and FindPython3 also
# searches PYENV_ROOT. Neither matches the PATH of the user, so folders of PYENV_ROOT/versions are searched last.
if(NOT Python3_EXECUTABLE)
  set(first "")
  set(last "")
  foreach(variable VIRTUAL_ENV CONDA_PREFIX)
    if(NOT "$ENV{${variable}}" STREQUAL "")
      list(APPEND first "$ENV{${variable}}/bin")
    endif()
  endforeach()
  cmake_path(CONVERT "$ENV{PATH}" TO_CMAKE_PATH_LIST path_folders)
  foreach(folder IN LISTS path_folders)
    set(of_pyenv FALSE)
    if(NOT "$ENV{PYENV_ROOT}" STREQUAL "")
      set(versions "$ENV{PYENV_ROOT}/versions")
      cmake_path(IS_PREFIX versions "${folder}" NORMALIZE of_pyenv)
    endif()
    if(of_pyenv)
      list(APPEND last "${folder}")
    else()
      list(APPEND first "${folder}")
    endif()
  endforeach()
  # Not cached, so that a wrong choice does not persist.
  find_program(
    found_python NAMES python3
    PATHS ${first} ${last}
    NO_DEFAULT_PATH NO_CACHE)
  if(found_python)
    # A shim prints the interpreter that it starts.
    execute_process(
      COMMAND "${found_python}" -c "import sys; print(sys.executable)"
      OUTPUT_VARIABLE Python3_EXECUTABLE
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
find_package(Python3 QUIET COMPONENTS Interpreter)
