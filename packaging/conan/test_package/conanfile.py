"""Build examples/find_package with the package that `conan create` has made, and predict a row with it."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain


class UsesWidthwise(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        self.repository = os.path.join(self.recipe_folder, "../../..")
        self.folders.root = self.repository
        self.folders.source = "examples/find_package"
        self.folders.build = "build/conan"
        self.folders.generators = "build/conan/generators"

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # do not write into the source tree
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            program = os.path.join(self.build_folder, "intervals")
            model = os.path.join(self.repository, "tests/golden/model-trees.safetensors")
            self.run(f'"{program}" "{model}" 30 120 4')
