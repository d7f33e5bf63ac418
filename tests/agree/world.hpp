// agree/world.hpp - every way a small world of keepers and workers can go: messages delayed, reordered, doubled and lost,
// workers that die and come back. The keeper and worker are those that run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "cleave/agree/event.hpp"
#include "cleave/agree/worker.hpp"

namespace world {
using namespace cleave::agree;

struct Limits {
  int steps = 3, crashes = 0, rejoins = 0, doubles = 0, losses = 0;
  int quorum = 0;   // of each update; 0: every gradient is one
  int oldest = -1;  // age of what may be taken
  int bound = -1;   // how far a worker may be ahead of the slowest
  int alone = 0;    // updates that one worker makes
  long states = 1L << 40;
};
struct Found {
  long states = 0, updates = 0, failures = 0, drops = 0;
  std::string wrong;  // the first broken rule
};

/// A message to a keeper, in one word; 0 is none.
constexpr int packed(Event e) {
  if (e.version > 250 || e.count > 8000)
    std::abort();  // the world has no such states, or they would be taken for others
  return 1 +
         (static_cast<int>(e.what) | e.worker << 2 | e.life << 5 | e.asks << 8 | (e.version + 1) << 9 | e.count << 17);
}
constexpr Event unpacked(int m) {
  auto const bits = [&](int from, int count) { return (m - 1) >> from & ((1 << count) - 1); };
  return {static_cast<Heard>(bits(0, 2)), bits(2, 3), bits(5, 3), bits(9, 8) - 1, bits(17, 13), bits(8, 1)};
}

template <class Keeper, int Shards, template <int> class WorkerT = Worker> class World {
 public:
  static constexpr int workers = Keeper::most, flights = 4 * workers + 6;

  struct State {
    Keeper keeper[Shards]{};
    WorkerT<Shards> worker[workers]{};
    int alive[workers]{}, life[workers]{};
    int message[Shards][flights]{};     // on their way to a keeper, sorted
    unsigned grant[Shards][workers]{};  // versions on their way to a worker, as bits
    int pool[8]{};                      // tokens that belong to nobody: only a wrong keeper has them
    unsigned taken[Shards][workers]{};  // gradients by life and number, as bits
    unsigned within[Shards]{};          // workers in the coming update
    int heard[Shards][workers]{};       // gradients taken or dropped
    int joined[Shards][workers]{};      // the life that the keeper has been told of
    int first[Shards]{};                // 1 + the worker that made the first update
    int crashes = 0, rejoins = 0, doubles = 0, losses = 0, rounds = 0, failed = 0;
  };
  static_assert(std::has_unique_object_representations_v<State>);

  World(Limits limits, Keeper keeper, Pace pace) : limits_(limits), pace_(pace) {
    State s;
    for (auto& k : s.keeper) k = keeper;
    for (int w = 0; w < workers; ++w) start(s, w);
    visit(s);
  }
  Found explore() {
    while (!open_.empty() && found_.wrong.empty() && found_.states < limits_.states) {
      State const s = open_.back();
      open_.pop_back();
      expand(s);
    }
    return found_;
  }

 private:
  void start(State& s, int w) const {
    s.alive[w] = 1;
    ++s.life[w];
    s.worker[w] = {};
    s.worker[w].pace = pace_;
    for (int k = 0; k < Shards; ++k) send(s, k, {Heard::Joined, w, s.life[w]});
  }
  static void send(State& s, int shard, Event e) {
    int* const m = s.message[shard];
    int const code = packed(e);
    int at = 0;
    while (m[at] > code) ++at;
    if (m[at] == code) return;  // the same words twice on their way: `doubles` stand for that
    if (m[flights - 1] != 0) std::abort();
    for (int i = flights - 1; i > at; --i) m[i] = m[i - 1];
    m[at] = code;
  }
  static void remove(State& s, int shard, int at) {
    int* const m = s.message[shard];
    for (int i = at; i + 1 < flights; ++i) m[i] = m[i + 1];
    m[flights - 1] = 0;
  }

  void expand(State const& s) {
    bool over = true;
    for (auto const& k : s.keeper) over = over && k.version >= limits_.steps;
    if (over || s.failed) return;
    bool moved = false;
    for (int k = 0; k < Shards; ++k) {
      for (int i = 0; i < flights && s.message[k][i] != 0; ++i) {
        moved = true;
        deliver(s, k, i, true);
        if (s.doubles < limits_.doubles) deliver(s, k, i, false);
        bool const can_be_lost = unpacked(s.message[k][i]).what != Heard::Left;  // the keeper's own observation
        if (s.losses < limits_.losses && can_be_lost) {
          State n = s;
          remove(n, k, i);
          ++n.losses;
          visit(n);
        }
      }
      for (int w = 0; w < workers; ++w) {
        for (int v = 0; v < 32; ++v) {
          if (!(s.grant[k][w] >> v & 1u)) continue;
          moved = true;
          State n = s;
          n.grant[k][w] &= ~(1u << v);
          if (s.losses < limits_.losses) {
            State lost = n;
            ++lost.losses;
            visit(lost);
          }
          n.worker[w].granted(k, v);
          visit(n);
        }
      }
    }
    for (int w = 0; w < workers; ++w) {
      if (!s.alive[w]) continue;
      bool const unread = s.worker[w].computing || done(s.worker[w]);
      for (int v = 0; v < 8 && !unread; ++v) {
        if (s.pool[v] == 0) continue;
        moved = true;
        State n = s;
        --n.pool[v];
        n.worker[w].version[0] = 0;
        n.worker[w].granted(0, v);
        visit(n);
      }
      if (s.worker[w].computing && !done(s.worker[w]) && in_flight(s, w) < 3) {  // a link holds so many
        moved = true;
        State n = s;
        Said const said = n.worker[w].ready();
        if (said.count > 100) return wrong("a worker pushes without end");
        speak(n, w, said);
        visit(n);
      }
      if (s.crashes < limits_.crashes) {
        State n = s;
        ++n.crashes;
        n.alive[w] = 0;
        n.worker[w] = {};
        for (int k = 0; k < Shards; ++k) {
          n.grant[k][w] = 0;
          send(n, k, {Heard::Left, w, n.life[w]});
        }
        visit(n);
      }
    }
    for (int w = 0; w < workers; ++w) {
      if (s.alive[w] || s.rejoins >= limits_.rejoins) continue;
      State n = s;
      ++n.rejoins;
      start(n, w);
      visit(n);
    }
    if (!moved) silent(s);
  }

  bool done(WorkerT<Shards> const& w) const {
    for (int k = 0; k < Shards; ++k) {
      if (w.weights_of(k) < limits_.steps) return false;
    }
    return true;
  }
  static int in_flight(State const& s, int w) {
    int n = 0;
    for (int m : s.message[0]) n += m != 0 && unpacked(m).worker == w;
    return n;
  }
  static void speak(State& s, int w, Said said) {
    for (int k = 0; k < Shards; ++k) {
      if (said.push) {
        send(s, k, {Heard::Pushed, w, s.life[w], s.worker[w].weights_of(k), said.count, said.ask});
      } else if (said.ask) {
        send(s, k, {Heard::Asked, w, s.life[w]});
      }
    }
  }
  /// Nothing is on its way and nobody computes: after a loss, deadlines pass and workers say it again; else it hangs.
  void silent(State const& s) {
    int alive = 0;
    for (int a : s.alive) alive += a;
    if (alive == 0 && limits_.quorum == 0) return;
    if (s.rounds >= s.losses) return wrong("nobody moves: " + std::to_string(alive) + " workers live, no failure told");
    State n = s;
    ++n.rounds;
    for (int w = 0; w < workers; ++w) {
      if (!n.alive[w]) continue;
      if (n.worker[w].computed == 0) {
        for (int k = 0; k < Shards; ++k) send(n, k, {Heard::Joined, w, n.life[w]});
      } else {
        speak(n, w, n.worker[w].again());
      }
    }
    visit(n);
  }

  void deliver(State const& s, int shard, int at, bool once) {
    State n = s;
    Event const e = unpacked(n.message[shard][at]);
    if (once) {
      remove(n, shard, at);
    } else {
      ++n.doubles;
    }
    Actions<workers> out;
    int const before = n.keeper[shard].version;
    n.keeper[shard].hear(e, out);
    if (e.what == Heard::Joined && n.joined[shard][e.worker] < e.life) {
      n.joined[shard][e.worker] = e.life;  // whoever comes late begins beside the slowest
      int slowest = 1000;
      for (int w = 0; w < workers; ++w) {
        if (w != e.worker && n.joined[shard][w] > 0) slowest = std::min(slowest, n.heard[shard][w]);
      }
      if (slowest < 1000) n.heard[shard][e.worker] = std::max(n.heard[shard][e.worker], slowest);
    }
    judge(n, shard, e, before, out);
    visit(n);
  }

  void judge(State& n, int k, Event const& e, int before, Actions<workers> const& out) {
    int answers = 0;
    bool const heard = e.what == Heard::Pushed;
    for (Action const& a : out) {
      switch (a.what) {
        case Done::Take: {
          ++answers;
          int const w = a.worker;
          unsigned const bit = 1u << ((e.life - 1) * 10 + e.count);
          if (n.taken[k][w] & bit) wrong("a gradient was taken twice");
          n.taken[k][w] |= bit;
          ++n.heard[k][w];
          if (limits_.quorum > 0 && e.version != before) wrong("a gradient of another version was taken");
          if (n.within[k] >> w & 1u) wrong("two gradients of one worker in an update");
          if (limits_.oldest >= 0 && before - e.version > limits_.oldest) wrong("too old a gradient was taken");
          if (before < limits_.alone && n.crashes == 0) {
            if (n.first[k] != 0 && n.first[k] != w + 1) wrong("two workers during the warm-up");
            n.first[k] = w + 1;
          }
          n.within[k] |= 1u << w;
          break;
        }
        case Done::Drop:
          ++answers;
          ++found_.drops;
          break;
        case Done::Update: {
          int taken = 0;
          for (int w = 0; w < workers; ++w) taken += static_cast<int>(n.within[k] >> w & 1u);
          if (taken != (limits_.quorum > 0 ? limits_.quorum : 1)) wrong("an update of " + std::to_string(taken));
          if (a.version != before + 1 || n.keeper[k].version != before + 1) wrong("a version was skipped");
          n.within[k] = 0;
          ++found_.updates;
          break;
        }
        case Done::Grant:
          if (a.worker == -2) {
            ++n.pool[a.version];
            break;
          }
          if (a.version != n.keeper[k].version) wrong("old weights were granted");
          if (limits_.bound >= 0 && n.crashes == 0) {
            for (int w = 0; w < workers; ++w) {
              bool const there = n.keeper[k].roster.here[w];
              if (there && n.heard[k][a.worker] - n.heard[k][w] > limits_.bound) wrong("too far ahead");
            }
          }
          if (n.alive[a.worker] && n.keeper[k].roster.life[a.worker] == n.life[a.worker]) {  // its connection
            n.grant[k][a.worker] |= 1u << a.version;
          }
          break;
        case Done::Fail: {
          int known = 0;
          for (int w = 0; w < workers; ++w) known += n.alive[w] && n.joined[k][w] == n.life[w];
          if (known >= (limits_.quorum > 0 ? limits_.quorum : 1)) wrong("a failure was told with enough live workers");
          n.failed = limits_.quorum > 0;
          ++found_.failures;
          break;
        }
      }
    }
    if (heard && !n.failed && answers != 1) wrong("a gradient was neither taken nor dropped");
  }
  void wrong(std::string what) {
    if (found_.wrong.empty()) found_.wrong = std::move(what);
  }
  /// Seen states are kept as 64 bits of their hash: among 10^7 states two collide with probability 3e-6.
  void visit(State const& s) {
    unsigned char bytes[sizeof(State)];
    std::memcpy(bytes, &s, sizeof(State));
    std::uint64_t h = 0x9E3779B97F4A7C15u;
    std::size_t i = 0;
    for (; i + 8 <= sizeof(State); i += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes + i, 8);
      h = (h ^ word) * 0xD6E8FEB86659FD93u;
      h ^= h >> 32;
    }
    for (; i < sizeof(State); ++i) h = (h ^ bytes[i]) * 0xD6E8FEB86659FD93u, h ^= h >> 32;
    if (h == 0) h = 1;
    if (!seen(h)) return;
    ++found_.states;
    open_.push_back(s);
  }
  bool seen(std::uint64_t h) {
    if (2 * (known_ + 1) > table_.size()) {
      std::vector<std::uint64_t> const old = std::move(table_);
      table_.assign(old.empty() ? 1024 : old.size() * 2, 0);
      for (std::uint64_t o : old) {
        if (o != 0) put(o);
      }
    }
    if (!put(h)) return false;
    ++known_;
    return true;
  }
  bool put(std::uint64_t h) {
    std::size_t at = (h >> 7) & (table_.size() - 1);
    while (table_[at] != 0) {
      if (table_[at] == h) return false;
      at = (at + 1) & (table_.size() - 1);
    }
    table_[at] = h;
    return true;
  }

  Limits limits_;
  Pace pace_;
  Found found_;
  std::vector<State> open_;
  std::vector<std::uint64_t> table_;
  std::size_t known_ = 0;
};

template <int Shards, class Keeper> Found explore(Limits limits, Keeper keeper, Pace pace = {}) {
  return World<Keeper, Shards>(limits, keeper, pace).explore();
}

}  // namespace world
