// agree/follower.cpp - shards that follow the first one: every order of events in a small world of them and their workers,
// some of which die and come back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/agree/follower.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "cleave/agree/quorum.hpp"
#include "cleave/agree/worker.hpp"

using namespace cleave::agree;

namespace {

/// A first shard, one that follows it, and workers with a connection to each. Messages over a connection stay in order,
/// and what was sent before a death arrives; those of different connections do not wait for each other.
template <int W, class Keeper = Quorum<W>> struct World {
  struct Limits {
    int steps, crashes, rejoins;
    bool confirmed = true;  // a worker pushes to the first shard when the other has confirmed its push
  };
  enum Said : int { None, Joins, Leaves, Pushes };
  static constexpr int room = 8;
  struct Link {  // from a worker to a shard: what was said, in which life, with which version
    int said[room]{}, life[room]{}, version[room]{}, count = 0;
  };
  struct State {
    Keeper first;
    Follower<W> other;
    Decision<W> decided, next;
    Link to_first[W]{}, to_other[W]{};
    int grant[W]{};         // newest version from the first shard on its way, + 1
    int asked[W]{};         // that the other shard was asked for, on its way, + 1
    int answered[W]{};      // its answer, + 1
    int confirmed[W]{};     // a confirmation is on its way
    Worker<2> worker[W]{};  // its state
    int pushing[W]{};       // 1 + the version of a push that the other shard has not confirmed
    int alive[W]{}, life[W]{};
    int crashes = 0, rejoins = 0, failed = 0;
  };

  Limits limits;
  std::vector<State> open;
  std::set<std::string> seen;
  std::string wrong;
  long updates = 0, followed = 0, drops = 0;

  static_assert(std::has_unique_object_representations_v<State>);

  World(Limits l, int quorum) : limits(l) {
    State s{};
    s.first.quorum = quorum;
    for (int w = 0; w < W; ++w) start(s, w);
    visit(s);
    while (!open.empty() && wrong.empty()) {
      State const at = open.back();
      open.pop_back();
      expand(at);
    }
  }
  void visit(State const& s) {
    if (seen.insert(std::string(reinterpret_cast<char const*>(&s), sizeof s)).second) open.push_back(s);
  }
  static void say(Link& to, Said what, int life, int version = 0) {
    if (to.count == room) std::abort();
    to.said[to.count] = what;
    to.life[to.count] = life;
    to.version[to.count++] = version;
  }
  static void start(State& s, int w) {
    s.alive[w] = 1;
    ++s.life[w];
    s.worker[w] = {};
    s.worker[w].in_step = 1;
    s.pushing[w] = 0;
    say(s.to_first[w], Joins, s.life[w]);
  }
  static void die(State& s, int w) {
    ++s.crashes;
    s.alive[w] = 0;
    s.worker[w] = {};
    s.grant[w] = s.asked[w] = s.answered[w] = s.confirmed[w] = s.pushing[w] = 0;
    say(s.to_first[w], Leaves, s.life[w]);
  }
  bool done(State const& s, int w) const { return s.worker[w].weights_of(0) >= limits.steps; }

  void expand(State const& s) {
    if (s.failed || (s.first.version >= limits.steps && s.other.version >= limits.steps)) return;
    bool moved = false;
    auto const next = [&](auto change) {
      State n = s;
      change(n);
      visit(n);
      moved = true;
    };
    for (int w = 0; w < W; ++w) {
      if (s.to_first[w].count > 0) next([&](State& n) { first_hears(n, w); });
      if (s.to_other[w].count > 0) next([&](State& n) { other_hears(n, w); });
      if (s.grant[w]) {
        next([&](State& n) {
          int const version = n.grant[w] - 1;
          n.grant[w] = 0;
          n.asked[w] = version + 1;
          n.worker[w].granted(0, version);
        });
      }
      if (s.asked[w]) next([&](State& n) { asks_to_follow(n, w); });
      if (s.answered[w]) {
        next([&](State& n) {
          int const version = n.answered[w] - 1;
          n.answered[w] = 0;
          n.worker[w].granted(1, version);
        });
      }
      if (s.confirmed[w]) {
        next([&](State& n) {
          n.confirmed[w] = 0;
          say(n.to_first[w], Pushes, n.life[w], n.pushing[w] - 1);
          n.pushing[w] = 0;
        });
      }
      if (s.alive[w] && s.worker[w].computing && !done(s, w) && s.pushing[w] == 0) {
        next([&](State& n) {
          Worker<2>& me = n.worker[w];
          int const version = me.weights_of(0);
          if (me.weights_of(1) != version) wrong = "a gradient of two versions";
          me.ready();
          say(n.to_other[w], Pushes, n.life[w], version);
          if (limits.confirmed) {
            n.pushing[w] = version + 1;
          } else {
            say(n.to_first[w], Pushes, n.life[w], version);
          }
        });
      }
      if (s.alive[w] && s.crashes < limits.crashes) {
        next([&](State& n) { die(n, w); });
        // The same, and its push to the other shard is lost with it.
        if (s.to_other[w].count > 0 && s.to_other[w].said[s.to_other[w].count - 1] == Pushes) {
          next([&](State& n) {
            --n.to_other[w].count;
            die(n, w);
          });
        }
      }
      // A server lets a replica in when its earlier connection has ended.
      if (!s.alive[w] && s.rejoins < limits.rejoins && s.to_other[w].count == 0) {
        next([&](State& n) {
          ++n.rejoins;
          start(n, w);
        });
      }
    }
    if (!moved) wrong = "nobody moves";
  }
  struct Message {
    Said said;
    int life, version;
  };
  static Message take(Link& from) {
    Message const h{static_cast<Said>(from.said[0]), from.life[0], from.version[0]};
    --from.count;
    for (int i = 0; i < room; ++i) {
      from.said[i] = i < from.count ? from.said[i + 1] : 0;
      from.life[i] = i < from.count ? from.life[i + 1] : 0;
      from.version[i] = i < from.count ? from.version[i + 1] : 0;
    }
    return h;
  }
  void first_hears(State& n, int w) {
    auto const [said, life, version] = take(n.to_first[w]);
    Event e{said == Joins ? Heard::Joined : said == Leaves ? Heard::Left : Heard::Pushed, w, life, version, version};
    Actions<W> out;
    n.first.hear(e, out);
    for (Action const& a : out) {
      if (a.what == Done::Take) n.next.life[a.worker] = e.life;
      if (a.what == Done::Drop) ++drops;
      if (a.what == Done::Update) {
        ++updates;
        n.next.version = a.version;
        n.decided = n.next;
        n.next = {};
      }
      if (a.what == Done::Grant && n.alive[a.worker] && n.first.roster.life[a.worker] == n.life[a.worker])
        n.grant[a.worker] = a.version + 1;
      if (a.what == Done::Fail) n.failed = 1;
    }
  }
  void other_hears(State& n, int w) {
    auto const [said, life, version] = take(n.to_other[w]);
    Actions<W> out;
    n.other.hear({Heard::Pushed, w, life, version, version}, out);
    if (n.alive[w] && n.life[w] == life && limits.confirmed) n.confirmed[w] = 1;
  }
  /// By the decision that came with the grant; the newest one is the only one that can be of use.
  void asks_to_follow(State& n, int w) {
    int const version = n.asked[w] - 1;
    n.asked[w] = 0;
    Decision<W> d = n.decided;
    if (d.version != version) {  // an older one: the other shard has it, or it would have to
      if (n.other.version < version) wrong = "an update was passed over";
      n.answered[w] = n.other.version + 1;
      return;
    }
    Followed const f = n.other.follow(d);
    if (f == Followed::Behind) wrong = "an update was passed over";
    if (f == Followed::Lacks) wrong = "a push that counts is missing";
    if (f == Followed::Updates) ++followed;
    n.answered[w] = n.other.version + 1;
  }
};

struct GrantsAgain : Quorum<2> {
  void hear(Event const& e, Actions<2>& out) {
    Quorum<2>::hear(e, out);
    if (e.what == Heard::Joined && counted[e.worker]) out.add({Done::Grant, e.worker, version});
  }
};

}  // namespace

TEST_CASE("a push is kept for the next update; the latest life's counts, and only what was decided makes an update") {
  Follower<3> f;
  auto const hear = [&](Event const& e) {
    Actions<3> out;
    f.hear(e, out);
    return out.count == 0 ? -1 : static_cast<int>(out.of[0].what);
  };
  CHECK(hear({Heard::Joined, 0, 1}) == -1);
  CHECK(hear({Heard::Left, 0, 1}) == -1);
  CHECK(hear({Heard::Pushed, 0, 1, 0}) == static_cast<int>(Done::Take));
  CHECK(hear({Heard::Pushed, 2, 1, 0}) == static_cast<int>(Done::Take));
  CHECK(hear({Heard::Pushed, 2, 2, 0}) == static_cast<int>(Done::Take));
  CHECK(hear({Heard::Pushed, 1, 1, 1}) == static_cast<int>(Done::Drop));
  CHECK(f.follow({1, {1, 1, 0}}) == Followed::Lacks);
  CHECK(f.follow({1, {1, 0, 1}}) == Followed::Lacks);  // of an earlier life
  CHECK(f.follow({2, {1, 0, 2}}) == Followed::Behind);
  CHECK(f.follow({1, {}}) == Followed::Lacks);  // of nobody
  CHECK(f.version == 0);
  CHECK(f.follow({1, {1, 0, 2}}) == Followed::Updates);
  CHECK(f.follow({1, {1, 0, 2}}) == Followed::Had);
  CHECK(f.version == 1);
  CHECK(hear({Heard::Pushed, 1, 1, 0}) == static_cast<int>(Done::Drop));
  CHECK(!f.waited_for(0));
}
TEST_CASE("in every order of events the other shard can follow, and nobody waits for ever") {
  auto const sound = [](auto const& world) {
    CHECK(world.wrong == "");
    CHECK(world.updates > 0);
    CHECK(world.followed > 0);
    MESSAGE(world.seen.size(), " states");
  };
  sound(World<2>({3, 0, 0}, 2));
  sound(World<2>({2, 1, 1}, 2));
  sound(World<2>({2, 2, 2}, 1));
  World<3> const spare({2, 1, 1}, 2);
  sound(spare);
  CHECK(spare.drops > 0);
}
TEST_CASE("mistakes that were planted are found") {
  // A push to the first shard that does not wait for the other.
  World<2> const hasty({2, 1, 0, false}, 1);
  CHECK(hasty.wrong == "a push that counts is missing");
  // Weights for a worker whose earlier life is counted: its push takes the place of the one that counts.
  World<2, GrantsAgain> const again({2, 1, 1}, 2);
  CHECK(again.wrong == "a push that counts is missing");
}
