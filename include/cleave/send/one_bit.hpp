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
      A up[lanes]{}, down[lanes]{}, wrong[lanes]{};  // each sums every eighth element
      long ups = 0;
      std::byte* const bits = out + 8;
      for (long i = 0; i + lanes <= count; i += lanes)
        bits[i / lanes] = eight<lanes>(v + i, lanes, up, down, wrong, ups);
      if (count % lanes > 0) {
        bits[count / lanes] = eight<0>(v + count / lanes * lanes, count % lanes, up, down, wrong, ups);
      }
      for (int k = 1; k < lanes; ++k) {
        up[0] += up[k];
        down[0] += down[k];
        wrong[0] += wrong[k];
      }
      up[0] += wrong[0];  // not a number, if one was not finite
      down[0] += wrong[0];
      send::store(out, ups > 0 ? static_cast<float>(up[0] / static_cast<A>(ups)) : 0.0f);
      send::store(out + 4, ups < count ? static_cast<float>(down[0] / static_cast<A>(count - ups)) : 0.0f);
      out = bits + (count + lanes - 1) / lanes;
    }
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long first = 0; first < n; first += block) {
      long const count = n - first < block ? n - first : block;
      A const mean[] = {static_cast<A>(send::load<float>(in + 4)), static_cast<A>(send::load<float>(in))};
      in += 8;
      long i = 0;
      for (; i + lanes <= count; i += lanes) {
        auto const bits = static_cast<unsigned>(in[i / lanes]);
        for (int k = 0; k < lanes; ++k) to(first + i + k, mean[bits >> k & 1u]);
      }
      for (; i < count; ++i) to(first + i, mean[static_cast<unsigned>(in[i / lanes]) >> (i % lanes) & 1u]);
      in += (count + 7) / 8;
    }
  }

 private:
  static constexpr int lanes = 8;
  /// Nothing here is a jump: of noise, every other one would be guessed wrong.
  template <int All, class A> static std::byte eight(A const* v, long some, A* up, A* down, A* wrong, long& ups) {
    unsigned bits = 0;
    long const n = All > 0 ? All : some;
    for (int k = 0; k < n; ++k) {
      up[k] += v[k] > 0 ? v[k] : A{0};
      down[k] += v[k] < 0 ? v[k] : A{0};
      wrong[k] += v[k] * 0;
    }
    for (int k = 0; k < n; ++k) bits |= static_cast<unsigned>(v[k] >= 0) << k;
    ups += __builtin_popcount(bits);
    return static_cast<std::byte>(bits);
  }
};

}  // namespace cleave
