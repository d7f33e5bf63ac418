// send/codec.hpp - a compressed gradient format: bytes, encoding, decoding, and the residual.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "../meta/host_device.hpp"
#include "../tensor/each.hpp"
#include "laws.hpp"

namespace cleave::send {

/// Base of formats; a format is one header:
///
///     struct Mine : send::Codec {
///       static constexpr std::string_view name = "mine";
///       static constexpr long bytes(long n);                                       // of n elements, exact
///       template <class A> static void encode(long n, A const* g, std::byte* out);  // writes bytes(n), anywhere
///       template <class A, class To> static void decode(long n, std::byte const* in, To to);
///     };
/// `decode` calls to(i, A value) for i in rising order; an element that it leaves out is zero. Both depend on their
/// arguments only, so that all readers of the same bytes get the same numbers. Numbers that are not finite stay so.
struct Codec {
  /// A sum of such messages is as short as each of them: then ranks sum parts and send the encoded sums; otherwise
  /// every rank reads all messages.
  static constexpr bool resums = true;
  /// If not 0: blocks of this many elements are encoded independently, one after the other.
  static constexpr long block = 0;
  /// Device workspace of the encoder in bytes, shared by all messages of a rank.
  static constexpr long workspace = 0;
  /// Zeros come out as zeros, whatever is beside them. Without it the ways of a plan divide what they split.
  static constexpr bool keeps_zeros = false;
  using law = sendable;
};

/// A format of gradients has all of its members.
template <class F>
concept Format = std::is_base_of_v<Codec, F> &&
    requires(long n, float const* g, std::byte* out, std::byte const* in, void (*to)(long, float)) {
  { F::name } -> std::convertible_to<std::string_view>;
  { F::bytes(n) } -> std::convertible_to<long>;
  F::encode(n, g, out);
  F::template decode<float>(n, in, to);
};

/// Maps a user's word to a codec; most are codecs themselves.
template <class Word> struct codec_of { using is = Word; };

template <class T> CLEAVE_HD T load(std::byte const* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T> CLEAVE_HD void store(std::byte* to, T v) { std::memcpy(to, &v, sizeof v); }
/// Ordered by magnitude; NaN is the largest.
template <class A> CLEAVE_HD std::uint32_t size_of(A v) {
  return __builtin_bit_cast(std::uint32_t, static_cast<float>(v)) & 0x7fffffffu;
}

/// Encodes g (n). With `left` (n) encodes left + g, and stores the residual in `left` for the next message: error
/// feedback. Sources: Seide, Fu, Droppo, Li, Yu, "1-bit stochastic gradient descent", Interspeech 2014, section 3;
/// Karimireddy, Rebjock, Stich, Jaggi, "Error feedback fixes SignSGD", ICML 2019, algorithm 2.
template <class C, class A> void encode(long n, A const* g, A* left, std::byte* out) {
  if (!left) return C::encode(n, g, out);
  constexpr long blocks = C::block > 0 ? (2047 / C::block + 1) * C::block : 0;  // fits into the nearest cache
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
/// to (n) = the decoded message; and to += that.
template <class C, class A> void add(long n, std::byte const* in, A* to) {
  C::template decode<A>(n, in, [&](long i, A v) { to[i] += v; });
}
template <class C, class A> void decode(long n, std::byte const* in, A* to) {
  for (long i = 0; i < n; ++i) to[i] = 0;
  add<C>(n, in, to);
}

}  // namespace cleave::send
