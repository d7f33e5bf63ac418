// send/bf16.hpp - `Compress<bf16>`: the upper half of each float, two bytes an element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "../tensor/number.hpp"
#include "codec.hpp"

namespace cleave::send {

struct Bf16 : Codec {
  static constexpr bool keeps_zeros = true;
  static constexpr std::string_view name = "bf16";
  static constexpr long block = 1;
  static constexpr long bytes(long n) { return 2 * n; }

  template <class A> static void encode(long n, A const* g, std::byte* out) {
    tensor::each(n, [&](long i) { store(out + 2 * i, bf16(static_cast<float>(g[i]))); });
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    tensor::each(n, [&](long i) { to(i, static_cast<A>(load<bf16>(in + 2 * i))); });
  }
};
template <> struct codec_of<bf16> { using is = Bf16; };

}  // namespace cleave::send
