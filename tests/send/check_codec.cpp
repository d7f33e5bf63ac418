// send/check_codec.cpp - a format that is wrong is found out, and told what is wrong with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/send/bf16.hpp>
#include <cleave/send/check_codec.hpp>
#include <cleave/send/int8.hpp>
#include <cleave/send/one_bit.hpp>
#include <cleave/send/top_k.hpp>

#include <string_view>

using namespace cleave;

namespace {

/// Each element as a float.
struct Whole32 : send::Codec {
  static constexpr std::string_view name = "whole";
  static constexpr long block = 1;
  static constexpr bool keeps_zeros = true;
  static constexpr long bytes(long n) { return 4 * n; }
  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long i = 0; i < n; ++i) send::store(out + 4 * i, static_cast<float>(g[i]));
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long i = 0; i < n; ++i) to(i, static_cast<A>(send::load<float>(in + 4 * i)));
  }
};
struct Short : Whole32 {
  static constexpr long bytes(long n) { return n > 0 ? 4 * n - 1 : 0; }
};
struct Long : Whole32 {
  static constexpr long block = 0;
  static constexpr long bytes(long n) { return 4 * n + 2; }
};
/// Begins at the next even address.
struct Aligned : Whole32 {
  static constexpr long block = 0;
  static constexpr long bytes(long n) { return 4 * n + 1; }
  template <class A> static void encode(long n, A const* g, std::byte* out) {
    bool const odd = reinterpret_cast<std::uintptr_t>(out) % 2 == 1;
    out[odd ? 0 : 4 * n] = std::byte{0};
    Whole32::encode(n, g, out + odd);
  }
};
struct Backwards : Whole32 {
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long i = n; i-- > 0;) to(i, static_cast<A>(send::load<float>(in + 4 * i)));
  }
};
/// Pairs of index and value; believes every index.
struct Trusting : Whole32 {
  static constexpr long block = 0;
  static constexpr long bytes(long n) { return 8 * n; }
  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long i = 0; i < n; ++i, out += 8) {
      send::store(out, static_cast<std::int32_t>(i));
      send::store(out + 4, static_cast<float>(g[i]));
    }
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long i = 0; i < n; ++i, in += 8) to(send::load<std::int32_t>(in), static_cast<A>(send::load<float>(in + 4)));
  }
};
/// A sum of all before, in the first element: one block is not like another.
struct Linked : Whole32 {
  static constexpr long block = 4;
  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long i = 0; i < n; ++i) send::store(out + 4 * i, static_cast<float>(g[i]) + static_cast<float>(i / block));
  }
};
struct Lifted : Whole32 {
  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long i = 0; i < n; ++i) send::store(out + 4 * i, static_cast<float>(g[i]) + 0.25f);
  }
};
struct Calm : Whole32 {
  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long i = 0; i < n; ++i) send::store(out + 4 * i, std::isfinite(g[i]) ? static_cast<float>(g[i]) : 0.f);
  }
};
/// Never says more than 0.1, of finite numbers.
struct Timid : Whole32 {
  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long i = 0; i < n; ++i) {
      A const said = std::isfinite(g[i]) ? std::clamp(g[i], A{-0.1f}, A{0.1f}) : g[i];
      send::store(out + 4 * i, static_cast<float>(said));
    }
  }
};

template <class F> std::string said() { return check_codec<F>().text; }

}  // namespace

TEST_CASE("formats that are right") {
  CHECK(said<Whole32>() == "right");
  CHECK(said<Int8>() == "right");
  CHECK(said<OneBit>() == "right");
  CHECK(said<TopK<10>>() == "right");
  CHECK(said<TopK<1000>>() == "right");
  CHECK(said<bf16>() == "right");
}
TEST_CASE("bytes") {
  CHECK(said<Short>() == "of 1 elements: encode writes outside of its bytes(n)");
  CHECK(said<Long>() == "of 0 elements: a part of bytes(n) is not written, or not alike twice");
  CHECK(said<Aligned>() == "of 1 elements: encode depends on where it writes");
}
TEST_CASE("elements") {
  CHECK(said<Backwards>() == "of 3 elements: decode calls to(1, ...) after to(2, ...)");
  CHECK(said<Trusting>().find("of 1 elements: of random bytes decode calls to(") == 0);
  CHECK(said<Linked>() == "blocks of `block` elements that are encoded alone are not the message of all");
}
TEST_CASE("numbers") {
  CHECK(said<Lifted>() == "a zero becomes 0.25, but it says keeps_zeros");
  CHECK(said<Calm>() == "of numbers of which one is nan all come out finite");
  CHECK(said<Timid>().find("with error feedback what is left grows from ") == 0);
}
