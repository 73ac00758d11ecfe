# Included by project() of examples/find_package: the version that the test requests is found, where it was installed.
find_package(widthwise ${REQUESTED_VERSION} CONFIG REQUIRED)
cmake_path(IS_PREFIX CMAKE_PREFIX_PATH "${widthwise_DIR}" is_the_one_under_test)
if(NOT is_the_one_under_test)
  message(FATAL_ERROR "found another widthwise: ${widthwise_DIR} is not in ${CMAKE_PREFIX_PATH}")
endif()
