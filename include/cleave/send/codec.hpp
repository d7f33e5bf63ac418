// send/codec.hpp - what a lossy format of gradients is: how many bytes, how it is written and read, and what is left.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../meta/host_device.hpp"
#include "../tensor/each.hpp"
#include "laws.hpp"

namespace cleave::send {

/// Derive, and a format is one header:
///   struct Mine : send::Codec {
///     static constexpr std::string_view name = "mine";
///     static constexpr long bytes(long n);                                       // of n elements, exact
///     template <class A> static void encode(long n, A const* g, std::byte* out);  // writes bytes(n), anywhere
///     template <class A, class To> static void decode(long n, std::byte const* in, To to);
///   };
/// `decode` calls to(i, A value) for i in rising order; an element that it leaves out is zero. Both are functions of
/// their arguments alone, so that all who read the same bytes hold the same numbers. What is not finite stays so.
struct Codec {
  /// A sum of such messages is as short as each of them: then ranks sum parts and send the sums, encoded again;
  /// otherwise everybody reads all messages.
  static constexpr bool resums = true;
  /// If not 0: blocks of so many elements are written without regard to each other, one behind the other.
  static constexpr long block = 0;
  /// Bytes that a device needs to find what it writes, once for all messages of a rank.
  static constexpr long workspace = 0;
  using law = sendable;
};

/// A word of the user's for a codec; most are codecs themselves.
template <class Word> struct codec_of { using is = Word; };

template <class T> CLEAVE_HD T load(std::byte const* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T> CLEAVE_HD void store(std::byte* to, T v) { std::memcpy(to, &v, sizeof v); }
/// In the order of the sizes; not a number is the largest.
template <class A> CLEAVE_HD std::uint32_t size_of(A v) {
  return __builtin_bit_cast(std::uint32_t, static_cast<float>(v)) & 0x7fffffffu;
}

/// Encodes g (n). With `left` (n), what the message lacks of left + g stays there for the next time: error feedback.
/// Sources: Seide, Fu, Droppo, Li, Yu, "1-bit stochastic gradient descent", Interspeech 2014, section 3; Karimireddy,
/// Rebjock, Stich, Jaggi, "Error feedback fixes SignSGD", ICML 2019, algorithm 2.
template <class C, class A> void encode(long n, A const* g, A* left, std::byte* out) {
  if (!left) return C::encode(n, g, out);
  constexpr long blocks = C::block > 0 ? (2047 / C::block + 1) * C::block : 0;  // the nearest cache holds them
  long const piece = blocks > 0 ? blocks : n;
  for (long first = 0; first < n; first += piece) {
    long const count = n - first < piece ? n - first : piece;
    A* const v = left + first;
    tensor::each(count, [&](long i) { v[i] += g[first + i]; });
    C::encode(count, v, out);
    C::template decode<A>(count, out, [&](long i, A said) { v[i] -= said; });
    out += C::bytes(count);
  }
}
/// to (n) = what a message says; and to += that.
template <class C, class A> void add(long n, std::byte const* in, A* to) {
  C::template decode<A>(n, in, [&](long i, A v) { to[i] += v; });
}
template <class C, class A> void decode(long n, std::byte const* in, A* to) {
  for (long i = 0; i < n; ++i) to[i] = 0;
  add<C>(n, in, to);
}

}  // namespace cleave::send
