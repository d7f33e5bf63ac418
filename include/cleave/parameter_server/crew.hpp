// parameter_server/crew.hpp - worker pool: replicas as threads that compute portions of a batch and deliver each portion once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "../agree/portions.hpp"
#include "../backend/host/thread.hpp"
#include "../report/words.hpp"
#include "hand.hpp"
#include "ledger.hpp"

namespace cleave::session {

/// `Shards` keeps the weights: `shards.fetch(hand)` loads them, `shards.add(portion, hand)` adds a gradient.
template <class F, class Shards> class Crew {
 public:
  static constexpr int most_replicas = 1024, most_portions = 4096;
  struct Crash {};

  Crew(Serving const& of, HandsOf<F> hands, int portions, std::chrono::milliseconds deadline, Shards& shards)
      : wanted_(of.wanted),
        elements_(of.elements() * of.ways()),
        portions_(portions),
        deadline_(deadline),
        shards_(shards) {
    int const replicas = static_cast<int>(hands.size());
    if (replicas < 1 || replicas > most_replicas) {
      throw Error({"Sandblaster: 1 to ", most_replicas, " replicas, got ", replicas});
    }
    if (portions < 1 || portions > most_portions) {
      throw Error({"Sandblaster: 1 to ", most_portions, " portions, got ", portions,
                   "; say a larger Batch for larger portions"});
    }
    ledger_.taken_from.resize(static_cast<std::size_t>(replicas));
    for (int r = 0; r < replicas; ++r) {
      crew_.push_back(std::make_unique<One>());
      one(r).hand = std::move(hands[static_cast<std::size_t>(r)]);
    }
    try {
      for (int r = 0; r < replicas; ++r) restart(r);
    } catch (...) {
      end();
      throw;
    }
  }
  ~Crew() { end(); }

  /// Every portion's gradient is delivered once; returns the mean of their losses, added in their order.
  double pass() {
    std::unique_lock lock(post_);
    failure_.clear();
    losses_.assign(static_cast<std::size_t>(portions_), 0);
    delivered_ = 0;
    long const usual = ledger_.taken == 0 ? 0 : 3 * spent_ / ledger_.taken;
    dealer_->patience = patience_ >= 0 ? patience_ : std::max(10000L, usual);
    long const tick = std::clamp(dealer_->patience / 2, 1000L, 200000L);
    hear({agree::Work::Begun, 0, 0, portions_, now()});
    heard_ = now();
    while (failure_.empty() && delivered_ < portions_) {
      if (changed_.wait_for(lock, std::chrono::microseconds(tick)) != std::cv_status::timeout) continue;
      hear({agree::Work::Late, 0, 0, 0, now()});
      if (now() - heard_ > 1000 * long{deadline_.count()}) hang();
    }
    if (!failure_.empty()) {
      changed_.wait(lock, [&] { return std::none_of(crew_.begin(), crew_.end(), [](auto& o) { return o->pushing; }); });
      std::string const why = failure_;
      hear({agree::Work::Begun, 0, 0, 0, now()});  // portions still computed belong to an earlier pass
      throw Error(why);
    }
    ++ledger_.passes;
    double sum = 0;
    for (double l : losses_) sum += l;
    return sum / portions_;
  }
  // A replica that is not waited for may read its samples after they are gone: it then reads none, and its result is
  // dropped. Hence they are lent, and taken back.
  void lend(backend::host::Feed const& feed, long first = 0) {
    std::unique_lock lock(lent_);
    feed_ = feed;
    first_ = first;
  }
  void set_patience(std::chrono::microseconds patience) { patience_ = patience.count(); }
  std::function<void(int replica, int pass, int portion)> before_finish;
  CrewLedger ledger() const {
    std::lock_guard lock(post_);
    return ledger_;
  }
  /// Waits until no replica computes a portion that was issued again or is no longer needed.
  void rest() {
    std::unique_lock lock(post_);
    changed_.wait(lock, [&] {
      return std::none_of(crew_.begin(), crew_.end(),
                          [](auto& o) { return o->live && (o->busy || o->issued.pass > 0); });
    });
  }
  /// Restarts a replica that has died.
  void restart(int r) {
    {
      std::lock_guard lock(post_);
      if (one(r).live) return;
    }
    if (one(r).thread.joinable()) one(r).thread.join();
    std::lock_guard lock(post_);
    one(r).busy = false;
    one(r).issued = {};
    one(r).thread = backend::host::start_thread([this, r] { live(r); });  // it waits for the lock
    one(r).live = true;
    hear({agree::Work::Asked, r, 0, 0, now()});
  }

 private:
  void end() {
    {
      std::lock_guard lock(post_);
      over_ = true;
    }
    changed_.notify_all();
    for (auto& o : crew_) {
      if (o->thread.joinable()) o->thread.join();
    }
  }
  struct One {
    std::unique_ptr<Hand<F>> hand;
    std::thread thread;
    bool live = false, busy = false, pushing = false;
    agree::Dealt issued;  // the portion that it computes next; pass 0: none
  };
  One& one(int r) { return *crew_[static_cast<std::size_t>(r)]; }
  long now() const {
    auto const since = std::chrono::steady_clock::now() - born_;
    return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
  }
  long first_of_lent() const {
    std::shared_lock lock(lent_);
    return first_;
  }
  backend::host::Feed samples() const {
    std::shared_lock held(lent_);
    backend::host::Feed out{this, pixels, nullptr};
    if (feed_.labels || !feed_.targets) out.labels = labels;
    if (feed_.targets) out.targets = targets;
    if (feed_.sample_weights || wanted_.weighs_samples) out.sample_weights = sample_weights;
    return out;
  }
  static void pixels(void const* self, long portion, long first, int count, float* out) {
    auto const& me = *static_cast<Crew const*>(self);
    std::shared_lock lock(me.lent_);
    if (me.feed_.pixels) me.feed_.pixels(me.feed_.self, me.first_ + portion, first, count, out);
  }
  static void labels(void const* self, long portion, long first, int count, int* out) {
    auto const& me = *static_cast<Crew const*>(self);
    std::shared_lock lock(me.lent_);
    if (me.feed_.labels) return me.feed_.labels(me.feed_.self, me.first_ + portion, first, count, out);
    std::fill_n(out, count * me.wanted_.labels, 0);
  }
  static void targets(void const* self, long portion, long first, int count, float* out) {
    auto const& me = *static_cast<Crew const*>(self);
    std::shared_lock lock(me.lent_);
    if (me.feed_.targets) return me.feed_.targets(me.feed_.self, me.first_ + portion, first, count, out);
    std::fill_n(out, count * me.wanted_.outputs, 0.0f);
  }
  static void sample_weights(void const* self, long portion, long first, int count, float* out) {
    auto const& me = *static_cast<Crew const*>(self);
    std::shared_lock lock(me.lent_);
    if (me.feed_.sample_weights) return me.feed_.sample_weights(me.feed_.self, me.first_ + portion, first, count, out);
    std::fill_n(out, count, 1.0f);
  }

  void hang() {
    failure_ = "step: " + std::to_string(portions_ - delivered_) + " of " + std::to_string(portions_) +
               " portions of pass " + std::to_string(dealer_->pass) + " are out, and for " +
               std::to_string(deadline_.count()) + " ms none of the " + std::to_string(dealer_->live) +
               " live replicas has finished one; they hang, or say a smaller Batch for smaller portions";
  }

  /// Whether the event is a result that counts. With post_ locked.
  bool hear(agree::Told const& e) {
    agree::Deals<most_replicas> out;
    dealer_->hear(e, out);
    bool take = false;
    for (agree::Dealt const& d : out) {
      switch (d.what) {
        case agree::Deal::Issue:
          one(d.worker).issued = d;
          ++ledger_.issued;
          ledger_.again += d.again;
          break;
        case agree::Deal::Take:
          take = true;
          ++ledger_.taken;
          ++ledger_.taken_from[static_cast<std::size_t>(d.worker)];
          break;
        case agree::Deal::Drop:
          ++ledger_.dropped;
          break;
        case agree::Deal::Complete:
          break;
        case agree::Deal::Fail:
          if (!failure_.empty()) break;
          failure_ = "step: no replica lives, and " + std::to_string(d.portion) + " of " + std::to_string(portions_) +
                     " portions of pass " + std::to_string(d.pass) + " have no gradient; restart one";
          if (d.worker >= 0) failure_ += " (the last to die was replica " + std::to_string(d.worker) + ")";
      }
    }
    changed_.notify_all();
    return take;
  }

  void live(int r) {
    agree::Dealt mine;
    try {
      int holds = 0;  // the pass whose point it has
      for (;;) {
        {
          std::unique_lock lock(post_);
          changed_.wait(lock, [&] { return over_ || one(r).issued.pass != 0; });
          if (over_) return;
          mine = std::exchange(one(r).issued, {});
          one(r).busy = true;
        }
        compute(r, mine, holds);
        std::lock_guard lock(post_);
        one(r).busy = false;
        hear({agree::Work::Asked, r, 0, 0, now()});
      }
    } catch (Crash const&) {
    } catch (typename Hand<F>::Gone const&) {
    } catch (std::exception const& e) {
      std::lock_guard lock(post_);
      if (failure_.empty() && mine.pass == dealer_->pass)
        failure_ = "replica " + std::to_string(r) + ": " + words_of(e);
    }
    std::lock_guard lock(post_);
    one(r).live = one(r).busy = one(r).pushing = false;
    hear({agree::Work::Left, r, 0, 0, now()});
  }
  void compute(int r, agree::Dealt const& mine, int& holds) {
    {
      std::lock_guard lock(post_);
      if (dealer_->pass != mine.pass ||
          dealer_->portion[mine.portion].done) {  // another replica was first before it began
        hear({agree::Work::Finished, r, mine.pass, mine.portion, now()});
        return;
      }
    }
    long const began = now();
    Hand<F>& hand = *one(r).hand;
    if (holds != mine.pass) {
      shards_.fetch(hand);
      std::lock_guard lock(post_);
      ledger_.weights_sent += elements_;
    }
    holds = mine.pass;
    double const loss = hand.gradient(mine.portion, first_of_lent(), samples());
    if (before_finish) before_finish(r, mine.pass, mine.portion);
    {
      std::lock_guard lock(post_);
      if (over_) throw Crash{};
      if (!hear({agree::Work::Finished, r, mine.pass, mine.portion, now()})) return;
      one(r).pushing = true;
    }
    shards_.add(mine.portion, hand);
    std::lock_guard lock(post_);
    one(r).pushing = false;
    ++delivered_;
    losses_[static_cast<std::size_t>(mine.portion)] = loss;
    ledger_.gradients_sent += elements_;
    heard_ = now();
    spent_ += heard_ - began;
    changed_.notify_all();
  }

  backend::host::Wanted wanted_;
  long elements_;
  int portions_;
  std::chrono::milliseconds deadline_;
  std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
  Shards& shards_;
  long patience_ = -1;

  mutable std::shared_mutex lent_;  // the two that follow
  backend::host::Feed feed_;
  long first_ = 0;

  mutable std::mutex post_;  // all that follows; never taken with a shard's own
  std::condition_variable changed_;
  std::vector<std::unique_ptr<One>> crew_;
  using Dealer = agree::Portions<most_replicas, most_portions>;
  std::unique_ptr<Dealer> dealer_ = std::make_unique<Dealer>();
  CrewLedger ledger_;
  std::vector<double> losses_;
  int delivered_ = 0;
  long heard_ = 0, spent_ = 0;  // microseconds: the last delivery; the sum over portions taken
  std::string failure_;
  bool over_ = false;
};

}  // namespace cleave::session
