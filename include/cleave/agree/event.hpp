// agree/event.hpp - events that a server's agreement receives from workers, and its decisions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::agree {

// An agreement is a pure function (state, event) -> (state, actions). Threads, processes, the explorer of small worlds
// and the fault tests call the same one: `Actions<Most> out; keeper.hear(event, out);` changes the keeper's integers
// and nothing else. A keeper is one shard of a parameter server, or the coordinator of synchronous replicas.
//
//      worker                         keeper
//        |  Joined(life) ------------->  |
//        |  <------------ Grant(version) |   a mailbox per worker that holds the newest version only
//        |  Pushed(version, count) ---->  |   Take or Drop; perhaps Update: version + 1
//        |  <-------- Grant(version + 1) |

enum class Heard : int {
  Joined,  // a worker has started, in its incarnation `life`
  Left,    // its connection has ended
  Pushed,  // its gradient, computed with the weights of `version`; number `count` of this incarnation
  Asked    // it wants the newest weights
};
struct Event {
  Heard what = Heard::Joined;
  int worker = 0;
  int life = 1;  // from 1; messages of earlier incarnations do not count
  int version = 0;
  int count = 0;
  int asks = 1;  // of Pushed: it wants the newest weights next
};

enum class Done : int {
  Take,    // the gradient counts, by `share`
  Drop,    // it does not
  Update,  // what was taken becomes one update: the version rises to `version`
  Grant,   // put `version` into the worker's mailbox
  Fail     // fewer live workers than the quorum: `version` are live
};
struct Action {
  Done what = Done::Take;
  int worker = -1;
  int version = 0;
  int age = 0;      // for Take and Drop: updates since the worker's weights were read
  float share = 1;  // for Take: the factor of the gradient
};

/// At most one grant for every worker and three more actions: take, update, fail.
template <int Most> struct Actions {
  Action of[Most + 4]{};
  int count = 0;
  constexpr void add(Action a) { of[count++] = a; }
  constexpr Action const* begin() const { return of; }
  constexpr Action const* end() const { return of + count; }
};

}  // namespace cleave::agree
