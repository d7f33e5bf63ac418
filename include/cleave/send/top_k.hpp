// send/top_k.hpp - `Compress<TopK<10>>`: of every 1000 elements the 10 of largest size, as pairs of index and value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

#include "codec.hpp"

namespace cleave {

/// k = n PerMille / 1000, rounded up. Of elements of one size the first are sent; pairs stand in the order of their
/// indices. Messages of several ranks name different elements, so their sum is no such message: everybody reads all.
/// Source: Aji, Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017; with error feedback it
/// converges: Stich, Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS 2018.
template <int PerMille> struct TopK : send::Codec {
  static constexpr std::string_view name = "top k";
  static constexpr bool resums = false;
  using law = send::top_k_is_a_share<PerMille>;
  static constexpr long kept(long n) { return (n * PerMille + 999) / 1000; }
  static constexpr long bytes(long n) { return 8 * kept(n); }

  template <class A> static void encode(long n, A const* g, std::byte* out) {
    long left = kept(n);
    if (left == 0) return;
    // The k-th largest size, byte by byte: of what agrees with it so far, which next byte does it have?
    std::uint32_t least = 0, mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
      long count[256]{};
      for (long i = 0; i < n; ++i) {
        std::uint32_t const s = size(g[i]);
        if ((s & mask) == least) ++count[s >> shift & 255u];
      }
      std::uint32_t byte = 255;
      for (; count[byte] < left; --byte) left -= count[byte];
      least |= byte << shift;
      mask |= 255u << shift;
    }
    for (long i = 0; i < n; ++i) {  // `left` of those that are just as large
      std::uint32_t const s = size(g[i]);
      if (s < least || (s == least && left-- <= 0)) continue;
      send::store(out, static_cast<std::uint32_t>(i));
      send::store(out + 4, static_cast<float>(g[i]));
      out += 8;
    }
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long k = 0; k < kept(n); ++k, in += 8) {
      long const i = send::load<std::uint32_t>(in);
      if (i < n) to(i, static_cast<A>(send::load<float>(in + 4)));  // it may have come over a wire
    }
  }

 private:
  /// In the order of the sizes; not a number is the largest.
  template <class A> static std::uint32_t size(A v) {
    return __builtin_bit_cast(std::uint32_t, static_cast<float>(v)) & 0x7fffffffu;
  }
};

}  // namespace cleave
