// parameter_server/simulated.cpp - agreements on a virtual clock have the bits of threads, and the times that theory predicts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/parameter_server/simulated.hpp>
#include <cleave/sim/late.hpp>

#include <cmath>
#include <set>

#include "../train/signs.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<4>, Linear<8>, Tanh, Linear<2>, CrossEntropy> {};
template <class... Ps> struct On : Plan<Net, Ps...> { static constexpr Rate rate = Rate::constant(0.1f); };
template <class P, class Trainer> std::vector<float> weights(Trainer& t) {
  std::vector<float> w(static_cast<std::size_t>(P::schedule.weight_elements));
  t.read(0, backend::host::Region::Weights, 0, P::schedule.weight_elements, w.data());
  return w;
}
/// Exponential, mean 1.
double drawn(int r, long step) {
  tensor::Random const random{11, tensor::Purpose::Augment, static_cast<std::uint32_t>(r)};
  return -std::log(1 - static_cast<double>(random.uniform(static_cast<std::uint64_t>(step))));
}
/// Threads that wait for each other have one outcome; it is that of the virtual clock, whatever the delays.
template <class P> void is_that_of_threads(int replicas) {
  auto const feed = signs::feed<P>();
  Served<P> threads(replicas, 5);
  Simulated<P> simulated(replicas, 5);
  simulated.delay = drawn;
  for (long step = 0; step < 24; step += 12) {
    auto const losses = threads.train(step, 12, feed), seen = simulated.train(step, 12, feed);
    for (std::size_t k = 0; k < losses.size(); ++k) {
      CHECK(losses[k] > 0);
      CHECK(seen[k] == doctest::Approx(losses[k]).epsilon(1e-6));
    }
    CHECK(weights<P>(simulated) == weights<P>(threads));
  }
  CHECK(weights<P>(simulated) == weights<P>(threads));
  CHECK(simulated.ledger().pushed == threads.ledger().pushed);
  CHECK(simulated.accuracy(feed, 480) == threads.accuracy(feed, 480));
}

using Spare = On<Batch<54>, MicroBatches<18>, DataParallel<Sync, Spares<2>>, Momentum>;

}  // namespace

TEST_CASE("synchronous and averaging replicas have the bits of threads") {
  is_that_of_threads<On<Batch<24>, MicroBatches<6>, DataParallel<Sync>, Shards<1>, Momentum>>(3);
  is_that_of_threads<On<Batch<24>, MicroBatches<6>, DataParallel<LocalSGD<5>>, Momentum>>(3);  // rounds of 5, 5, 2
  is_that_of_threads<On<Batch<24>, MicroBatches<6>, DataParallel<DiLoCo<5>>, Momentum>>(3);
  is_that_of_threads<On<Batch<24>, MicroBatches<6>, DataParallel<Sync>, Shards<1>, Fastest, Compress<Int8>>>(3);
}
TEST_CASE("DiLoCo without momentum, at a rate of 100 %, is LocalSGD; else it goes elsewhere, and learns") {
  auto const after = []<class P>(P*) {
    Simulated<P> t(3, 5);
    double last = 0;
    for (double l : t.train(0, 96, signs::feed<P>())) last = l;
    CHECK(last < 0.5);
    return weights<P>(t);
  };
  using Local = On<Batch<24>, MicroBatches<6>, DataParallel<LocalSGD<4>>>;
  using Mean = On<Batch<24>, MicroBatches<6>, DataParallel<DiLoCo<4, 100, 0>>>;
  using Outer = On<Batch<24>, MicroBatches<6>, DataParallel<DiLoCo<4>>>;
  auto const local = after(static_cast<Local*>(nullptr));
  CHECK(after(static_cast<Mean*>(nullptr)) == local);
  CHECK(after(static_cast<Outer*>(nullptr)) != local);
}
TEST_CASE("Spares<2> of 20: 18 distinct gradients an update, the mean step of theory, and the same bits again") {
  constexpr int steps = 8000;
  auto const feed = signs::feed<Spare>();
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    int const wanted = run == 0 ? steps : 500;
    Simulated<Spare> t(20, 3);
    t.delay = drawn;
    std::set<int> within;
    long wrong = 0;
    t.told = [&](int, agree::Event const& e, agree::Action const& a) {
      if (a.what == agree::Done::Take) wrong += a.age != 0 || !within.insert(e.worker).second;
      if (a.what == agree::Done::Update) wrong += within.size() != 18, within.clear();
    };
    t.train(0, 500, feed);
    if (run == 0) {
      first = weights<Spare>(t);
    } else {
      CHECK(weights<Spare>(t) == first);
    }
    double const begin = t.now();
    for (long step = 500; step < wanted; step += 500) t.train(step, 500, feed);
    CHECK(wrong == 0);
    long pushed = 0, told_of = 0;
    for (int r = 0; r < 20; ++r) {
      auto const k = static_cast<std::size_t>(r);
      pushed += t.ledger().pushed[k];
      told_of += t.ledger().taken[k] + t.ledger().dropped[k];
    }
    CHECK(pushed == told_of);
    if (run == 0) {
      double const mean = (t.now() - begin) / (steps - 500);
      CHECK(mean == doctest::Approx(sim::exponential_step(20, 2)).epsilon(0.02));
    }
  }
}
TEST_CASE(
    "averaging with a spare leaves out the late replica: each mean is of three of four, after four steps of each") {
  using Averaged = On<Batch<24>, MicroBatches<6>, DataParallel<LocalSGD<4>, Spares<1>>, Momentum>;
  Simulated<Averaged> t(4, 5);
  t.delay = [](int r, long step) { return r == step / 4 % 4 ? 5.0 : 1.0; };  // another one in each round
  auto const losses = t.train(0, 80, signs::feed<Averaged>());
  CHECK(losses.back() < 0.5 * losses.front());
  CHECK(t.ledger().versions[0] == 20);
  CHECK(t.ledger().ages[0] == 60);
  long dropped = 0;
  for (long d : t.ledger().dropped) dropped += d;
  CHECK(dropped > 5);
}
TEST_CASE("without spares a step takes as long as the slowest of 20, in the mean") {
  using All = On<Batch<60>, MicroBatches<20>, DataParallel<Sync>, Shards<1>>;
  Simulated<All> t(20, 3);
  t.delay = drawn;
  auto const feed = signs::feed<All>();
  for (long step = 0; step < 8000; step += 500) t.train(step, 500, feed);
  CHECK(t.now() / 8000 == doctest::Approx(sim::exponential_step(20, 0)).epsilon(0.02));
}
TEST_CASE("gradients of equal asynchronous replicas are N - 1 updates old, and a slow one delays no other") {
  using Free = On<Batch<3>, DataParallel<Async>>;
  auto const feed = signs::feed<Free>();
  Simulated<Free> equal(8, 3);
  equal.train(0, 4000, feed);
  CHECK(equal.ledger().mean_age() == doctest::Approx(7).epsilon(0.01));
  CHECK(equal.now() == doctest::Approx(500));
  Simulated<Free> one_slow(8, 3);
  one_slow.delay = [](int r, long) { return r == 0 ? 10.0 : 1.0; };
  one_slow.train(0, 4000, feed);
  CHECK(one_slow.now() < 4000 / 7.0 + 10);
}

namespace {

using Doubles = std::vector<double>;
template <int Steps, int Percent>
using Elastic = On<Batch<6>, MicroBatches<1>, Precision<f64>, DataParallel<ElasticAveraging<Steps, Percent>>>;
/// The gradient at x over the batch of a step.
Doubles gradient(Doubles const& x, long step) {
  using Alone = On<Batch<6>, MicroBatches<1>, Precision<f64>, DataParallel<Async>>;
  static session::Replica alone(session::service<Alone>, 1, 0, 1);
  alone.forget_pushed();
  alone.take(0, 0, x.data(), static_cast<long>(x.size()));
  alone.step(step, signs::feed<Alone>(), 0.1, step);
  return {alone.at(0).outbox(), alone.at(0).outbox() + x.size()};
}
/// Zhang, Choromanska, LeCun 2015, algorithm 1, word for word: p workers in turn, `steps` gradients of each. Returns
/// the centre after all have exchanged what they have then.
Doubles algorithm_1(Doubles centre, int p, int steps, int tau, double alpha, double eta) {
  std::vector<Doubles> xs(static_cast<std::size_t>(p), centre);
  for (int t = 0; t <= steps; ++t) {
    for (int i = 0; i < p; ++i) {
      Doubles& own = xs[static_cast<std::size_t>(i)];
      Doubles const x = own;
      for (std::size_t k = 0; (t % tau == 0 || t == steps) && k < x.size(); ++k) {
        double const difference = x[k] - centre[k];
        own[k] = own[k] - alpha * difference;
        centre[k] = centre[k] + alpha * difference;
      }
      if (t == steps) continue;
      Doubles const g = gradient(x, long{t} * p + i);
      for (std::size_t k = 0; k < x.size(); ++k) own[k] = own[k] - eta * g[k];
    }
  }
  return centre;
}
template <class P> Doubles centre(Simulated<P>& t) {
  Doubles w(static_cast<std::size_t>(P::schedule.weight_elements));
  t.read(0, backend::host::Region::Weights, 0, P::schedule.weight_elements, w.data());
  return w;
}
template <int Steps, int Percent> void is_algorithm_1(int p, int steps) {
  using P = Elastic<Steps, Percent>;
  Simulated<P> t(p, 5);
  Doubles const start = centre(t);
  t.train(0, p * steps, signs::feed<P>());
  Doubles const got = centre(t),
                wanted = algorithm_1(start, p, steps, Steps, Percent / 100.0, static_cast<double>(0.1f));
  double far = 0, moved = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    far = std::max(far, std::fabs(got[k] - wanted[k]));
    moved = std::max(moved, std::fabs(got[k] - start[k]));
  }
  CHECK(moved > 0.01);
  CHECK(far < 1e-14);
}

}  // namespace

TEST_CASE("elastic averaging is algorithm 1 of its paper, to rounding; what is read has the last steps of all") {
  is_algorithm_1<2, 30>(3, 12);
  is_algorithm_1<4, 22>(4, 14);  // the last exchange is after two steps
}
TEST_CASE(
    "what is read has the steps since the last push: averaging before its first round ends, Downpour's last sum") {
  using Local = On<Batch<24>, MicroBatches<6>, DataParallel<LocalSGD<8>>>;
  Simulated<Local> local(3, 5);
  auto const start = weights<Local>(local);
  local.train(0, 7, signs::feed<Local>());
  CHECK(weights<Local>(local) != start);
  CHECK(local.ledger().taken == std::vector<long>{1, 1, 1});
  weights<Local>(local);
  CHECK(local.ledger().taken == std::vector<long>{1, 1, 1});  // nothing is left to push
  local.train(7, 8, signs::feed<Local>());
  CHECK(local.ledger().taken == std::vector<long>{2, 2, 2});  // the round after it is a full one

  // One replica of Downpour steps as its server does, but for rounding.
  using Pours = On<Batch<24>, Precision<f64>, DataParallel<Downpour<4, 4>>>;
  using Each = On<Batch<24>, Precision<f64>, DataParallel<Async>>;
  Simulated<Pours> pours(1, 5);
  Simulated<Each> each(1, 5);
  pours.train(0, 7, signs::feed<Pours>());
  each.train(0, 7, signs::feed<Each>());
  Doubles const got = centre(pours), wanted = centre(each);
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k] == doctest::Approx(wanted[k]).epsilon(1e-12));
  CHECK(pours.ledger().pushed[0] == 2);
}
