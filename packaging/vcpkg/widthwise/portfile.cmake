# Draft of a port for vcpkg: widthwise::core and widthwise::xgboost. SHA512 is that of the archive of the tag.
vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO widthwise/widthwise
  REF "v${VERSION}"
  SHA512 0)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DWIDTHWISE_BUILD_TESTS=OFF
    -DWIDTHWISE_BUILD_BENCHMARKS=OFF
    -DWIDTHWISE_CLI=OFF
    -DWIDTHWISE_IO=OFF
    -DWIDTHWISE_TORCH=OFF
    -DWIDTHWISE_WARNINGS_AS_ERRORS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/widthwise)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
