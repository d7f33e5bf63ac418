// parameter_server/client.cpp - the last steps of replicas that push less often than they step, over TCP and in checkpoints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <memory>
#include <thread>

#include "../io/scratch.hpp"
#include "../train/signs.hpp"
#include "cleave/parameter_server/client.hpp"
#include "cleave/parameter_server/parameter_server.hpp"

using namespace cleave;
using session::Client;
using session::ParameterServer;

namespace {

struct Tiny : Sequential<Vector<4>, Linear<3>, Tanh, Linear<2>, CrossEntropy> {};
template <class Agreement, class... Ps>
struct Of : Plan<Tiny, Batch<12>, MicroBatches<6>, DataParallel<Agreement>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
template <class P> std::vector<float> weights(auto& t) {
  std::vector<float> w(static_cast<std::size_t>(P::schedule.weight_elements));
  t.read(0, backend::host::Region::Weights, 0, P::schedule.weight_elements, w.data());
  return w;
}
/// Weights and steps that the server has after clients have trained and gone.
template <class P> std::pair<std::vector<float>, long> between_processes(int replicas, long steps) {
  constexpr backend::tcp::Milliseconds patience(20000);
  ParameterServer<P> server(0, replicas, 7, 0, 1, patience);
  std::thread serving([&] { server.serve(); });
  std::vector<std::thread> clients;
  for (int r = 0; r < replicas; ++r) {
    clients.emplace_back([&, r] {
      Client<P> c({{"127.0.0.1", server.port()}}, "a", r, replicas, 7, patience);
      c.train(
          0, steps, signs::feed<P>(), P::rate, [](long) {}, [](long, double) {});
    });
  }
  for (auto& c : clients) c.join();
  Client<P> reader({{"127.0.0.1", server.port()}}, "a", -1, replicas, 7, patience);
  reader.ends_at(steps);
  auto const w = weights<P>(reader);
  server.stop();
  serving.join();
  return {w, reader.steps()};
}
template <class P> std::vector<float> by_threads(int replicas, int steps) {
  Served<P> t(replicas, 7);
  t.train(0, steps, signs::feed<P>());
  return weights<P>(t);
}
template <class P> void processes_have_the_bits_of_threads(int replicas) {
  for (int steps : {3, 8, 10}) {  // in rounds of 4: none is full, all are, the last is not
    CAPTURE(steps);
    auto const [w, at] = between_processes<P>(replicas, steps);
    CHECK(w != by_threads<P>(replicas, 0));
    CHECK(w == by_threads<P>(replicas, steps));
    CHECK(at == steps);
  }
}

/// All samples of a step are the same: so are the gradients of all replicas, and whichever count, an update has the
/// same bits, if each is made with one version of all weights.
backend::host::Feed const alike{nullptr,
                                [](void const*, long step, long, int count, float* out) {
                                  for (int i = 0; i < 4 * count; ++i)
                                    out[i] = static_cast<float>((step * 7 + i % 4 * 5) % 11) / 11 - 0.5f;
                                },
                                [](void const*, long step, long, int count, int* out) {
                                  for (int i = 0; i < count; ++i) out[i] = static_cast<int>(step % 2);
                                }};
template <int Count>
struct Late : Plan<Tiny, Batch<16>, MicroBatches<16>, DataParallel<Sync, Spares<2>>, Shards<Count>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
struct One : Plan<Tiny, Batch<16>, MicroBatches<16>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
template <class P> std::vector<float> with_late_ones(int parts, int steps) {
  constexpr int replicas = 6;
  constexpr backend::tcp::Milliseconds patience(20000);
  std::vector<std::unique_ptr<ParameterServer<P>>> servers;
  std::vector<std::thread> threads;
  typename Client<P>::Addresses there;
  for (int i = 0; i < parts; ++i) {
    servers.push_back(std::make_unique<ParameterServer<P>>(0, replicas, 7, i, parts, patience));
    there.push_back({"127.0.0.1", servers.back()->port()});
    threads.emplace_back([server = servers.back().get()] { server->serve(); });
  }
  std::vector<std::thread> clients;
  std::vector<std::string> said(replicas);
  for (int r = 0; r < replicas; ++r) {
    clients.emplace_back([&, r] {
      Client<P> c(there, "a", r, replicas, 7, patience);
      tensor::Random const draw{9, tensor::Purpose::Shuffle, static_cast<std::uint32_t>(r)};
      auto const dozes = [&](long step) {
        std::this_thread::sleep_for(
            std::chrono::microseconds(draw.below(r == 0 ? 900 : 1, static_cast<std::uint64_t>(step))));
      };
      try {
        c.train(0, steps, alike, P::rate, dozes, [](long, double) {});
      } catch (Error const& e) {
        said[static_cast<std::size_t>(r)] = e.what();
      }
    });
  }
  for (auto& c : clients) c.join();
  for (auto const& why : said) CHECK(why == "");
  Client<P> reader(there, "a", -1, replicas, 7, patience);
  auto const w = weights<P>(reader);
  for (auto& s : servers) s->stop();
  for (auto& t : threads) t.join();
  return w;
}

}  // namespace

TEST_CASE("where some are late, each gradient that counts is of one version of all shards") {
  constexpr int steps = 2000;
  Trainer<One> one(1, 7);
  for (int step = 0; step < steps; step += 200) one.train(step, 200, alike);
  auto const whole = weights<One>(one);
  CHECK(with_late_ones<Late<1>>(1, steps) == whole);
  CHECK(with_late_ones<Late<3>>(1, steps) == whole);
  CHECK(with_late_ones<Late<3>>(3, steps) == whole);
  Served<Late<3>> threads(6, 7);
  threads.before_push = [](int r, long step, int) {
    if (r < 2) std::this_thread::sleep_for(std::chrono::microseconds(step * 37 % 300));
  };
  for (int step = 0; step < steps; step += 200) threads.train(step, 200, alike);
  CHECK(weights<Late<3>>(threads) == whole);
}
TEST_CASE("the server has the last steps of its clients, as of threads") {
  processes_have_the_bits_of_threads<Of<LocalSGD<4>>>(3);
  processes_have_the_bits_of_threads<Of<LocalSGD<4>, Shards<3>>>(3);
  processes_have_the_bits_of_threads<Of<DiLoCo<4>>>(3);
  processes_have_the_bits_of_threads<Of<Downpour<4, 4>>>(1);
  processes_have_the_bits_of_threads<Of<ElasticAveraging<4, 30>>>(1);
}
TEST_CASE("a run that was saved in the middle of a round, and one that is resumed from there, go on alike") {
  using P = Of<LocalSGD<4>>;
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Served<P> t(3, 7);
  t.train(0, 6, signs::feed<P>());
  session::save(t, path, 7);
  Served<P> resumed(3, 7);
  session::load(resumed, path);
  CHECK(resumed.steps() == 6);
  CHECK(weights<P>(resumed) == weights<P>(t));
  auto const losses = t.train(6, 7, signs::feed<P>()), again = resumed.train(6, 7, signs::feed<P>());
  for (std::size_t k = 0; k < losses.size(); ++k) {
    CHECK(losses[k] > 0);
    CHECK(again[k] == doctest::Approx(losses[k]).epsilon(1e-12));  // summed in whatever order replicas come
  }
  CHECK(weights<P>(resumed) == weights<P>(t));
  CHECK(t.ledger().taken == std::vector<long>{4, 4, 4});  // after 4, 6, 10 and 13 steps
}
TEST_CASE("the mean of all replicas is evaluated, though none has come to the end of its round") {
  using P = Of<LocalSGD<8>>;
  Served<P> t(3, 7);
  t.train(0, 7, signs::feed<P>());
  CHECK(t.ledger().taken == std::vector<long>{0, 0, 0});
  std::vector<double> mean(static_cast<std::size_t>(P::schedule.weight_elements));
  for (int r = 0; r < 3; ++r) {
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += static_cast<double>(t.replica(r).at(0).weights()[k]) / 3;
  }
  double const accuracy = t.accuracy(signs::feed<P>(), 480);
  CHECK(t.ledger().taken == std::vector<long>{1, 1, 1});
  CHECK(t.sent(0) == traffic<P, 3>.elements_per_step);  // one push
  auto const w = weights<P>(t);
  for (std::size_t k = 0; k < mean.size(); ++k)
    CHECK(static_cast<double>(w[k]) == doctest::Approx(mean[k]).epsilon(1e-6));
  CHECK(t.waited(0).has_value());
  CHECK(!t.exposed(0).has_value());  // a server's replica does not know how much of it was for gradients
  CHECK(accuracy == t.accuracy(signs::feed<P>(), 480));
  CHECK(t.ledger().taken == std::vector<long>{1, 1, 1});
}
TEST_CASE(
    "one that dies while it pushes its last steps is an error where the others need it, and not where they do not") {
  using Waits = Of<LocalSGD<4>>;
  Served<Waits> t(2, 7);
  t.train(0, 6, signs::feed<Waits>());
  t.before_push = [](int r, long, int) {
    if (r == 1) throw Served<Waits>::Crash{};
  };
  CHECK_THROWS_WITH_AS(t.accuracy(signs::feed<Waits>(), 48),
                       doctest::Contains("1 replicas live, where an update needs 2"), Error);
  using Free = Of<Downpour<4, 4>>;
  Served<Free> f(2, 7);
  f.train(0, 5, signs::feed<Free>());
  f.before_push = [](int r, long, int) {
    if (r == 1) throw Served<Free>::Crash{};
  };
  f.accuracy(signs::feed<Free>(), 48);
}
