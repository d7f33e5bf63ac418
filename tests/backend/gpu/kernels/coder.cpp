// backend/gpu/kernels/coder.cpp - a device encodes and decodes gradients with the bits of the host codec and its residual.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/top_k.hpp>

#include <limits>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

/// Of every size, both signs, zeros of both; `Odd`: not finite here and there.
template <class A> Many<A> drawn(long n, std::uint32_t seed, bool odd) {
  tensor::Random const random{11, tensor::Purpose::Augment, seed};
  Many<A> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) {
    A const u = static_cast<A>(random.uniform(i)) - A{0.5};
    v[i] = i % 7 == 3 ? A{0} : i % 11 == 5 ? -A{0} : std::ldexp(u, static_cast<int>(i / 256 % 40) - 20);
    if (odd && i % 1500 == 700) v[i] = std::numeric_limits<A>::quiet_NaN();
    if (odd && i % 1500 == 1400) v[i] = std::numeric_limits<A>::infinity();
  }
  return v;
}
template <class V> void equal_bits(V const& got, V const& wanted) {
  long wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto const g = got[i], w = wanted[i];
    wrong += !(std::memcmp(&g, &w, sizeof g) == 0 || (g != g && w != w));
  }
  CHECK(wrong == 0);
}

/// Several steps, each with what the one before left; then two messages read as one sum.
template <class C, class A> void as_its_codec(long n, bool feedback, bool odd = false) {
  INFO(C::name << ", " << n << " elements" << (feedback ? ", with feedback" : ""));
  using Coded = backend::gpu::Coded<C, A>;
  auto const bytes = static_cast<std::size_t>(C::bytes(n));
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  Many<A> left(static_cast<std::size_t>(n)), own_left = left;
  Many<std::byte> workspace(static_cast<std::size_t>(C::workspace));
  if (C::workspace > 0) std::memset(workspace.data(), 0xff, workspace.size());
  Many<std::byte> message[2] = {Many<std::byte>(bytes), Many<std::byte>(bytes)}, own(bytes);
  for (std::uint32_t step = 0; step < 2; ++step) {
    Many<A> const g = drawn<A>(n, step, odd);
    Coded::write(q, g.data(), feedback ? left.data() : nullptr, message[step].data(), n, workspace.data());
    m.finish();
    send::encode<C>(n, g.data(), feedback ? own_left.data() : nullptr, own.data());
    if (!odd) CHECK(std::memcmp(message[step].data(), own.data(), bytes) == 0);  // a NaN has many patterns
    equal_bits(left, own_left);
  }
  Many<A> sum(static_cast<std::size_t>(n), A{3}), own_sum(static_cast<std::size_t>(n));
  Coded::sum(q, sum.data(), n, {2, {message[0].data(), message[1].data()}});
  m.finish();
  for (auto const& in : message) send::add<C>(n, in.data(), own_sum.data());
  equal_bits(sum, own_sum);
}
template <class C> void of_many_sizes() {
  for (long n : {1L, 7L, 8L, 255L, 256L, 257L, 511L, 512L, 513L, 5000L}) {
    as_its_codec<C, float>(n, true);
    as_its_codec<C, float>(n, false);
  }
  as_its_codec<C, double>(1031, true);
  as_its_codec<C, float>(3001, true, true);
}

}  // namespace

TEST_CASE("bf16 messages have the bits of the codec") { of_many_sizes<send::Bf16>(); }
TEST_CASE("int8 messages, one scale a block, have the bits of the codec") { of_many_sizes<Int8>(); }
TEST_CASE("one-bit messages, two means a block, have the bits of the codec") { of_many_sizes<OneBit>(); }
TEST_CASE("top-k messages, the first of equal elements, over several blocks, have the bits of the codec") {
  for (long n : {1L, 8L, 257L, 8193L}) as_its_codec<TopK<30>, float>(n, true);
  as_its_codec<TopK<1000>, float>(300, true);
  as_its_codec<TopK<100>, double>(1031, true);
  as_its_codec<TopK<10>, float>(3001, true, true);
  as_its_codec<TopK<500>, float>(20000, false);  // among the many zeros that the draw has
  as_its_codec<TopK<990>, float>(20000, true);
}
