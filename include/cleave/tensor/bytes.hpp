// tensor/bytes.hpp - literals for amounts of memory: 2_GiB, 512_MiB.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave {

inline namespace literals {
constexpr long operator""_KiB(unsigned long long n) { return static_cast<long>(n) << 10; }
constexpr long operator""_MiB(unsigned long long n) { return static_cast<long>(n) << 20; }
constexpr long operator""_GiB(unsigned long long n) { return static_cast<long>(n) << 30; }
}  // namespace literals

}  // namespace cleave
