// send/codec.cpp - error feedback only delays what a message omits; formats that do not converge without it do with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "numbers.hpp"

using namespace cleave;

namespace {

static_assert(send::Format<Int8> && send::Format<OneBit> && send::Format<TopK<10>> &&
              send::Format<send::codec_of<bf16>::is>);
struct NoName : send::Codec {
  static constexpr long bytes(long n) { return n; }
  template <class A> static void encode(long, A const*, std::byte*) {}
  template <class A, class To> static void decode(long, std::byte const*, To) {}
};
struct DecodesNothing : NoName {
  static constexpr std::string_view name = "mine";
  template <class A> static void decode(long, std::byte const*) {}
};
struct NoBase {
  static constexpr std::string_view name = "mine";
};
static_assert(DecodesNothing::name == NoBase::name);
static_assert(!send::Format<NoName> && !send::Format<DecodesNothing> && !send::Format<NoBase> && !send::Format<int>);

// Three replicas that want different things of feature 0, large; what else there is to learn is small beside it.
struct Toy : Sequential<Vector<64>, Linear<3, NoBias>, MeanSquaredError> {};
template <class... Ps> struct On : Plan<Toy, Batch<24>, MicroBatches<3>, DataParallel<Sync>, Fastest, Ps...> {
  static constexpr Rate rate = Rate::steps(0.03f, 2000, 0.1f);
};
float feature(long sample, int i) {
  if (sample % 8 < 4) return i == 0 ? 4.0f : 0.0f;
  if (i == 0) return 0;
  tensor::Random const random{3, tensor::Purpose::Augment, static_cast<std::uint32_t>(i)};
  return random.uniform(static_cast<std::uint64_t>(sample)) - 0.5f;
}
backend::host::Feed const feed{nullptr,
                               [](void const*, long, long first, int count, float* out) {
                                 for (long s = first; s < first + count; ++s) {
                                   for (int i = 0; i < 64; ++i) *out++ = feature(s, i);
                                 }
                               },
                               [](void const*, long, long first, int count, int* out) {
                                 for (long s = first; s < first + count; ++s)
                                   *out++ = static_cast<int>(s % 8 < 4 ? s / 8 : s % 3);
                               }};
/// How far above the least that it can be the loss is in the end: feature 0 alone costs 2/9 of half the samples.
template <class... Ps> double gap() {
  Trainer<On<Ps...>> t(3, 3);
  double last = 0;
  for (int k = 0; k < 3000; k += 250) last = t.train(k, 250, feed).back();
  return last - 1.0 / 9;
}

/// What has been read and what is left are what was given, to rounding.
template <class C> void loses_nothing() {
  constexpr long n = 700;
  std::vector<double> given(n), read(n), left(n), g(n);
  std::vector<std::byte> message(static_cast<std::size_t>(C::bytes(n)));
  for (int step = 0; step < 50; ++step) {
    auto const drawn = numbers::drawn(n, static_cast<std::uint64_t>(step));
    for (std::size_t i = 0; i < n; ++i) given[i] += g[i] = static_cast<double>(drawn[i]);
    send::encode<C>(n, g.data(), left.data(), message.data());
    send::add<C>(n, message.data(), read.data());
  }
  for (std::size_t i = 0; i < n; ++i) REQUIRE(read[i] + left[i] == doctest::Approx(given[i]).epsilon(1e-12));
}

}  // namespace

TEST_CASE("with error feedback nothing is lost, only delayed") {
  loses_nothing<send::Bf16>();
  loses_nothing<Int8>();
  loses_nothing<OneBit>();
  loses_nothing<TopK<10>>();
}
TEST_CASE("with error feedback every format converges; one bit and top k without it do not") {
  CHECK(gap<>() < 1e-4);
  CHECK(gap<Compress<bf16>>() < 1e-4);
  CHECK(gap<Compress<Int8>>() < 1e-4);
  CHECK(gap<Compress<OneBit>>() < 1e-4);
  CHECK(gap<Compress<TopK<10>>>() < 1e-4);
  CHECK(gap<Compress<OneBit, NoFeedback>>() > 5e-3);
  CHECK(gap<Compress<TopK<10>, NoFeedback>>() > 0.2);
}
