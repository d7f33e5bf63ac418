// Explores every order of events in small worlds with the real servers and workers; servers seeded with one bug each
// are all caught.
#include "world.hpp"

#include <doctest/doctest.h>

#include "cleave/agree/free.hpp"
#include "cleave/agree/quorum.hpp"

using namespace cleave;
using namespace cleave::agree;
using world::explore;
using world::Found;
using world::Limits;

namespace {

template <int W> Quorum<W> quorum(int of) {
  Quorum<W> q;
  q.quorum = of;
  return q;
}
long all_states = 0;
void sound(Found const& f) {
  CHECK(f.wrong == "");
  CHECK(f.updates > 0);
  all_states += f.states;
}

/// A mistake: what it changes in the event, and in the answer.
template <class Keeper, void before(Keeper&, Event&), bool keep(Keeper const&, Event const&, Action&)>
struct Mistaken : Keeper {
  void hear(Event e, Actions<Keeper::most>& out) {
    before(*this, e);
    Actions<Keeper::most> right;
    Keeper::hear(e, right);
    for (Action a : right) {
      if (keep(*this, e, a)) out.add(a);
    }
  }
};
template <class K> void as_it_is(K&, Event&) {}
template <class K> bool all(K const&, Event const&, Action&) { return true; }

using Q3 = Quorum<3>;
using F2 = Free<2>;
using F3 = Free<3>;
using Bounded = Free<3, Stale<>, 0, 1>;

void counts_the_late(Q3& k, Event& e) { e.version = k.version; }
void forgets_who_counted(Q3& k, Event& e) { k.counted[e.worker] = 0; }
void takes_what_there_is(Q3& k, Event&) { k.quorum = k.roster.live < 2 && k.roster.live > 0 ? k.roster.live : 2; }
void lets_old_news_end_a_new_life(Q3& k, Event& e) {
  if (e.what == Heard::Left) e.life = k.roster.life[e.worker];
}
void does_not_hear_leaving(Bounded&, Event& e) {
  if (e.what == Heard::Left) e.life = 0;
}
void takes_doubles(F2& k, Event& e) { k.heard[e.worker] = e.what == Heard::Pushed ? e.count : k.heard[e.worker]; }
void wants_every_number_in_order(F2& k, Event& e) {
  if (e.what == Heard::Pushed && e.count != k.heard[e.worker]) e.count = -1000;
}
bool none_for_the_reborn(Q3 const&, Event const& e, Action& a) {
  return !(e.what == Heard::Joined && e.life > 1 && a.what == Done::Grant);
}
bool none_for_the_late(Q3 const&, Event const& e, Action& a) { return a.what != Done::Grant || a.worker == e.worker; }
bool hides_failure(Q3 const&, Event const&, Action& a) { return a.what != Done::Fail; }
bool grants_the_version_before(F3 const&, Event const&, Action& a) {
  if (a.what == Done::Grant && a.version > 0) --a.version;
  return true;
}
struct TokenQueue : Q3 {  // as many tokens of a step as workers live, for whoever comes; the natural design
  void hear(Event const& e, Actions<3>& out) {
    Q3::hear(e, out);
    if (out.count > 0 && out.of[0].what == Done::Drop) out.count = 1;
    for (int i = 0; i < out.count; ++i) {
      if (out.of[i].what == Done::Grant) out.of[i].worker = -2;
    }
  }
};
struct NeverBegins : Q3 {  // a new count after an update
  void hear(Event const& e, Actions<3>& out) {
    int const before = version;
    Q3::hear(e, out);
    if (version > before) taken = 1;
  }
};
using Fresh = Free<3, Stale<Drop<0>>>;
struct ForgetsTheDropped : Fresh {
  void hear(Event const& e, Actions<3>& out) {
    Fresh::hear(e, out);
    if (out.count > 1 && out.of[0].what == Done::Drop) out.count = 1;
  }
};
template <int Shards> struct Mute : Worker<Shards> {  // says nothing twice
  constexpr Said again() const { return {}; }
};

template <class Keeper> std::string mistake(Limits l, Keeper k) { return explore<1>(l, k).wrong; }
template <class Base, void before(Base&, Event&), bool keep(Base const&, Event const&, Action&)>
Mistaken<Base, before, keep> keeper(int quorum = 0) {
  Mistaken<Base, before, keep> k{};
  if constexpr (requires { k.quorum; }) k.quorum = quorum;
  return k;
}

}  // namespace

TEST_CASE("synchronous with spares: sound under crashes, rejoins, doubled and lost messages") {
  sound(explore<1>({.steps = 2, .crashes = 1, .quorum = 3}, quorum<4>(3)));
  sound(explore<1>({.steps = 2, .crashes = 1, .rejoins = 1, .quorum = 2}, quorum<3>(2)));
  sound(explore<1>({.steps = 4, .crashes = 2, .rejoins = 2, .quorum = 1}, quorum<2>(1)));
  sound(explore<1>({.steps = 1, .crashes = 1, .rejoins = 1, .doubles = 1, .losses = 1, .quorum = 2}, quorum<3>(2)));
}
TEST_CASE("plain synchronous: a crash is reported at once") {
  sound(explore<1>({.steps = 4, .quorum = 4}, quorum<4>(4)));
  Found const f = explore<1>({.steps = 3, .crashes = 1, .quorum = 3}, quorum<3>(3));
  sound(f);
  CHECK(f.failures > 0);
}
TEST_CASE("asynchronous: sound under crashes, rejoins, doubled and lost messages") {
  sound(explore<1>({.steps = 4, .crashes = 1, .rejoins = 1}, F3{}));
  sound(explore<1>({.steps = 4, .crashes = 1, .rejoins = 1, .doubles = 1, .losses = 1}, F2{}));
  sound(explore<2>({.steps = 2, .crashes = 1, .rejoins = 1}, F2{}));
}
TEST_CASE("asynchronous: no gradient older than the bound is applied, and one worker runs during the warm-up") {
  sound(explore<1>({.steps = 4, .crashes = 1, .rejoins = 1, .oldest = 1}, Free<3, Stale<Drop<1>>>{}));
  sound(explore<1>({.steps = 4, .crashes = 1, .rejoins = 1, .alone = 2}, Free<3, Stale<>, 2>{}));
}
TEST_CASE("stale-synchronous: no worker is too far ahead, and dead workers block none") {
  sound(explore<1>({.steps = 4, .crashes = 1, .rejoins = 1, .bound = 1}, Bounded{}));
  sound(explore<1>({.steps = 4, .bound = 0}, Free<4, Stale<>, 0, 0>{}));
}
TEST_CASE("fetch and push at different paces") {
  sound(explore<1>({.steps = 3, .crashes = 1}, F2{}, {2, 3}));
  sound(explore<1>({.steps = 3, .crashes = 1, .rejoins = 1, .losses = 1}, F2{}, {1, 2}));
  CHECK(all_states >= 10'000'000);
  MESSAGE(all_states, " states, no deadlock and no update outside its rule");
}

TEST_CASE("mistakes that were planted are found") {
  Limits const small{.steps = 3, .crashes = 1, .quorum = 2};
  Limits const again{.steps = 2, .crashes = 2, .rejoins = 1, .quorum = 2};
  std::string const silence = "nobody moves: ";
  auto const q = [](auto k) {
    k.quorum = 2;
    return k;
  };
  CHECK(mistake(small, q(TokenQueue{})).starts_with(silence));
  CHECK(mistake(small, keeper<Q3, counts_the_late, all<Q3>>(2)) == "a gradient of another version was taken");
  CHECK(mistake({.steps = 2, .doubles = 1, .quorum = 2}, keeper<Q3, forgets_who_counted, all<Q3>>(2)) ==
        "two gradients of one worker in an update");
  CHECK(mistake({.steps = 2, .crashes = 2, .quorum = 2}, keeper<Q3, takes_what_there_is, all<Q3>>(2)) ==
        "an update of 1");
  CHECK(mistake(again, keeper<Q3, lets_old_news_end_a_new_life, all<Q3>>(2)) != "");
  CHECK(mistake({.steps = 2, .crashes = 2, .rejoins = 2, .quorum = 2}, keeper<Q3, as_it_is<Q3>, none_for_the_reborn>(2))
            .starts_with(silence));
  CHECK(mistake(small, keeper<Q3, as_it_is<Q3>, none_for_the_late>(2)).starts_with(silence));
  CHECK(mistake({.steps = 2, .crashes = 2, .quorum = 2}, keeper<Q3, as_it_is<Q3>, hides_failure>(2)) != "");
  CHECK(mistake(small, q(NeverBegins{})) == "an update of 1");
  // Two shards that count for themselves: one replica is late at the first, another at the second, and each waits for
  // the other's. So all shards of replicas that wait have one keeper.
  CHECK(explore<2>({.steps = 3, .crashes = 1, .quorum = 2}, quorum<3>(2)).wrong.starts_with(silence));
  CHECK(world::World<Q3, 1, Mute>({.steps = 3, .losses = 1, .quorum = 3}, quorum<3>(3), {})
            .explore()
            .wrong.starts_with(silence));

  Limits const rough{.steps = 4, .crashes = 1, .rejoins = 1, .doubles = 1, .losses = 1};
  CHECK(mistake(rough, keeper<F2, takes_doubles, all<F2>>()) == "a gradient was taken twice");
  CHECK(mistake(rough, keeper<F2, wants_every_number_in_order, all<F2>>()).starts_with(silence));
  CHECK(mistake({.steps = 3}, keeper<F3, as_it_is<F3>, grants_the_version_before>()) == "old weights were granted");
  CHECK(mistake({.steps = 4, .oldest = 1}, Free<3, Stale<Drop<2>>>{}) == "too old a gradient was taken");
  CHECK(mistake({.steps = 4, .crashes = 2, .oldest = 0}, ForgetsTheDropped{}).starts_with(silence));
  CHECK(mistake({.steps = 4, .bound = 1}, Free<3, Stale<>, 0, 2>{}) == "too far ahead");
  CHECK(mistake({.steps = 6, .crashes = 1, .bound = 1}, keeper<Bounded, does_not_hear_leaving, all<Bounded>>())
            .starts_with(silence));
  CHECK(mistake({.steps = 4, .alone = 2}, Free<3, Stale<>, 1>{}) == "two workers during the warm-up");
}
