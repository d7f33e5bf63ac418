// backend/host/gradients/rows.cpp - of an embedding's gradient only nonzero rows are sent, with the bits of the dense exchange.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <set>

using namespace cleave;

namespace {

constexpr int tokens = 5, features = 6, vocabulary = 97;
template <class... Os>
struct Words
    : Sequential<Vector<tokens>, Embedding<vocabulary, features, Os...>, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<12>, DataParallel<Sync>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
template <class... Ps> using Sparse = Of<Words<>, Ps...>;
template <class... Ps> using Dense = Of<Words<SendDense>, Ps...>;

int token(long sample, int t) {
  tensor::Random const random{5, tensor::Purpose::Augment, static_cast<std::uint32_t>(t)};
  std::uint32_t const r = random.below(vocabulary, static_cast<std::uint64_t>(sample));
  return static_cast<int>(r * r / vocabulary);  // some words are said more often
}
backend::host::Feed const feed{nullptr,
                               [](void const*, long step, long first, int count, float* out) {
                                 for (long s = first; s < first + count; ++s) {
                                   for (int t = 0; t < tokens; ++t)
                                     *out++ = static_cast<float>(token(step * 24 + s, t));
                                 }
                               },
                               [](void const*, long step, long first, int count, int* out) {
                                 for (long s = first; s < first + count; ++s) *out++ = token(step * 24 + s, 0) % 4;
                               }};
/// How many words occur in samples [begin, end) of a step.
long words(long step, long begin, long end) {
  std::set<int> seen;
  for (long s = begin; s < end; ++s) {
    for (int t = 0; t < tokens; ++t) seen.insert(token(step * 24 + s, t));
  }
  return static_cast<long>(seen.size());
}

template <class P> std::vector<typename Trainer<P>::A> trained(int replicas, int steps, bool counts = false) {
  Trainer<P> t(replicas, 7);
  t.train(0, steps, feed);
  CHECK(session::miscounted(t, steps) == "");
  for (int r = 0; r < replicas; ++r) {
    auto const rows = t.sent_rows(r);
    long const each = 4 + features * static_cast<long>(sizeof(typename P::number));
    CHECK(rows.bytes == rows.rows * each);
    CHECK(rows.elements == rows.rows * features);
    schedule::Traffic const step = schedule::traffic(schedule::program<P>, P::request, t.ranks(), r * P::ways);
    CHECK(t.sent_bytes(r * P::ways) <= steps * step.most_bytes_per_step);
    if (!counts) continue;
    // Rows that are not zero, each an index and its elements, and a header; the words are counted by hand.
    long wanted = 0;
    schedule::Range const own = schedule::slices(12, r, replicas);
    for (long k = 0; k < steps; ++k) wanted += words(k, own.begin * 2, own.end * 2);
    CHECK(rows.rows == wanted * (replicas - 1));
  }
  auto const of = [&](int r) {
    return std::vector(t.at(r).weights(), t.at(r).weights() + P::schedule.weight_elements);
  };
  for (int r = P::ways; r < t.ranks().world(); ++r) CHECK(of(r) == of(r % P::ways));
  return of(0);
}
template <class... Ps> void equal_bits(int replicas, bool counts = false) {
  CAPTURE(replicas);
  CHECK(trained<Sparse<Ps...>>(replicas, 10, counts) == trained<Dense<Ps...>>(replicas, 10));
}

// What is sure: 8 bytes to each other rank, beside the two dense layers.
constexpr long dense_layers = traffic<Dense<Fastest>, 2>.bytes_per_step - vocabulary * features * 4;
static_assert(traffic<Sparse<Fastest>, 2>.bytes_per_step == dense_layers + schedule::rows_header);
static_assert(traffic<Sparse<Fastest>, 2>.most_bytes_per_step ==
              dense_layers + schedule::rows_header + 12 * tokens * (4 + features * 4));
static_assert(Sparse<>::schedule.bucket[0].row == features && Dense<>::schedule.bucket[0].row == 0);

}  // namespace

TEST_CASE("rows that are not zero are counted by hand; weights equal the dense exchange's bit for bit") {
  for (int n : {1, 2, 3, 5}) equal_bits<Fastest, Momentum>(n, n > 1);
  for (int n : {2, 3, 4, 6}) equal_bits<Momentum>(n);  // ordered: a message for each branch of the sum
  for (int n : {2, 3}) equal_bits<Precision<bf16>, Fastest>(n);
}
TEST_CASE(
    "sparse rows under Ordered give the bits of one replica; accumulated, in f64, on a mesh, beside compressed "
    "layers") {
  auto const whole = trained<Sparse<Adam>>(1, 10);
  for (int n : {2, 3, 8}) CHECK(trained<Sparse<Adam>>(n, 10) == whole);
  equal_bits<Accumulate<2>, Precision<f64>>(3);
  equal_bits<Mesh<Data<2>, Model<2>>, ModelParallel<SplitCols>>(2);
  equal_bits<ModelParallel<SplitBatch>, Fastest>(2);
  trained<Sparse<Fastest, Compress<Int8>>>(3, 10);
}
TEST_CASE("a word outside the vocabulary ends the run") {
  backend::host::Feed wrong = feed;
  wrong.pixels = [](void const*, long, long, int count, float* out) {
    std::fill_n(out, count * tokens, static_cast<float>(vocabulary));
  };
  Trainer<Sparse<>> t(2);
  CHECK_THROWS_WITH_AS(t.train(0, 1, wrong), doctest::Contains("not finite"), Error);
}
TEST_CASE("the listing gives an upper bound of the bytes of sparse rows") {
  CHECK(schedule::listing<Sparse<Fastest>>({2, 1}).find("582 weights         all_reduce     over 2 replicas, sends its "
                                                        "rows that are not zero, at most 1,688 bytes") !=
        std::string::npos);
}
