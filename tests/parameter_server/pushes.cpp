// parameter_server/pushes.cpp - what is pushed to a parameter server, by threads and over TCP, byte for byte.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <thread>

#include "cleave/parameter_server/client.hpp"
#include "cleave/parameter_server/parameter_server.hpp"
#include "cleave/parameter_server/simulated.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<12>, Linear<24>, Relu, Linear<4>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<24>, MicroBatches<12>, Momentum, Fastest, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};

float value(long sample, int i) {
  tensor::Random const random{7, tensor::Purpose::Augment, static_cast<std::uint32_t>(i)};
  return random.uniform(static_cast<std::uint64_t>(sample % 480)) - 0.5f;
}
backend::host::Feed const feed{nullptr,
                               [](void const*, long step, long first, int count, float* out) {
                                 for (long s = first; s < first + count; ++s) {
                                   for (int i = 0; i < 12; ++i) *out++ = value(step * 24 + s, i);
                                 }
                               },
                               [](void const*, long step, long first, int count, int* out) {
                                 for (long s = first; s < first + count; ++s) {
                                   *out++ = (value(step * 24 + s, 0) > 0) + 2 * (value(step * 24 + s, 1) > 0);
                                 }
                               }};

template <class P> auto weights(auto& t) {
  std::vector<tensor::accumulate_t<typename P::number>> all(static_cast<std::size_t>(P::ways) *
                                                            P::schedule.weight_elements);
  for (int w = 0; w < P::ways; ++w) {
    t.read(w, backend::host::Region::Weights, 0, P::schedule.weight_elements,
           all.data() + w * P::schedule.weight_elements);
  }
  return all;
}
template <class P> auto by_threads(int replicas, int steps, double* loss = nullptr) {
  Served<P> t(replicas, 7);
  double const last = t.train(0, steps, feed).back();
  if (loss) *loss = last;
  schedule::Traffic const step =
      schedule::traffic(schedule::program<P>, P::request_of(replicas), P::ranks_of(replicas), 0);
  long bytes = 0, pushes = 0;
  for (int r = 0; r < replicas; ++r) {
    bytes += t.sent_bytes(r * P::ways);
    pushes += t.ledger().pushed[static_cast<std::size_t>(r)];
  }
  CHECK(bytes == pushes * step.bytes_per_step);
  CHECK(t.allocated(0) == t.memory().total);
  return weights<P>(t);
}
template <class P> auto over_tcp(int replicas, int steps) {
  session::ParameterServer<P> server(0, replicas, 7);
  std::thread serving([&] { server.serve(); });
  std::vector<std::thread> client;
  std::vector<long> sent(static_cast<std::size_t>(replicas));
  typename session::Client<P>::Addresses const there{{"127.0.0.1", server.port()}};
  for (int r = 0; r < replicas; ++r) {
    client.emplace_back([&, r] {
      session::Client<P> mine(there, "net", r, replicas, 7);
      mine.train(
          0, steps, feed, P::rate, [](long) {}, [](long, double) {});
      sent[static_cast<std::size_t>(r)] = mine.sent_bytes();
    });
  }
  for (auto& c : client) c.join();
  if (P::agreed::waits && P::ways == 1) {
    for (long s : sent) CHECK(s == steps * traffic<P, P::micro_batches>.bytes_per_step);
  }
  session::Client<P> reader(there, "net", -1, replicas, 7);
  auto const all = weights<P>(reader);
  server.stop();
  serving.join();
  return all;
}

template <class Word, class... Ps> using Waiting = Of<DataParallel<Sync>, Shards<1>, Compress<Word>, Ps...>;
template <class Word, class... Ps> using Cut = Of<DataParallel<Sync>, Shards<3>, Compress<Word>, Ps...>;
template <class Word, class... Ps> using Free = Of<DataParallel<Async>, Shards<3>, Compress<Word>, Ps...>;

// bf16 sends half. A layer's part in each shard is encoded alone: 312 + 100 weights, cut behind 137 and 274 of all 412.
constexpr long plain = traffic<Of<DataParallel<Async>, Shards<3>>>.bytes_per_step;
static_assert(plain == 412 * 4 && traffic<Free<bf16>>.bytes_per_step * 2 == plain);
static_assert(traffic<Free<Int8>>.bytes_per_step == 2 * Int8::bytes(137) + Int8::bytes(312 - 274) + Int8::bytes(100));
static_assert(traffic<Cut<Int8>>.bytes_per_step == traffic<Free<Int8>>.bytes_per_step);
static_assert(traffic<Waiting<OneBit>>.bytes_per_step == OneBit::bytes(312) + OneBit::bytes(100));  // one shard

}  // namespace

TEST_CASE("a lossless compression gives the bits of none") {
  auto const whole = by_threads<Of<DataParallel<Sync>, Shards<1>>>(3, 20);
  CHECK(by_threads<Waiting<TopK<1000>>>(3, 20) == whole);
  CHECK(over_tcp<Waiting<TopK<1000>>>(3, 20) == whole);
  auto const alone = by_threads<Of<DataParallel<Async>, Shards<3>>>(1, 20);
  CHECK(by_threads<Free<TopK<1000>>>(1, 20) == alone);
}
TEST_CASE("compressed pushes over TCP give the bits of threads") {
  CHECK(over_tcp<Waiting<Int8>>(3, 20) == by_threads<Waiting<Int8>>(3, 20));
  CHECK(over_tcp<Waiting<OneBit>>(2, 20) == by_threads<Waiting<OneBit>>(2, 20));
  CHECK(over_tcp<Free<TopK<50>>>(1, 20) == by_threads<Free<TopK<50>>>(1, 20));
  CHECK(over_tcp<Cut<Int8>>(3, 20) == by_threads<Cut<Int8>>(3, 20));
  CHECK(over_tcp<Cut<TopK<1000>>>(3, 20) == by_threads<Of<DataParallel<Sync>, Shards<1>>>(3, 20));
  using Split = Waiting<Int8, ModelParallel<SplitCols>, Precision<bf16>>;
  CHECK(over_tcp<Split>(2, 20) == by_threads<Split>(2, 20));
}
TEST_CASE("asynchronous replicas with compressed pushes learn, and so do those that push seldom") {
  double first = 0, last = 0;
  by_threads<Free<OneBit>>(3, 1, &first);
  by_threads<Free<OneBit>>(3, 600, &last);
  CHECK(last < first);
  by_threads<Of<DataParallel<Downpour<4, 4>>, Compress<TopK<100>>>>(2, 400, &last);
  CHECK(last < first);
}
TEST_CASE("a replica that comes back owes nothing of its life before") {
  using P = Free<TopK<10>>;
  Served<P> t(1, 7);
  t.train(0, 5, feed);
  auto& rank = t.replica(0).at(0);
  float const* const left = rank.at<float>(rank.layout().left[0]);
  auto const nothing = [&] { return std::all_of(left, left + 312, [](float v) { return v == 0; }); };
  CHECK(!nothing());
  t.kill(0);
  t.restart(0);
  t.kill(0);
  CHECK(nothing());
}

namespace {

template <class... Os>
struct Words : Sequential<Vector<12>, Embedding<400, 6, Os...>, Linear<8>, Tanh, Linear<4>, CrossEntropy> {};
template <class N, class... Ps> struct Talks : Plan<N, Batch<24>, MicroBatches<12>, Momentum, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
int token(long sample, int i) { return static_cast<int>((value(sample, i) + 0.5f) * (value(sample, 3) + 0.5f) * 400); }
backend::host::Feed const talk{nullptr,
                               [](void const*, long step, long first, int count, float* out) {
                                 for (long s = first; s < first + count; ++s) {
                                   for (int i = 0; i < 12; ++i) *out++ = static_cast<float>(token(step * 24 + s, i));
                                 }
                               },
                               feed.labels};
/// Whether sample s of a step names a word.
bool names(long s, int word) {
  for (int i = 0; i < 12; ++i) {
    if (token(s, i) == word) return true;
  }
  return false;
}
template <class... Ps> void rows_are_pushed(int replicas, int steps) {
  using P = Talks<Words<>, Ps...>;
  using Q = Talks<Words<SendDense>, Ps...>;
  Served<P> t(replicas, 7);
  Served<Q> dense(replicas, 7);
  t.train(0, steps, talk);
  dense.train(0, steps, talk);
  CHECK(weights<P>(t) == weights<Q>(dense));
  long rows = 0, bytes = 0, pushes = 0;
  for (int r = 0; r < replicas; ++r) {
    rows += t.ledger().sent_rows[static_cast<std::size_t>(r)];
    bytes += t.sent_bytes(r);
    pushes += t.ledger().pushed[static_cast<std::size_t>(r)];
  }
  // Rows that are not zero, each an index and its elements, a header, and the parts of rows that a shard's bounds cut
  // off.
  CHECK(bytes == pushes * traffic<P>.bytes_per_step + rows * (4 + 6 * 4));
  CHECK(pushes == steps * (P::agreed::waits ? replicas : 1));
  CHECK(bytes < pushes * traffic<Q>.bytes_per_step);
  if (P::shards > 1 && !P::agreed::waits) return;  // by hand only where no row is cut
  long wanted = 0;
  for (long k = 0; k < steps; ++k) {
    for (int r = 0; r < (P::agreed::waits ? replicas : 1); ++r) {
      for (int word = 0; word < 400; ++word) {
        bool said = false;
        long const part = P::agreed::waits ? 24 / replicas : 24;
        for (long s = r * part; s < (r + 1) * part; ++s) said |= names(k * 24 + s, word);
        wanted += said;
      }
    }
  }
  CHECK(rows == wanted);
}

}  // namespace

TEST_CASE("only rows of an embedding that are not zero are pushed, counted by hand, with the bits of a dense push") {
  rows_are_pushed<DataParallel<Sync>, Shards<1>>(3, 10);
  rows_are_pushed<DataParallel<Async>, Shards<1>>(1, 10);
  rows_are_pushed<DataParallel<Async>, Shards<7>>(1, 10);  // rows are cut
}
TEST_CASE("sparse rows over TCP, beside compressed layers too; averaged weights are sent whole") {
  using P = Talks<Words<>, DataParallel<Async>, Shards<7>>;
  Served<P> threads(1, 7);
  threads.train(0, 10, talk);
  auto const alone = [&]<class Q>(meta::type<Q>) {
    session::ParameterServer<Q> server(0, 1, 7);
    std::thread serving([&] { server.serve(); });
    typename session::Client<Q>::Addresses const there{{"127.0.0.1", server.port()}};
    session::Client<Q> mine(there, "net", 0, 1, 7);
    mine.train(
        0, 10, talk, Q::rate, [](long) {}, [](long, double) {});
    session::Client<Q> reader(there, "net", -1, 1, 7);
    auto const all = weights<Q>(reader);
    server.stop();
    serving.join();
    return std::pair(all, mine.sent_bytes());
  };
  auto const [all, sent] = alone(meta::type<P>{});
  CHECK(all == weights<P>(threads));
  CHECK(sent == threads.sent_bytes(0));
  using Both = Talks<Words<>, DataParallel<Async>, Shards<2>, Compress<Int8>>;
  Served<Both> both(1, 7);
  both.train(0, 10, talk);
  CHECK(alone(meta::type<Both>{}).first == weights<Both>(both));
  using Mean = Talks<Words<>, DataParallel<LocalSGD<2>>>;
  static_assert(traffic<Mean>.bytes_per_step ==
                traffic<Talks<Words<SendDense>, DataParallel<LocalSGD<2>>>>.bytes_per_step);
  Served<Mean>(2, 7).train(0, 4, talk);
}

TEST_CASE("what a server owes at once: all copies of all weights, a shard's part, or one by one") {
  using Waits = Of<DataParallel<Sync>, Shards<1>>;
  using Alone = Of<DataParallel<Async>, Shards<1>>;
  using Parts = Of<DataParallel<Async>, Shards<4>>;
  long const copy = 412 * 4;
  Served<Waits> waits(6, 7);
  waits.train(0, 20, feed);
  CHECK(waits.most_owed(0) == 6 * copy);  // everybody's at almost the same time
  Served<Of<DataParallel<Sync>, Shards<4>>> cut(6, 7);
  cut.train(0, 20, feed);
  for (int s = 0; s < 4; ++s) CHECK(cut.most_owed(s) == 6 * copy / 4);
  // Those that do not wait are sent their copies as they come: one at a time, where no two push at the same time.
  auto const as_they_come = [&]<class P>(Simulated<P>&& alone) {
    long owed = -1;
    alone.delay = [&](int r, long step) {  // all join at once, and all rest in the end
      if (step == 60) alone.forget_most_owed();
      if (step == 150) owed = alone.most_owed(0);
      return 1 + 0.01 * r;
    };
    alone.train(0, 200, feed);
    return owed;
  };
  CHECK(as_they_come(Simulated<Alone>(6, 7)) == copy);
  CHECK(as_they_come(Simulated<Waits>(6, 7)) == 6 * copy);
  Served<Alone> one(1, 7);
  one.train(0, 20, feed);
  CHECK(one.most_owed(0) == copy);
  CHECK(as_they_come(Simulated<Parts>(6, 7)) == copy / 4);  // a shard has its part to send
  // And without a server nobody is asked for more than one copy at once, or for a part of one.
  static_assert(send::most_at_once<Tree>(412, {6, 1, 4}) == 412);
  static_assert(send::most_at_once<Ring>(412, {4, 1, 4}) == 103);
  static_assert(send::most_at_once<HalvingDoubling>(412, {4, 1, 4}) == 206);
}
