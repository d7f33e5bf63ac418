// version.hpp - the one place where the version stands; the build files and packages read it here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#if __cplusplus < 202002L
#error "cleave needs C++20: pass -std=c++20"
#endif
#ifndef __cpp_exceptions
#error "cleave reports errors by exceptions: compile without -fno-exceptions"
#endif

namespace cleave {

inline constexpr int version_major = 0, version_minor = 1, version_patch = 0;
inline constexpr char version[] = "0.1.0";

}  // namespace cleave
