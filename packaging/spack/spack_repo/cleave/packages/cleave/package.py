# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Cleave(CMakePackage, CudaPackage):
    """Data- and model-parallel training of deep networks, planned at compile time. Header-only C++20."""

    # The recipe of this checkout: the sources are those beside it.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *6 * [os.pardir]))

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")

    # Variants add dependencies for find_package(cleave COMPONENTS ...); the files installed are the same. CudaPackage has
    # +cuda, kernels on a GPU (cleave::cuda), and cuda_arch.
    variant("blas", default=False, description="Matrix products by a BLAS (cleave::blas)")
    variant("mpi", default=False, description="Ranks as MPI processes (cleave::mpi)")
    variant("nccl", default=False, when="+cuda", description="Ranks on GPUs of their own (cleave::nccl)")

    depends_on("cxx", type="build")
    depends_on("cmake@3.23:", type="build")
    depends_on("blas", when="+blas")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@13:", when="+cuda")
    depends_on("nccl", when="+nccl")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl cuda_arch={arch}", when=f"+nccl cuda_arch={arch}")

    conflicts("cuda_arch=none", when="+nccl", msg="name the GPUs that NCCL is built for, as in +nccl cuda_arch=90")
    conflicts("%gcc@:11", msg="cleave needs C++20 as g++ 12 has it")
    conflicts("%clang@:13", msg="cleave needs C++20 as clang++ 14 has it")

    def cmake_args(self):
        off = ("BUILD_EXAMPLES", "BUILD_TESTS", "BUILD_BENCHMARKS", "CUDA")
        return [self.define(f"CLEAVE_{option}", False) for option in off] + [self.define("CLEAVE_INSTALL", True)]
