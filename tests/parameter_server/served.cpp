// parameter_server/served.cpp - replicas with a parameter server: bits of the all-reduce, spares, staleness, failures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <limits>
#include <numeric>
#include <set>

#include "../train/signs.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Tiny : Sequential<Vector<4>, Linear<2>, CrossEntropy> {};

template <class... Ps> struct Of : Plan<Net, Batch<24>, MicroBatches<12>, Momentum, Ps...> {};
struct Short : Momentum {  // all steps are clipped
  static constexpr float clip_norm = 0.05f, weight_decay = 0.01f;
};
template <class... Ps> struct Clip : Plan<Net, Batch<24>, MicroBatches<12>, Short, Ps...> {};
template <class... Ps> struct Free : Plan<Net, Batch<24>, Momentum, Ps...> {};

template <class P> auto weights(auto& t) {
  std::vector<tensor::accumulate_t<typename P::number>> all;
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(t, k)) all.push_back(static_cast<tensor::accumulate_t<typename P::number>>(v));
  }
  return all;
}
using signs::feed;
template <class P> auto by_collectives(int replicas, int steps) {
  Trainer<P> t(replicas, 7);
  t.train(0, steps, feed<P>());
  return weights<P>(t);
}
template <class P> auto by_server(int replicas, int steps) {
  Served<P> t(replicas, 7);
  t.train(0, steps / 2, feed<P>());
  t.train(steps / 2, steps - steps / 2, feed<P>());
  CHECK(t.allocated(0) == t.memory().total);
  schedule::Traffic const step =
      schedule::traffic(schedule::program<P>, P::request_of(replicas), P::ranks_of(replicas), 0);
  CHECK(t.sent(0) == steps * step.elements_per_step);
  CHECK(t.sent_bytes(0) == steps * step.bytes_per_step);
  return weights<P>(t);
}
/// The mean loss of a run's last steps: one batch's alone says little where replicas race.
double late(std::vector<double> const& losses) {
  auto const n = std::min<std::ptrdiff_t>(100, std::ssize(losses));
  return std::accumulate(losses.end() - n, losses.end(), 0.0) / static_cast<double>(n);
}
void doze(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

}  // namespace

TEST_CASE("a server gives the bits of the all-reduce, on 1, 3 and 6 replicas") {
  auto const whole = by_collectives<Of<DataParallel<Sync>>>(1, 10);
  CHECK(by_server<Of<DataParallel<Sync>, Shards<1>>>(3, 10) == whole);  // 4 micro-batches each: a whole branch
  CHECK(by_server<Of<DataParallel<Sync>, Shards<1>>>(6, 10) == whole);
  CHECK(by_server<Of<DataParallel<Sync>, Shards<1>>>(1, 10) == whole);
}
TEST_CASE("in several shards, which follow the first, replicas that wait have the same bits") {
  auto const whole = by_collectives<Of<DataParallel<Sync>>>(1, 10);
  CHECK(by_server<Of<DataParallel<Sync>, Shards<2>>>(3, 10) == whole);
  CHECK(by_server<Of<DataParallel<Sync>, Shards<5>>>(6, 10) == whole);
  CHECK(by_server<Of<DataParallel<Sync>, Shards<3>, Precision<bf16>>>(3, 10) ==
        by_server<Of<DataParallel<Sync>, Shards<1>, Precision<bf16>>>(3, 10));
  auto const cut = by_collectives<Of<DataParallel<Sync>, ModelParallel<SplitCols>>>(3, 10);
  CHECK(by_server<Of<DataParallel<Sync>, ModelParallel<SplitCols>, Shards<3>>>(3, 10) == cut);
  auto const averaged = [&]<class P>(std::type_identity<P>) {
    Served<P> t(3, 7);
    t.train(0, 10, feed<P>());
    return weights<P>(t);
  };
  CHECK(averaged(std::type_identity<Of<DataParallel<LocalSGD<4>>, Shards<3>>>{}) ==
        averaged(std::type_identity<Of<DataParallel<LocalSGD<4>>>>{}));
  CHECK(averaged(std::type_identity<Of<DataParallel<DiLoCo<3>>, Shards<4>>>{}) ==
        averaged(std::type_identity<Of<DataParallel<DiLoCo<3>>>>{}));
  // The spare is late at one shard or another: what a shard has of it does not count.
  using Spare = Of<DataParallel<Sync, Spares<1>>, Shards<3>>;
  Served<Spare> spare(4, 7);
  spare.set_rate(Rate::constant(0.1f));
  double const first = late(spare.train(0, 1, feed<Of<>>()));
  CHECK(late(spare.train(1, 300, feed<Of<>>())) < first);
  CHECK(spare.ledger().versions == std::vector<int>(3, 301));
}
TEST_CASE("split layers under a server, with the bits of the same split under all-reduce") {
  auto const cut = by_collectives<Of<DataParallel<Sync>, ModelParallel<SplitCols>>>(3, 10);
  CHECK(by_server<Of<DataParallel<Sync>, ModelParallel<SplitCols>, Shards<1>>>(3, 10) == cut);
  auto const sliced = by_collectives<Of<DataParallel<Sync>, ModelParallel<SplitBatch>>>(3, 10);  // summed over the ways
  CHECK(by_server<Of<DataParallel<Sync>, ModelParallel<SplitBatch>, Shards<1>>>(3, 10) == sliced);
}
TEST_CASE("gradients are clipped where they are summed: at the server, with the bits of the all-reduce") {
  auto const clipped = by_collectives<Clip<DataParallel<Sync>>>(1, 10);
  CHECK(clipped != by_collectives<Of<DataParallel<Sync>>>(1, 10));
  CHECK(by_server<Clip<DataParallel<Sync>, Shards<1>>>(1, 10) == clipped);
  CHECK(by_server<Clip<DataParallel<Sync>, Shards<1>>>(3, 10) == clipped);
  CHECK(by_server<Clip<DataParallel<Sync>, Shards<1>>>(6, 10) == clipped);
  auto const sliced = by_collectives<Clip<DataParallel<Sync>, ModelParallel<SplitBatch>>>(3, 10);
  CHECK(by_server<Clip<DataParallel<Sync>, ModelParallel<SplitBatch>, Shards<1>>>(3, 10) == sliced);
  // The spare is waited for by nobody: whose gradients a step has depends on time, and each sum is clipped.
  Served<Clip<DataParallel<Sync, Spares<1>>>> spare(4, 7);
  spare.set_rate(Rate::constant(0.1f));
  double const first = late(spare.train(0, 1, feed<Of<>>()));
  CHECK(late(spare.train(1, 300, feed<Of<>>())) < first);
}
TEST_CASE("around a split model the server clips by the norm over all ways") {
  auto const cut = by_collectives<Clip<DataParallel<Sync>, ModelParallel<SplitColsRows>>>(3, 10);
  CHECK(by_server<Clip<DataParallel<Sync>, ModelParallel<SplitColsRows>, Shards<1>>>(3, 10) == cut);
  auto const four = by_collectives<Clip<DataParallel<Sync>, ModelParallel<SplitRows, Ways<4>>>>(3, 10);
  CHECK(by_server<Clip<DataParallel<Sync>, ModelParallel<SplitRows, Ways<4>>, Shards<1>>>(3, 10) == four);
}
TEST_CASE("replicas that step themselves clip their own gradients; one such replica has the bits of a plan without") {
  auto const one = by_collectives<Clip<DataParallel<Sync>>>(1, 10);
  using Local = Clip<DataParallel<LocalSGD<5>>>;
  Served<Local> alone(1, 7);
  alone.train(0, 10, feed<Local>());
  auto const own = weights<Local>(alone);
  REQUIRE(static_cast<long>(own.size()) >= Local::schedule.weight_elements);
  CHECK(std::equal(own.begin(), own.begin() + Local::schedule.weight_elements, one.begin()));
  Served<Clip<DataParallel<LocalSGD<4>>>> t(3, 7);
  t.set_rate(Rate::constant(0.1f));
  double const first = late(t.train(0, 1, feed<Of<>>()));
  CHECK(late(t.train(1, 300, feed<Of<>>())) < first);
}
TEST_CASE("asynchrony, a split model and small batches in one plan; one such replica has the synchronous bits") {
  auto const whole = by_collectives<Free<ModelParallel<SplitColsRows>>>(1, 10);
  CHECK(by_server<Free<ModelParallel<SplitColsRows>, DataParallel<Async>, Shards<2>>>(1, 10) == whole);
  Served<Free<ModelParallel<SplitCols>, DataParallel<Async>, Precision<bf16>, Accumulate<2>>> t(2, 7);
  t.set_rate(Rate::constant(0.01f));
  double const first = late(t.train(0, 1, feed<Free<>>()));
  CHECK(late(t.train(1, 400, feed<Free<>>())) < first);
}
TEST_CASE("LocalSGD<1> with plain SGD is gradient averaging; k steps cost one round of pushes") {
  struct One : Plan<Net, Batch<24>, MicroBatches<12>, Precision<f64>, DataParallel<LocalSGD<1>>> {};
  struct All : Plan<Net, Batch<24>, MicroBatches<12>, Precision<f64>, DataParallel<Sync>> {};
  auto const a = by_server<One>(4, 10), b = by_collectives<All>(4, 10);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-10));

  using P = Of<DataParallel<LocalSGD<5>>>;
  Served<P> t(3, 7);
  t.train(0, 20, feed<P>());
  CHECK(t.ledger().pushed == std::vector<long>{4, 4, 4});
  CHECK(t.sent(0) == 4 * traffic<P>.elements_per_step);
  t.train(20, 3, feed<P>());
  auto at = [&](int r) {
    auto& rank = t.replica(r).at(0);
    return std::vector<float>(rank.weights(), rank.weights() + P::schedule.weight_elements);
  };
  CHECK(at(0) != at(1));  // in between they differ
  t.train(23, 3, feed<P>());
  CHECK(t.ledger().pushed == std::vector<long>{5, 5, 5});
}
TEST_CASE("of 20 replicas with two spares every update has 18 distinct gradients of its step, 10,000 times") {
  struct P : Plan<Tiny, Batch<18>, MicroBatches<18>, DataParallel<Sync, Spares<2>>> {};
  Served<P> t(20, 7);
  t.set_rate(Rate::constant(0.001f));
  std::set<int> within;
  long updates = 0, wrong = 0, dropped = 0, expected = 0;
  t.observe([&](int, agree::Event const& e, agree::Action const& a) {
    if (a.what == agree::Done::Take) {
      wrong += e.version != expected || !within.insert(a.worker).second;
    } else if (a.what == agree::Done::Update) {
      wrong += within.size() != 18;
      within.clear();
      ++updates;
      ++expected;
    } else if (a.what == agree::Done::Drop) {
      ++dropped;
    }
  });
  t.before_push = [](int r, long step, int) {
    tensor::Random const draw{5, tensor::Purpose::Shuffle, static_cast<std::uint32_t>(r)};
    if (draw.below(40, static_cast<std::uint64_t>(step)) == 0) doze(static_cast<int>(draw.below(300, 1)));
    if (r == 3) doze(200);
  };
  long const steps = std::getenv("CLEAVE_SHORT") ? 1000 : 10000;
  for (long s = 0; s < steps; s += 1000) t.train(s, 1000, feed<P>());
  CHECK(updates == steps);
  CHECK(wrong == 0);
  auto const& l = t.ledger();
  long taken = 0, pushed = 0, told = 0;
  for (std::size_t r = 0; r < 20; ++r) {
    taken += l.taken[r];
    pushed += l.pushed[r];
    told += l.dropped[r];
    CHECK(l.dropped[r] > 0);                         // every replica is dropped sometimes
    if (r != 3) CHECK(l.dropped[3] > l.dropped[r]);  // and the slow one most
  }
  CHECK(taken == 18 * steps);
  CHECK(told == dropped);
  CHECK(pushed == taken + told);
}
TEST_CASE("equal replicas are N - 1 updates stale on average; a slow one delays no other") {
  struct P : Plan<Tiny, Batch<4>, DataParallel<Async>> {};
  {
    Served<P> t(5, 7);
    t.set_rate(Rate::constant(0.001f));
    t.before_push = [](int, long, int) { doze(2000); };
    t.train(0, 600, feed<P>());
    CHECK(t.ledger().mean_age() > 2);  // 4 less what a loaded machine lets threads wait; exact in agree/free.cpp
    CHECK(t.ledger().mean_age() < 4.1);
  }
  Served<P> t(4, 7);
  t.before_push = [](int r, long, int) { doze(r == 2 ? 10000 : 1000); };
  t.train(0, 800, feed<P>());
  auto const& taken = t.ledger().taken;
  CHECK(taken[0] + taken[1] + taken[2] + taken[3] == 800);
  CHECK(taken[2] < 200);  // its share, were it not slow; the others have taken the rest
  for (int r : {0, 1, 3}) CHECK(taken[static_cast<std::size_t>(r)] > taken[2]);
}
TEST_CASE("nothing older than the bound is applied, and what is dropped is counted") {
  struct P : Plan<Tiny, Batch<4>, DataParallel<Async, Stale<Drop<2>>>> {};
  Served<P> t(6, 7);
  t.before_push = [](int r, long, int) { doze(r == 0 ? 3000 : 300); };
  t.train(0, 600, feed<P>());
  auto const& l = t.ledger();
  for (std::size_t a = 3; a < l.ages.size(); ++a) CHECK(l.ages[a] == 0);
  CHECK(l.dropped[0] > 0);
  for (std::size_t r = 0; r < 6; ++r) CHECK(l.pushed[r] == l.taken[r] + l.dropped[r]);
}
TEST_CASE("one replica pushes during the warm-up, all after it") {
  struct P : Plan<Tiny, Batch<4>, DataParallel<Async, WarmUp<50>>> {};
  Served<P> t(4, 7);
  std::set<int> early, late;
  t.observe([&](int, agree::Event const&, agree::Action const& a) {
    if (a.what == agree::Done::Update) (a.version <= 50 ? early : late).insert(a.worker);
  });
  t.before_push = [](int, long, int) { doze(100); };
  t.train(0, 400, feed<P>());
  CHECK(early.size() == 1);
  CHECK(late.size() == 4);
}
TEST_CASE("it is the same one for all shards of all ways") {
  struct P : Plan<Tiny, Batch<4>, DataParallel<Async, WarmUp<50>>, Shards<2>, ModelParallel<SplitCols>> {};
  Served<P> t(4, 7);
  std::set<int> early[4];
  std::mutex guard;
  t.observe([&](int shard, agree::Event const&, agree::Action const& a) {
    std::lock_guard const lock(guard);
    if (a.what == agree::Done::Update && a.version <= 50) early[shard].insert(a.worker);
  });
  t.before_push = [](int, long, int) { doze(100); };
  t.train(0, 400, feed<P>());
  CHECK(early[0].size() == 1);
  for (auto const& of : early) CHECK(of == early[0]);
}
TEST_CASE("a slow shard does not hold back the versions of the others") {
  struct P : Plan<Tiny, Batch<4>, DataParallel<Downpour<8, 1>>, Shards<2>> {};
  Served<P> t(3, 7);
  int most_apart = 0, versions[2] = {};
  std::mutex guard;
  t.observe([&](int shard, agree::Event const&, agree::Action const& a) {
    if (a.what != agree::Done::Update) return;
    std::lock_guard const lock(guard);  // each shard has a thread of its own
    versions[shard] = a.version;
    most_apart = std::max(most_apart, std::abs(versions[0] - versions[1]));
  });
  t.before_push = [](int, long, int shard) {
    if (shard == 1) doze(300);
  };
  t.train(0, 400, feed<P>());
  CHECK(versions[0] == 400);
  CHECK(versions[1] == 400);
  CHECK(most_apart >= 2);  // one apart is between two pushes of one replica; more is others going on
}
TEST_CASE("Downpour with Adagrad and elastic averaging learn") {
  struct D : Plan<Net, Batch<24>, DataParallel<Downpour<4, 2>>, Adagrad, Shards<2>> {};
  struct E : Plan<Net, Batch<24>, DataParallel<ElasticAveraging<4, 10>>, Momentum> {};
  Served<D> d(3, 7);
  d.set_rate(Rate::constant(0.02f));
  double const first = d.train(0, 1, feed<D>())[0];
  CHECK(late(d.train(1, 600, feed<D>())) < first / 2);
  CHECK(d.ledger().pushed[0] + d.ledger().pushed[1] + d.ledger().pushed[2] >= 298);
  Served<E> e(3, 7);
  e.set_rate(Rate::constant(0.02f));
  e.train(0, 600, feed<E>());
  CHECK(e.accuracy(feed<E>(), 240) >= 0.9);
}
TEST_CASE(
    "a loss or gradient that is not finite stops the run with replica, layer and step, and never reaches the server") {
  struct P : Plan<Net, Batch<24>, DataParallel<Async>, Momentum> {};
  Served<P> t(2, 7);
  auto bad = feed<P>();
  bad.pixels = [](void const*, long step, long first, int count, float* out) {
    feed<P>().pixels(nullptr, step, first, count, out);
    if (step == 57) out[3] = std::numeric_limits<float>::quiet_NaN();
  };
  CHECK_THROWS_WITH_AS(t.train(0, 200, bad),
                       doctest::Contains(": the loss is not finite at step 57: training has diverged"), Diverged);
  for (float w : weights<P>(t)) CHECK(std::isfinite(w));
  for (int r : {0, 1}) t.kill(r);
  CHECK_THROWS_WITH_AS(t.train(200, 10, feed<P>()), doctest::Contains("no replica lives"), Error);
  for (int r : {0, 1}) t.restart(r);
  t.train(200, 10, feed<P>());

  session::Replica alone(session::service<P>, 1, 0, 7);
  alone.step(0, feed<P>(), 0.1, 0);
  CHECK(alone.not_finite().empty());
  alone.at(0).outbox()[P::schedule.weight[2].offset] = std::numeric_limits<float>::infinity();
  CHECK(alone.not_finite() == "layer 2 (product)");
}
TEST_CASE("a killed replica does not stop an asynchronous run; restarted it takes part again") {
  struct P : Plan<Tiny, Batch<4>, DataParallel<Async>, Shards<2>> {};
  Served<P> t(3, 7);
  t.before_push = [&](int r, long step, int) {
    doze(100);
    if (r == 1 && step > 20 && step < 100) throw Served<P>::Crash{};
  };
  t.train(0, 100, feed<P>());
  long const before = t.ledger().taken[1];
  t.restart(1);
  t.train(100, 200, feed<P>());
  CHECK(t.ledger().taken[1] > before);
  long all = 0;
  for (long n : t.ledger().taken) all += n;
  CHECK(all >= 300);  // what the dead had drawn was taken over
}
TEST_CASE("synchronous with spares goes on at the quorum and fails below it, at once and by name") {
  struct P : Plan<Tiny, Batch<4>, MicroBatches<4>, DataParallel<Sync, Spares<2>>, Shards<3>> {};
  Served<P> t(4, 7);
  t.train(0, 10, feed<P>());
  t.kill(0);
  t.train(10, 10, feed<P>());
  t.kill(3);
  t.train(20, 10, feed<P>());
  t.restart(0);
  t.kill(1);
  t.train(30, 10, feed<P>());
  t.kill(2);
  CHECK_THROWS_WITH_AS(t.train(40, 10, feed<P>()), doctest::Contains("1 replicas live, where an update needs 2"),
                       Error);
  t.restart(1);
  CHECK_THROWS_AS(t.train(40, 10, feed<P>()), Error);  // it stays so
}
TEST_CASE("a wait without end is an error that says who waited for what") {
  struct P : Plan<Tiny, Batch<4>, MicroBatches<2>, DataParallel<Sync>, Shards<1>> {};
  Served<P> t(2, 7, std::chrono::milliseconds(300));
  t.before_push = [](int r, long, int) {
    if (r == 1) doze(1500000);
  };
  CHECK_THROWS_WITH_AS(t.train(0, 4, feed<P>()), doctest::Contains("replica 0 waited 300 ms for weights newer than"),
                       Error);
}
TEST_CASE("100 replicas take a step together") {
  struct P : Plan<Tiny, Batch<100>, MicroBatches<100>, DataParallel<Sync>, Shards<1>> {};
  struct Q : Plan<Tiny, Batch<100>, MicroBatches<100>, DataParallel<Sync>> {};
  Served<P> t(100, 7);
  t.train(0, 3, feed<P>());
  Trainer<Q> one(1, 7);
  one.train(0, 3, feed<Q>());
  CHECK(weights<P>(t) == weights<Q>(one));
  struct Cut : Plan<Tiny, Batch<100>, MicroBatches<100>, DataParallel<Sync>, Shards<4>> {};
  Served<Cut> cut(100, 7);
  cut.train(0, 3, feed<Cut>());
  CHECK(weights<Cut>(cut) == weights<Q>(one));
}
TEST_CASE("numbers that do not fit are told") {
  using P = Of<DataParallel<Sync, Spares<2>>>;
  CHECK_THROWS_WITH_AS(Served<P>(7),
                       doctest::Contains("12 micro-batches do not divide among the 5 replicas of an update; run 6 "),
                       Error);
  CHECK_THROWS_WITH_AS(Served<P>(2), doctest::Contains("run at least 3"), Error);
  CHECK_THROWS_WITH_AS(Served<P>(1025), doctest::Contains("1 to 1024 replicas, got 1025"), Error);
}
