// send/top_k.hpp - `Compress<TopK<10>>`: the 10 largest of every 1000 elements, as pairs of index and value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

#include "codec.hpp"

namespace cleave {

/// k = n PerMille / 1000, rounded up. Of elements of equal magnitude the first are sent; pairs are in the order of
/// their indices. Messages of several ranks have different indices, so their sum is no such message: every rank reads
/// all. Source: Aji, Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017; with error feedback
/// it converges: Stich, Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS 2018.
template <int PerMille> struct TopK : send::Codec {
  static constexpr bool keeps_zeros = true;
  static constexpr std::string_view name = "top k";
  static constexpr bool resums = false;
  static constexpr long workspace = 16'512;
  using law = send::top_k_is_a_share<PerMille>;
  static constexpr long kept(long n) { return (n * PerMille + 999) / 1000; }
  static constexpr long bytes(long n) { return 8 * kept(n); }

  template <class A> static void encode(long n, A const* g, std::byte* out) {
    if (n == 0) return;
    Least const least = largest(n, g, kept(n));
    long left = least.of_it;
    reaching(n, g, least.size, [&](long i, std::uint32_t s) {
      if (s == least.size && left-- <= 0) return;
      send::store(out, static_cast<std::uint32_t>(i));
      send::store(out + 4, static_cast<float>(g[i]));
      out += 8;
    });
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long k = 0; k < kept(n); ++k, in += 8) {
      long const i = send::load<std::uint32_t>(in);
      if (i < n) to(i, static_cast<A>(send::load<float>(in + 4)));  // the index may come from a network
    }
  }

 private:
  struct Least {
    std::uint32_t size;
    long of_it;  // how many elements of that magnitude belong to the k largest
  };
  /// The k-th largest of n magnitudes, byte by byte: counts the next byte of those that agree with it so far.
  template <class Sizes> static Least kth(long n, long k, Sizes const& sizes) {
    Least least{0, k};
    std::uint32_t mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
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
  /// A sample estimates a magnitude that half as many again as k elements reach. A histogram of those that do gives a
  /// small range around the k-th; if that holds many, or the estimate was wrong, all elements are searched.
  template <class A> static Least largest(long n, A const* g, long k) {
    constexpr std::uint32_t bins = 4096;
    auto const all = [&](long i) { return send::size_of(g[i]); };
    long const sample = n < 16384 ? n : 16384;
    auto const drawn = [&](long i) { return send::size_of(g[sample == n ? i : i * 2654435761 % n]); };
    double const share = static_cast<double>(sample) / static_cast<double>(n);
    auto const reach = static_cast<long>(1.5 * static_cast<double>(k) * share) + 1;
    std::uint32_t const floor = reach < sample ? kth(sample, reach, drawn).size : 0;
    std::uint32_t const high = kth(sample, reach / 8 + 1, drawn).size, width = (high - floor) / bins + 1;
    std::uint32_t count[bins]{};
    reaching(n, g, floor, [&](long, std::uint32_t s) {
      std::uint32_t const bin = (s - floor) / width;
      ++count[bin < bins - 1 ? bin : bins - 1];
    });
    std::uint32_t bin = bins;
    long of_it = k;
    while (bin > 0 && count[bin - 1] < of_it) of_it -= count[--bin];
    if (bin == 0 || bin == bins || count[--bin] > bins) return kth(n, k, all);
    std::uint32_t const begin = floor + bin * width;
    std::uint32_t in_it[bins];
    long some = 0;
    reaching(n, g, begin, [&](long, std::uint32_t s) {
      if (s - begin < width) in_it[some++] = s;
    });
    return kth(some, of_it, [&](long i) { return in_it[i]; });
  }
  /// f(i, magnitude) for elements of at least this magnitude, which are few: skips a block of elements at a time.
  template <class A, class F> static void reaching(long n, A const* g, std::uint32_t least, F const& f) {
    constexpr long block = 16;
    for (long first = 0; first < n; first += block) {
      long const end = n - first < block ? n : first + block;
      if (end == first + block) {
        std::uint32_t most = 0;
        for (long i = first; i < first + block; ++i) {
          std::uint32_t const s = send::size_of(g[i]);
          most = s > most ? s : most;
        }
        if (most < least) continue;
      }
      for (long i = first; i < end; ++i) {
        if (send::size_of(g[i]) >= least) f(i, send::size_of(g[i]));
      }
    }
  }
};

}  // namespace cleave
