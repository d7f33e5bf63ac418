// parameter_server/crash.cpp - a crash at every rank, step and phase of small worlds: survivors end with the bits of an oracle that
// replays what was decided, or with the named error.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <array>
#include <map>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<6>, Linear<8>, Relu, Linear<3>, CrossEntropy> {};
template <int Count>
struct Of : Plan<Net, Batch<8>, MicroBatches<4>, DataParallel<Sync, Spares<1>>, Shards<Count>, Momentum> {};
using Crash = Served<Of<1>>::Crash;
constexpr int replicas = 3, most_shards = 3, steps = 5;
constexpr float rate = 0.1f;

float value(long sample, int i) {
  tensor::Random const random{7, tensor::Purpose::Augment, static_cast<std::uint32_t>(i)};
  return random.uniform(static_cast<std::uint64_t>(sample)) - 0.5f;
}
thread_local int dies_before = -1;  // the step before which this replica's thread dies
backend::host::Feed const feed{nullptr,
                               [](void const*, long step, long first, int count, float* out) {
                                 if (step == dies_before) throw Crash{};
                                 for (long s = first; s < first + count; ++s) {
                                   for (int i = 0; i < 6; ++i) *out++ = value(step * 16 + s, i);
                                 }
                               },
                               [](void const*, long step, long first, int count, int* out) {
                                 for (long s = first; s < first + count; ++s) *out++ = static_cast<int>(step + s) % 3;
                               }};

using Weights = std::vector<float>;
template <class P> Weights flat(Served<P>& trained) {
  Weights all(static_cast<std::size_t>(P::schedule.weight_elements));
  trained.read(0, backend::host::Region::Weights, 0, P::schedule.weight_elements, all.data());
  return all;
}

/// Which gradient, made of which versions of the shards, counted in which update. The first shard decides for all.
struct Log {
  std::map<int, std::vector<int>> taken;                                      // version -> workers
  std::map<std::tuple<int, int, int>, std::array<int, most_shards>> made_of;  // (worker, life, number) -> versions
  std::map<int, std::map<int, std::pair<int, int>>> by;                       // version -> worker -> (life, number)
};

/// The same decisions, one thread, plain loops. Its gradient of a worker is a new replica's.
template <class P> Weights replay(Log& log) {
  constexpr int shards = P::shards;
  session::Replica start(session::service<P>, 2, 0, 3);
  long const n = P::schedule.weight_elements;
  std::vector<Weights> history[shards];
  Weights moment(static_cast<std::size_t>(n));
  Weights const first(start.at(0).weights(), start.at(0).weights() + n);
  auto const& of = session::service<P>;
  for (int s = 0; s < shards; ++s) history[s].push_back(first);
  auto const version_of = [&](int s) { return static_cast<int>(history[s].size()) - 1; };
  // A shard may be ahead of another: an update is made when all that its gradients were made with is there.
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < shards; ++s) {
      int const v = version_of(s);
      if (v == steps) continue;
      auto workers = log.taken[v];
      std::sort(workers.begin(), workers.end());
      REQUIRE(workers.size() == 2);
      auto const made_of = [&](int w) {
        auto const [life, number] = log.by[v][w];
        return log.made_of.at({w, life, number});
      };
      bool const there = std::all_of(workers.begin(), workers.end(), [&](int w) {
        for (int q = 0; q < shards; ++q) {
          if (made_of(w)[static_cast<std::size_t>(q)] > version_of(q)) return false;
        }
        return true;
      });
      if (!there) continue;
      Weights sum;
      for (int w : workers) {
        session::Replica one(session::service<P>, 2, w, 3);
        auto const made = made_of(w);
        for (int q = 0; q < shards; ++q) {
          auto const version = static_cast<std::size_t>(made[static_cast<std::size_t>(q)]);
          one.take(0, of.begin(q), history[q].at(version).data() + of.begin(q), of.count(q));
        }
        long const step = *std::min_element(made.begin(), made.begin() + shards);
        one.forget_pushed();
        one.step(step, feed, rate, step);
        Weights const g(one.at(0).outbox(), one.at(0).outbox() + n);
        if (sum.empty()) {
          sum = g;
        } else {
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += g[i];
        }
      }
      history[s].push_back(history[s].back());
      for (long i = of.begin(s); i < of.end(s); ++i) {
        auto const k = static_cast<std::size_t>(i);
        moment[k] = Momentum::momentum * moment[k] + sum[k];
        history[s].back()[k] -= rate * moment[k];
      }
      moved = true;
    }
  }
  for (int s = 0; s < shards; ++s) REQUIRE(version_of(s) == steps);
  Weights out;
  for (int s = 0; s < shards; ++s)
    out.insert(out.end(), history[s].back().begin() + of.begin(s), history[s].back().begin() + of.end(s));
  return out;
}

enum Phase { before_computing, before_pushing, between_shards };

/// Crashes of some replicas at a step and a phase; true if it ended with the weights of the replay.
template <class P> bool world(std::vector<std::tuple<int, int, Phase>> const& crashes, bool rejoins) {
  Served<P> t(replicas, 3, std::chrono::milliseconds(2000));
  t.set_rate(Rate::constant(rate));
  Log log;
  std::array<std::array<int, most_shards>, replicas> reading{};  // each by its own replica's thread
  t.observe([&](int shard, agree::Event const& e, agree::Action const& a) {
    if (e.what != agree::Heard::Pushed) return;
    log.made_of[{e.worker, e.life, e.count}] = reading[static_cast<std::size_t>(e.worker)];
    if (a.what != agree::Done::Take || shard != 0) return;
    log.taken[e.version].push_back(a.worker);
    log.by[e.version][a.worker] = {e.life, e.count};
  });
  std::vector<std::atomic<bool>> died(crashes.size());
  t.before_push = [&](int r, long step, int shard) {
    for (int q = 0; q < P::shards; ++q)
      reading[static_cast<std::size_t>(r)][static_cast<std::size_t>(q)] = t.made_with(r, q);
    for (std::size_t c = 0; c < crashes.size(); ++c) {
      auto const [who, when, phase] = crashes[c];
      if (who != r || step < when || died[c]) continue;
      if (phase == before_computing) dies_before = static_cast<int>(step) + 1;
      if (phase == before_pushing || (phase == between_shards && shard == 0)) {
        died[c] = true;
        throw Crash{};
      }
    }
  };
  try {
    if (rejoins) {
      t.train(0, 3, feed);
      for (auto const& c : crashes) t.restart(std::get<0>(c));
      t.train(3, steps - 3, feed);
    } else {
      t.train(0, steps, feed);
    }
  } catch (Error const& e) {
    INFO(std::string(e.what()));
    CHECK(std::string(e.what()).find("replicas live, where an update needs 2") != std::string::npos);
    return false;
  }
  CHECK(flat(t) == replay<P>(log));
  return true;
}

}  // namespace

#define PLANS Of<1>, Of<3>

TEST_CASE_TEMPLATE("no crash: the replay of what was decided has the same bits", P, PLANS) {
  CHECK(world<P>({}, false));
}
TEST_CASE_TEMPLATE("one crash at every rank, step and phase, with and without coming back: the bits of the replay", P,
                   PLANS) {
  for (int who = 0; who < replicas; ++who) {
    for (int when = 0; when < steps; ++when) {
      for (Phase phase : {before_computing, before_pushing, between_shards}) {
        for (bool rejoins : {false, true}) {
          CAPTURE(who);
          CAPTURE(when);
          CAPTURE(phase);
          CHECK(world<P>({{who, when, phase}}, rejoins));
        }
      }
    }
  }
}
TEST_CASE_TEMPLATE("two crashes of three at every pair of steps: the named error, or done before it", P, PLANS) {
  int failed = 0;
  for (int a = 0; a < steps; ++a) {
    for (int b = 0; b < steps; ++b) {
      for (Phase phase : {before_computing, before_pushing}) {
        failed += !world<P>({{0, a, phase}, {2, b, before_pushing}}, false);
      }
    }
  }
  CHECK(failed > 12);
}
