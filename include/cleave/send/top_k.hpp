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
    long const k = kept(n);
    long some = candidates(n, g, k, out);
    bool const all = some < k;  // or too many
    if (all) some = n;
    auto const at = [&](long i) { return all ? i : long{send::load<std::uint32_t>(out + 4 * i)}; };
    Least const least = kth(some, k, [&](long i) { return size(g[at(i)]); });
    long left = least.of_it, j = 0;
    for (long i = 0; i < some; ++i) {
      std::uint32_t const s = size(g[at(i)]);
      if (s < least.size || (s == least.size && left-- <= 0)) continue;
      send::store(out + 4 * j++, static_cast<std::uint32_t>(at(i)));
    }
    while (j-- > 0) {  // from the last: a pair covers indices behind its own only
      auto const i = send::load<std::uint32_t>(out + 4 * j);
      send::store(out + 8 * j, i);
      send::store(out + 8 * j + 4, static_cast<float>(g[i]));
    }
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long k = 0; k < kept(n); ++k, in += 8) {
      long const i = send::load<std::uint32_t>(in);
      if (i < n) to(i, static_cast<A>(send::load<float>(in + 4)));  // it may have come over a wire
    }
  }

 private:
  struct Least {
    std::uint32_t size;
    long of_it;  // so many of that size belong to the k largest
  };
  /// The k-th largest of n sizes, byte by byte: of what agrees with it so far, which next byte does it have?
  template <class Sizes> static Least kth(long n, long k, Sizes const& sizes) {
    Least least{0, k};
    std::uint32_t mask = 0;
    for (int shift = 24; shift >= 0 && k > 0; shift -= 8) {
      long count[256]{};
      for (long i = 0; i < n; ++i) {
        std::uint32_t const s = sizes(i);
        if ((s & mask) == least.size) ++count[s >> shift & 255u];
      }
      std::uint32_t byte = 255;
      for (; count[byte] < least.of_it; --byte) least.of_it -= count[byte];
      least.size |= byte << shift;
      mask |= 255u << shift;
    }
    return least;
  }
  /// Writes the indices of those that reach a size which a sample says half as many again as k will reach, and returns
  /// how many they are: 0 if they are more than 2 k.
  template <class A> static long candidates(long n, A const* g, long k, std::byte* out) {
    long const sample = n < 16384 ? n : 16384;
    auto const drawn = [&](long i) { return size(g[sample == n ? i : i * 2654435761 % n]); };
    auto const wanted =
        static_cast<long>(1.5 * static_cast<double>(k) * static_cast<double>(sample) / static_cast<double>(n)) + 1;
    std::uint32_t const least = wanted < sample ? kth(sample, wanted, drawn).size : 0;
    long some = 0;
    for (long i = 0; i < n; ++i) {
      if (size(g[i]) < least) continue;
      if (some == 2 * k) return 0;
      send::store(out + 4 * some++, static_cast<std::uint32_t>(i));
    }
    return some;
  }
  /// In the order of the sizes; not a number is the largest.
  template <class A> static std::uint32_t size(A v) {
    return __builtin_bit_cast(std::uint32_t, static_cast<float>(v)) & 0x7fffffffu;
  }
};

}  // namespace cleave
