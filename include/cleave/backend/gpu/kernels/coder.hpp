// backend/gpu/kernels/coder.hpp - compressed gradient formats on a device: encoded block by block, decoded element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../send/bf16.hpp"
#include "../../../send/int8.hpp"
#include "../../../send/one_bit.hpp"
#include "move.hpp"

namespace cleave::backend::gpu {

/// How a codec is encoded by the threads of a block and decoded, with the bits of its `encode` and `decode`.
///   static constexpr int each;          // elements of such a block, 256 or 512
///   static constexpr long bytes;        // of a full block
///   static constexpr bool alone;        // its threads never synchronise
///   shared_bytes<A>                     // shared memory of write
///   write(c, count, v, out, shared)     // v: this thread's elements of the block, element thread + 256 k at [k]
///   said<A>(in, i)                      // element i of a message
template <class C> struct Coder {
  static constexpr bool here = false;  // on the host only
};

inline constexpr int coding = 256;  // threads

template <> struct Coder<send::Bf16> {
  static constexpr bool here = true, alone = true;
  template <class A> static constexpr int shared_bytes = 0;
  static constexpr int each = 512;
  static constexpr long bytes = send::Bf16::bytes(each);
  template <class Ctx, class A>
  CLEAVE_HD static void write(Ctx const& c, int count, A const* v, std::byte* out, std::byte*) {
    for (int i = c.thread(), k = 0; i < count; i += coding, ++k)
      reinterpret_cast<bf16*>(out)[i] = bf16(static_cast<float>(v[k]));
  }
  template <class A> CLEAVE_HD static A said(std::byte const* in, long i) {
    return static_cast<A>(reinterpret_cast<bf16 const*>(in)[i]);
  }
};

template <> struct Coder<Int8> {
  static constexpr bool here = true, alone = false;
  template <class A> static constexpr int shared_bytes = coding / lanes * 4;
  static constexpr int each = static_cast<int>(Int8::block);
  static constexpr long bytes = Int8::bytes(each);
  static_assert(each == coding);
  template <class Ctx, class A>
  CLEAVE_HD static void write(Ctx const& c, int count, A const* v, std::byte* out, std::byte* shared) {
    int const i = c.thread();
    std::uint32_t const own = i < count ? send::size_of(v[0]) : 0;
    float const scale = Int8::scale_of(over_block<Max>(c, own, reinterpret_cast<std::uint32_t*>(shared)));
    float const inverse = Int8::inverse_of(scale);
    if (i == 0) send::store(out, scale);
    if (i < count) out[4 + i] = inverse > 0 ? static_cast<std::byte>(Int8::whole(v[0], inverse)) : std::byte{0};
  }
  template <class A> CLEAVE_HD static A said(std::byte const* in, long i) {
    std::byte const* const block = in + i / each * bytes;
    return static_cast<A>(send::load<float>(block)) * static_cast<A>(static_cast<std::int8_t>(block[4 + i % each]));
  }
};

template <> struct Coder<OneBit> {
  static constexpr bool here = true, alone = false;
  static constexpr int each = static_cast<int>(OneBit::block);
  template <class A>
  static constexpr int shared_bytes = 2 * coding* static_cast<int>(sizeof(A)) + each + coding / lanes * 4;
  static constexpr long bytes = OneBit::bytes(each);
  static_assert(each == 2 * coding);
  /// Sums in the order of OneBit::fold, the second half onto the first.
  template <class Ctx, class A>
  CLEAVE_HD static void write(Ctx const& c, int count, A const* v, std::byte* out, std::byte* shared) {
    A* const up = reinterpret_cast<A*>(shared);
    A* const down = up + coding;
    auto* const positive = reinterpret_cast<std::uint8_t*>(down + coding);
    int const i = c.thread();
    A ups[2], downs[2];
    for (int k = 0; k < 2; ++k) {
      A const e = i + coding * k < count ? v[k] : A{0};
      downs[k] = e < 0 ? e : A{0};
      ups[k] = e - downs[k];
      positive[i + coding * k] = !(e < 0);
    }
    up[i] = ups[0] + ups[1];
    down[i] = downs[0] + downs[1];
    for (int half = coding / 2; half >= 1; half /= 2) {
      c.barrier();
      if (i < half) up[i] += up[i + half], down[i] += down[i + half];
    }
    // Number of positive elements in this thread's byte, trailing zeros included.
    int mine = 0;
    std::uint8_t bits = 0;
    for (int b = 0; i < each / 8 && b < 8; ++b) {
      mine += positive[8 * i + b];
      bits = static_cast<std::uint8_t>(bits | positive[8 * i + b] << b);
    }
    int const n = over_block<Sum>(c, mine, reinterpret_cast<int*>(positive + each)) - (each - count);
    if (i < (count + 7) / 8) out[8 + i] = static_cast<std::byte>(bits);
    if (i > 0) return;
    send::store(out, OneBit::mean(up[0], n));
    send::store(out + 4, OneBit::mean(down[0], count - n));
  }
  template <class A> CLEAVE_HD static A said(std::byte const* in, long i) {
    std::byte const* const block = in + i / each * bytes;
    int const e = static_cast<int>(i % each);
    bool const up = (static_cast<unsigned>(block[8 + e / 8]) >> e % 8 & 1u) != 0;
    return static_cast<A>(send::load<float>(block + (up ? 0 : 4)));
  }
};

/// send::encode: encodes left + g (n), or g without error feedback, and stores the residual in `left`.
template <class C, class A> struct Encode {
  using By = Coder<C>;
  struct Args {
    A const* g;
    A* left;
    std::byte* out;
    long n;
  };
  static constexpr int threads = coding, shared_bytes = By::template shared_bytes<A>;
  static constexpr bool alone = By::alone;
  static constexpr int per_thread = By::each / coding;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    long const blocks = (a.n + By::each - 1) / By::each;
    for (long b = c.block(); b < blocks; b += c.blocks()) {
      long const first = b * By::each;
      int const count = static_cast<int>(a.n - first < By::each ? a.n - first : By::each);
      A v[per_thread];
      CLEAVE_UNROLL
      for (int k = 0; k < per_thread; ++k) {
        long const i = first + c.thread() + coding * k;
        v[k] = i >= a.n ? A{0} : a.left ? a.left[i] + a.g[i] : a.g[i];
      }
      std::byte* const out = a.out + b * By::bytes;
      std::byte* shared = nullptr;
      if constexpr (shared_bytes > 0) shared = c.shared();
      By::write(c, count, v, out, shared);
      if (!a.left) continue;
      if constexpr (!By::alone) c.barrier();
      CLEAVE_UNROLL
      for (int k = 0; k < per_thread; ++k) {
        int const i = c.thread() + coding * k;
        if (i < count) a.left[first + i] = v[k] - By::template said<A>(out, i);
      }
    }
  }
  static int blocks(long n) {
    int const b = blocks_for(n, By::each);
    return b < most_blocks ? b : most_blocks;
  }
};

struct Messages {
  int count = 0;
  std::byte const* of[most_sources]{};
};

/// to (n) = the sum of the decoded messages, in their order.
template <class C, class A> struct Decode : Each {
  struct Args {
    A* to;
    long n;
    Messages from;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long i) {
      A sum = 0;
      for (int s = 0; s < a.from.count; ++s) sum += Coder<C>::template said<A>(a.from.of[s], i);
      a.to[i] = sum;
    });
  }
};

/// Enqueues encoding and decoding of a codec, one kernel each; specialised for codecs that need several.
template <class C, class A> struct Coded {
  static constexpr bool here = Coder<C>::here;

  /// n > 0 elements of left + g, or g without error feedback. `workspace`: C::workspace bytes, used by this stream
  /// only.
  template <class Q> static void write(Q const& q, A const* g, A* left, std::byte* out, long n, std::byte*) {
    q.template launch<Encode<C, A>>(Encode<C, A>::blocks(n), {g, left, out, n});
  }
  /// to (n) = the sum of the decoded messages.
  template <class Q> static void sum(Q const& q, A* to, long n, Messages const& from) {
    q.template launch<Decode<C, A>>(blocks_each(n), {to, n, from});
  }
};

}  // namespace cleave::backend::gpu
