// send/one_bit.hpp - `Compress<OneBit>`: the sign of each element, and for every 512 of them the mean of either sign.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "codec.hpp"

namespace cleave {

/// Each block is the mean of what is not negative and of what is (f32 both), then a bit an element, the first in the
/// lowest. Source: Seide, Fu, Droppo, Li, Yu, "1-bit stochastic gradient descent and its application to data-parallel
/// distributed training of speech DNNs", Interspeech 2014, section 3; there a block is a column of a weight.
struct OneBit : send::Codec {
  static constexpr std::string_view name = "one bit";
  static constexpr long block = 512;
  static constexpr long bytes(long n) {
    long const rest = n % block;
    return n / block * (8 + block / 8) + (rest > 0 ? 8 + (rest + 7) / 8 : 0);
  }

  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long first = 0; first < n; first += block) {
      long const count = n - first < block ? n - first : block;
      A const* const v = g + first;
      A up = 0, down = 0;
      long ups = 0;
      for (long i = 0; i < count; ++i) {
        bool const positive = v[i] >= 0;
        (positive ? up : down) += v[i];
        ups += positive;
      }
      send::store(out, ups > 0 ? static_cast<float>(up / static_cast<A>(ups)) : 0.0f);
      send::store(out + 4, ups < count ? static_cast<float>(down / static_cast<A>(count - ups)) : 0.0f);
      out += 8;
      for (long i = 0; i < count; i += 8, ++out) {
        unsigned bits = 0;
        for (long k = i; k < count && k < i + 8; ++k) bits |= (v[k] >= 0 ? 1u : 0u) << (k - i);
        *out = static_cast<std::byte>(bits);
      }
    }
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long first = 0; first < n; first += block) {
      long const count = n - first < block ? n - first : block;
      A const mean[] = {static_cast<A>(send::load<float>(in + 4)), static_cast<A>(send::load<float>(in))};
      in += 8;
      for (long i = 0; i < count; ++i) to(first + i, mean[static_cast<unsigned>(in[i / 8]) >> (i % 8) & 1u]);
      in += (count + 7) / 8;
    }
  }
};

}  // namespace cleave
