"""Conan recipe: `conan create .` builds the libraries and, with -o widthwise/*:program=True, the program.

packaging/README.md shows how to build with the headers of the system instead of packages from Conan.
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Widthwise(ConanFile):
    name = "widthwise"
    description = "Conformal prediction intervals that are as narrow, or as even in coverage, as the data allow"
    license = "BSD-3-Clause"
    url = "https://github.com/widthwise/widthwise"
    topics = ("conformal-prediction", "prediction-intervals", "uncertainty", "regression")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"program": [True, False], "fPIC": [True]}
    default_options = {"program": False, "fPIC": True}
    exports_sources = (
        "CMakeLists.txt",
        "LICENSE",
        "cli/*",
        "cmake/*",
        "include/*",
        "licenses/*",
        "src/*",
    )
    generators = "CMakeDeps"
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include/widthwise/version.hpp"))
        self.version = re.search(r'kVersion = "([^"]+)"', header)[1]

    def requirements(self):
        # Only headers, compiled in: users of the package do not see them.
        hidden = {"visible": False, "libs": False}
        self.requires("boost/[>=1.74 <2]", options={"header_only": True}, **hidden)
        self.requires("fmt/[>=9 <11]", **hidden)
        self.requires("nlohmann_json/[>=3.11 <4]", **hidden)
        self.requires("xxhash/[>=0.8 <1]", **hidden)
        if self.options.program:
            self.requires("cli11/[>=2.1 <3]", **hidden)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # do not write into the source tree
        for name in ("BUILD_TESTS", "BUILD_BENCHMARKS", "IO", "TORCH", "WARNINGS_AS_ERRORS"):
            toolchain.cache_variables[f"WIDTHWISE_{name}"] = False
        toolchain.cache_variables["WIDTHWISE_CLI"] = bool(self.options.program)
        toolchain.cache_variables["WIDTHWISE_GROUPED_LIBRARIES"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The files of the package itself describe its targets.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "widthwise")]
