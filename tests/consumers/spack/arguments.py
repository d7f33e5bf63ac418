# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""arguments.py PACKAGE - prints the CMake arguments of a Spack recipe, one a line.

What the recipe takes of Spack stands here as far as it uses it: directives note their arguments, and CMakePackage.define
is as Spack documents it. A directive that is not known fails.
"""
import pathlib
import runpy
import sys
import types

noted = {}


def directive(name):
    def note(*args, **kwargs):
        noted.setdefault(name, []).append((args, kwargs))
    return note


class CMakePackage:
    @staticmethod
    def define(name, value):
        kind = "BOOL" if isinstance(value, bool) else "STRING"
        return f"-D{name}:{kind}={('ON' if value else 'OFF') if isinstance(value, bool) else value}"


def module(name, **members):
    found = sys.modules[name] = types.ModuleType(name)
    found.__dict__.update(members)
    found.__all__ = list(members)


class CudaPackage:
    cuda_arch_values = ("80", "90")


names = ("license", "version", "variant", "depends_on", "conflicts")
module("spack")
module("spack.package", **{name: directive(name) for name in names})
for part in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
    module(part)
module("spack_repo.builtin.build_systems.cmake", CMakePackage=CMakePackage)
module("spack_repo.builtin.build_systems.cuda", CudaPackage=CudaPackage)

recipe = pathlib.Path(sys.argv[1]).resolve()
package = runpy.run_path(str(recipe))["Cleave"]
sources = pathlib.Path(package.git.removeprefix("file://"))
assert (sources / "include" / "cleave.hpp").is_file(), f"git names {sources}, which has no include/cleave.hpp"
variants = {args[0] for args, _ in noted["variant"]} | {"cuda"}
dependencies = [(args[0], kwargs["when"]) for args, kwargs in noted["depends_on"] if "when" in kwargs]
assert {when.split()[0].removeprefix("+") for _, when in dependencies} == variants, f"{dependencies} beside {variants}"
for arch in CudaPackage.cuda_arch_values:
    assert (f"nccl cuda_arch={arch}", f"+nccl cuda_arch={arch}") in dependencies, f"NCCL is not built for {arch}"
print("\n".join(package().cmake_args()))
