# Find LibTorch and create the target widthwise_libtorch. The installed package also includes this file.
# LibTorch's package appends to CMAKE_CXX_FLAGS and sets other variables; a function limits their scope.
function(widthwise_find_torch)
  # It warns about components that are not needed here.
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)
  find_package(Torch 2.4 QUIET)
  if(NOT Torch_FOUND)
    # The Python package contains the C++ library.
    include("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/find_python.cmake")
    if(Python3_Interpreter_FOUND)
      execute_process(
        COMMAND "${Python3_EXECUTABLE}" -c "import torch; print(torch.utils.cmake_prefix_path)"
        OUTPUT_VARIABLE prefix
        RESULT_VARIABLE failed
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(NOT failed)
        find_package(Torch 2.4 QUIET PATHS "${prefix}" NO_DEFAULT_PATH)
      endif()
    endif()
  endif()
  if(NOT Torch_FOUND)
    message(
      FATAL_ERROR
        "widthwise::torch needs LibTorch 2.4 or later; there is none in CMAKE_PREFIX_PATH or in the Python found, "
        "'${Python3_EXECUTABLE}'. Install it there with\n  pip install torch==2.13.0\nname another Python with\n"
        "  -DPython3_EXECUTABLE=/path/to/python3\nor leave the library out with\n  -DWIDTHWISE_TORCH=OFF")
  endif()
  unset(CMAKE_MESSAGE_LOG_LEVEL)
  message(STATUS "widthwise: LibTorch ${Torch_VERSION} from ${Torch_DIR}")
  add_library(widthwise_libtorch INTERFACE IMPORTED)
  set_target_properties(widthwise_libtorch PROPERTIES WIDTHWISE_LIBRARY_FOLDER "${TORCH_INSTALL_PREFIX}/lib")
  target_link_libraries(widthwise_libtorch INTERFACE ${TORCH_LIBRARIES})
  target_include_directories(widthwise_libtorch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
endfunction()
widthwise_find_torch()
