# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conan 2 recipe of this checkout: conan create .

The package holds headers and the CMake package that `cmake --install` writes, so that find_package(cleave COMPONENTS
...) is the same as without Conan. CUDA, NCCL, MPI and BLAS come from the system: the package has no options.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import load, rmdir

required_conan_version = ">=2.0"


class CleaveConan(ConanFile):
    name = "cleave"
    description = "Data- and model-parallel training of deep networks, planned at compile time"
    license = "Apache-2.0 WITH LLVM-exception"
    topics = ("deep-learning", "distributed-training", "data-parallel", "model-parallel", "cuda", "mpi", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "CMakeLists.txt", "LICENSE", "include/*", "cmake/*"
    no_copy_source = True
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "cleave", "version.hpp"))
        self.version = re.search(r'char version\[\] = "([0-9.]+)"', header).group(1)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for option in ("EXAMPLES", "TESTS", "BENCHMARKS"):
            toolchain.cache_variables[f"CLEAVE_BUILD_{option}"] = False
        toolchain.cache_variables["CLEAVE_CUDA"] = False  # the headers are the same; a consumer enables CUDA
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib"))  # pkg-config's file: Conan's PkgConfigDeps writes its own

    def package_id(self):
        self.info.clear()  # one package for every compiler and build type

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package's own cleave-config.cmake
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "cleave")]
        if self.settings.get_safe("os") in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
