// backend/host/gradients/encoded.cpp - compressed all-reduces against an oracle, their bytes against constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cmath>

#include "cleave/parameter_server/replica.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<40>, Linear<24>, Tanh, Linear<6>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<24>, MicroBatches<12>, Fastest, Sgd, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
template <class Word, class Keeps = Feedback> using Sent = Of<DataParallel<Sync>, Compress<Word, Keeps>>;

/// N replicas of which each makes its gradient alone, and one loop that encodes, decodes and adds in their order.
template <class Word, class Keeps, class Alone = Of<DataParallel<Sync>, Shards<1>>>
std::vector<float> oracle(int replicas, int steps) {
  using C = typename send::codec_of<Word>::is;
  session::Probing<Alone> probe;
  std::vector<std::unique_ptr<session::Replica<session::formats_of<Alone>>>> replica;
  constexpr long all = Alone::schedule.weight_elements;
  for (int r = 0; r < replicas; ++r) {
    auto const own = schedule::slices(Alone::micro_batches, r, replicas);
    replica.push_back(std::make_unique<session::Replica<session::formats_of<Alone>>>(session::service<Alone>, own, 11));
  }
  std::vector<float> weights(replica[0]->at(0).weights(), replica[0]->at(0).weights() + all);
  std::vector<std::vector<float>> left(static_cast<std::size_t>(replicas), std::vector<float>(all));
  std::vector<float> left_of_sum(all), sum(all);
  std::vector<std::byte> message(1 << 20);
  auto const now = optim::now<Sgd, float>(static_cast<double>(Alone::rate.at(0)), 0);
  for (int step = 0; step < steps; ++step) {
    for (auto& r : replica) {
      r->forget_pushed();
      r->take(0, 0, weights.data(), all);
      r->step(step, probe.feed(), 0.1, step);
    }
    for (int b = 0; b < Alone::schedule.buckets; ++b) {
      schedule::Bucket const& bucket = Alone::schedule.bucket[b];
      int const parts = C::resums ? replicas : 1;
      for (int p = 0; p < parts; ++p) {
        long const at = bucket.offset + op::part_begin(bucket.count, p, parts);
        long const n = op::part_size(bucket.count, p, parts);
        auto const of = [&](std::vector<float>& v) { return Keeps::keeps ? v.data() + at : nullptr; };
        for (long i = 0; i < n; ++i) sum[static_cast<std::size_t>(at + i)] = 0;
        for (int r = 0; r < replicas; ++r) {
          send::encode<C>(n, replica[static_cast<std::size_t>(r)]->at(0).outbox() + at,
                          of(left[static_cast<std::size_t>(r)]), message.data());
          send::add<C>(n, message.data(), sum.data() + at);
        }
        if (C::resums) {
          send::encode<C>(n, sum.data() + at, of(left_of_sum), message.data());
          send::decode<C>(n, message.data(), sum.data() + at);
        }
      }
    }
    backend::host::update<Sgd, float>(weights.data(), nullptr, sum.data(), weights.data(), 0, all, now);
  }
  return weights;
}

template <class P> std::vector<float> trained(int replicas, int steps) {
  Trainer<P> t(replicas, 11);
  session::Probing<P> probe;
  t.train(0, steps, probe.feed());
  CHECK(session::miscounted(t, steps) == "");
  auto const of = [&](int r) {
    return std::vector<float>(t.at(r).weights(), t.at(r).weights() + P::schedule.weight_elements);
  };
  for (int r = P::ways; r < t.ranks().world(); ++r) CHECK(of(r) == of(r % P::ways));
  return of(0);
}

template <class Word, class Keeps = Feedback> void equals_the_oracle() {
  for (int n : {2, 3, 4, 5, 7}) {  // the last two divide nothing
    CAPTURE(n);
    CHECK(trained<Sent<Word, Keeps>>(n, 12) == oracle<Word, Keeps>(n, 12));
  }
  CHECK(trained<Sent<Word, Keeps>>(1, 12) == trained<Of<DataParallel<Sync>>>(1, 12));  // nothing is sent
}

// Two buckets of 984 + 150 weights. bf16 sends exactly half the bytes; the other formats, theirs, on two ranks.
template <class P> constexpr long bytes = traffic<P, 2>.bytes_per_step;
constexpr long plain = bytes<Of<DataParallel<Sync>>>;
static_assert(plain == (984 + 150) * 4 && bytes<Sent<bf16>> * 2 == plain);
static_assert(bytes<Sent<Int8>> == 2 * Int8::bytes(492) + 2 * Int8::bytes(75));
static_assert(bytes<Sent<OneBit>> == 2 * OneBit::bytes(492) + 2 * OneBit::bytes(75));
static_assert(bytes<Sent<TopK<10>>> == 8 * (10 + 2));
static_assert(traffic<Sent<TopK<10>>, 4>.bytes_per_step == 3 * 8 * (10 + 2));
// What is left over is in the arena: of all gradients, and of the sums of its own parts.
constexpr long communication(schedule::Memory m) { return m[schedule::Category::Communication]; }
static_assert(communication(memory<Of<DataParallel<Sync>>, 2>) == 0);
static_assert(communication(memory<Sent<Int8, NoFeedback>, 2>) ==
              schedule::aligned(2 * Int8::bytes(492)) + schedule::aligned(2 * Int8::bytes(75)));
static_assert(communication(memory<Sent<Int8>, 2>) - communication(memory<Sent<Int8, NoFeedback>, 2>) ==
              schedule::aligned(984 * 4) + schedule::aligned(492 * 4) + schedule::aligned(150 * 4) +
                  schedule::aligned(75 * 4));
static_assert(communication(memory<Sent<Int8>, 1>) == 0);

}  // namespace

TEST_CASE("compressed sums are the oracle's, bit for bit, with what was left over and without") {
  equals_the_oracle<bf16>();
  equals_the_oracle<Int8>();
  equals_the_oracle<OneBit>();
  equals_the_oracle<TopK<20>>();
  equals_the_oracle<Int8, NoFeedback>();
  equals_the_oracle<OneBit, NoFeedback>();
  equals_the_oracle<TopK<20>, NoFeedback>();
}
TEST_CASE("parts of nothing, and sums over all ranks of a mesh that cuts the batch: the oracle's bits") {
  struct Few : Sequential<Vector<3>, Linear<2>, CrossEntropy> {};
  struct Tiny : Plan<Few, Batch<8>, DataParallel<Sync>, Fastest, Compress<OneBit>> {};
  struct Plain : Plan<Few, Batch<8>, DataParallel<Sync>, Fastest, Shards<1>> {};
  for (int n : {3, 8}) CHECK(trained<Tiny>(n, 12) == oracle<OneBit, Feedback, Plain>(n, 12));
  using Meshed = Of<DataParallel<Sync>, Compress<OneBit>, ModelParallel<SplitBatch>>;
  CHECK(trained<Meshed>(2, 12) == oracle<OneBit, Feedback>(4, 12));
}
/// How far a rank's weights are from those of the same plan that sends gradients as they are, as a share of the way
/// that these have gone.
template <class P, class Whole> double away(int replicas) {
  auto const start = trained<Whole>(replicas, 0), wanted = trained<Whole>(replicas, 12), got = trained<P>(replicas, 12);
  float far = 0, way = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    far = std::max(far, std::fabs(got[i] - wanted[i]));
    way = std::max(way, std::fabs(wanted[i] - start[i]));
  }
  return static_cast<double>(far / way);
}
TEST_CASE("rounds in bf16 and split layers in f64: near to what is sent as it is, in the bytes of the constants") {
  using Rounds = Of<DataParallel<Sync>, Accumulate<2>, Precision<bf16>>;
  CHECK(away<Of<DataParallel<Sync>, Compress<TopK<900>>, Accumulate<2>, Precision<bf16>>, Rounds>(3) < 0.05);
  using Split = Of<Mesh<Data<2>, Model<2>>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<2>>, Precision<f64>>;
  CHECK(away<Of<DataParallel<Sync>, Compress<Int8>, Mesh<Data<2>, Model<2>>, ModelParallel<SplitCols, Ways<2>>,
                Precision<f64>>,
             Split>(2) < 0.02);
}
TEST_CASE("the listing says what is sent, and as what") {
  CHECK(schedule::listing<Sent<Int8>>({2, 1}).find(
            "150 weights         all_reduce     over 2 replicas, sends 150 elements as int8, 158 bytes") !=
        std::string::npos);
}
