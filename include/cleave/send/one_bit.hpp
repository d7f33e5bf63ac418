// send/one_bit.hpp - `Compress<OneBit>`: the sign of each element, and for every 512 of them the mean of either sign.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "codec.hpp"

namespace cleave {

/// Each block is the mean of its non-negative elements and of its negative ones (f32 both), then a bit an element, the
/// first in the lowest. Source: Seide, Fu, Droppo, Li, Yu, "1-bit stochastic gradient descent and its application to
/// data-parallel distributed training of speech DNNs", Interspeech 2014, section 3; there a block is a column of a
/// weight.
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
      A padded[block];
      if (count < block) {
        for (long i = 0; i < block; ++i) padded[i] = i < count ? g[first + i] : A{0};
      }
      out = whole(count, count < block ? padded : g + first, out);
    }
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long first = 0; first < n; first += block) {
      long const count = n - first < block ? n - first : block;
      A const up = static_cast<A>(send::load<float>(in)), down = static_cast<A>(send::load<float>(in + 4));
      in += 8;
      alignas(64) std::uint8_t is_up[block]{};
      for (long i = 0; i < count; i += 8) {  // its lowest bit to byte 0
        std::uint64_t const eight = static_cast<std::uint64_t>(in[i / 8]) * 0x0101010101010101u & 0x8040201008040201u;
        std::memcpy(is_up + i, &eight, 8);
      }
      alignas(64) A said[block];
      for (long i = 0; i < block; ++i) said[i] = is_up[i] != 0 ? up : down;
      tensor::each(count, [&](long i) { to(first + i, said[i]); });
      in += (count + 7) / 8;
    }
  }

  template <class A> CLEAVE_HD static float mean(A sum, long n) {
    return n > 0 ? static_cast<float>(sum / static_cast<A>(n)) : 0.0f;
  }

 private:
  /// The sum, in v[0]: adds the second half to the first, and so on.
  template <long N, class A> static void fold(A* v) {
    if constexpr (N > 1) {
      for (long i = 0; i < N / 2; ++i) v[i] += v[N / 2 + i];
      fold<N / 2>(v);
    }
  }
  /// Of `count` elements, padded with zeros to a whole block. Branch-free: gradients are noise, and every other branch
  /// would be mispredicted.
  template <class A> static std::byte* whole(long count, A const* v, std::byte* out) {
    alignas(64) A up[block], down[block];
    alignas(64) std::uint8_t positive[block];
    for (long i = 0; i < block; ++i) down[i] = v[i] < 0 ? v[i] : A{0};
    for (long i = 0; i < block; ++i) up[i] = v[i] - down[i];  // NaN goes here
    for (long i = 0; i < block; ++i) positive[i] = !(v[i] < 0);
    fold<block>(up);
    fold<block>(down);
    long ups = count - block;  // zeros are positive
    for (std::uint8_t const is : positive) ups += is;
    send::store(out, mean(up[0], ups));
    send::store(out + 4, mean(down[0], count - ups));
    out += 8;
    for (long i = 0; i < count; i += 8) {  // byte j's lowest bit comes to lie at bit 56 + j
      std::uint64_t eight;
      std::memcpy(&eight, positive + i, 8);
      *out++ = static_cast<std::byte>(eight * 0x0102040810204080u >> 56);
    }
    return out;
  }
};

}  // namespace cleave
