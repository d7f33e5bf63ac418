// agree/decider.hpp - the decisions of an agreement without its type: what a shard of a server asks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <type_traits>

#include "agreement.hpp"
#include "event.hpp"
#include "follower.hpp"

namespace cleave::agree {

/// At most this many replicas around a server.
inline constexpr int most_replicas = 1024;

/// The state of one shard's agreement, which event.hpp describes. One call for each event.
template <int Most> class Decider {
 public:
  Decider() = default;
  virtual ~Decider() = default;
  Decider(Decider const&) = delete;
  Decider& operator=(Decider const&) = delete;
  virtual void hear(Event const& e, Actions<Most>& out) = 0;
  /// Whether others may wait for this worker.
  virtual bool waited_for(int worker) const = 0;
  virtual int version() const = 0;
  virtual void set_version(int version) = 0;
  /// Of a shard that follows the first.
  virtual Followed follow(Decision<Most> const&) { return Followed::Had; }
  /// Of a worker, the life whose push is kept for the next update; 0: none.
  virtual int kept(int) const { return 0; }
};

template <class Keeper> class DeciderOf final : public Decider<Keeper::most> {
 public:
  explicit DeciderOf(Keeper const& keeper) : keeper_(keeper) {}
  void hear(Event const& e, Actions<Keeper::most>& out) override { keeper_.hear(e, out); }
  bool waited_for(int worker) const override { return keeper_.waited_for(worker); }
  int version() const override { return keeper_.version; }
  void set_version(int version) override {
    if constexpr (requires { keeper_.begin_at(version); }) {
      keeper_.begin_at(version);
    } else {
      keeper_.version = version;
    }
  }
  Followed follow(Decision<Keeper::most> const& d) override {
    if constexpr (follows) return keeper_.follow(d);
    return Followed::Had;
  }
  int kept(int worker) const override {
    if constexpr (follows) return keeper_.kept[worker];
    return 0;
  }

 private:
  static constexpr bool follows = std::is_same_v<Keeper, Follower<Keeper::most>>;

  Keeper keeper_;
};
/// `Keeper` counts workers: an update is made of the pushes of several.
template <class Keeper> inline constexpr bool has_quorum = requires { Keeper{}.quorum; };

/// A new shard's, of so many workers; an update needs `quorum` of them, if replicas wait for each other.
template <class Keeper> std::unique_ptr<Decider<Keeper::most>> decider(int workers, int quorum) {
  Keeper keeper;
  if constexpr (has_quorum<Keeper>) {
    keeper.workers = workers;
    keeper.quorum = quorum;
  }
  return std::make_unique<DeciderOf<Keeper>>(keeper);
}

/// How replicas agree, as a value.
struct Terms {
  bool waits = false;     // for each other in every update
  bool together = false;  // an update is made of the pushes of several replicas
  Change change = Change::Step;
  Pace pace;
  int percent = 0, spares = 0;
  OuterStep outer;
  std::unique_ptr<Decider<most_replicas>> (*decider)(int workers, int quorum) = nullptr;

  constexpr bool steps_itself() const { return change != Change::Step; }  // a replica, by the plan's optimizer
  constexpr bool elastic() const { return change == Change::Elastic; }
  /// As Agreed::parts.
  constexpr int parts(int replicas) const { return waits ? replicas - spares : 1; }
};
template <class Agreed, bool Served> constexpr Terms terms() {
  Terms t;
  t.waits = Agreed::waits;
  t.change = Agreed::change;
  t.pace = Agreed::pace;
  t.percent = Agreed::percent;
  t.spares = Agreed::spares;
  t.outer = Agreed::outer;
  if constexpr (Served) {
    using Keeper = typename Agreed::template keeper<most_replicas>;
    t.together = has_quorum<Keeper>;
    t.decider = &decider<Keeper>;
  }
  return t;
}

}  // namespace cleave::agree
