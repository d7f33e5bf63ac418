// parameter_server/served_replica.hpp - what the thread of a replica does: takes weights, computes, pushes, hears the decisions; and how it ends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "served_trainer.hpp"

namespace cleave::session {

template <class F> bool ServedTrainer<F>::done() const {
  if (waits_) {
    return std::none_of(crew_.begin(), crew_.end(), [](auto& o) { return o->live && !o->resting; });
  }
  return books_.all_drawn() && returned_.empty();
}
template <class F> void ServedTrainer<F>::live(int r) {
  int const life = one(r).life;
  try {
    Replica<F>& mine = *one(r).replica;
    mine.forget_pushed();
    pushes_.forget(mine);
    agree::AnyWorker w = of_.worker();
    for (agree::Turn turn = agree::Turn::Nothing;;) {
      while (turn == agree::Turn::Nothing) turn = mail(r, w);
      if (!begin_step(r, w, turn == agree::Turn::Compute)) {
        turn = push_rest(r, life, w);
        continue;
      }
      long const draw = one(r).draw / books_.draws;
      if (books_.draws > 1) mine.begin_at(static_cast<int>(one(r).draw % books_.draws));
      double const loss = mine.step(draw, feed_, books_.rate_of(draw), draw);
      mine.check(loss, r, draw);
      agree::Said const said = w.ready();
      if (said.push) {
        push(r, life, w, said, loss);
      } else if (said.ask) {
        for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Asked, r, life}, nullptr, 0);
      }
      turn = said.turn;
      end_step(r, w, draw, loss);
    }
  } catch (Crash const&) {
  } catch (Diverged const& e) {
    std::lock_guard lock(post_);
    diverged_ = diverged_ || failure_.empty();
    failed(r, e.what());
  } catch (std::exception const& e) {
    std::lock_guard lock(post_);
    failed(r, words_of(e));
  }
  {
    std::lock_guard lock(post_);
    One& o = one(r);
    o.live = false;
    if (o.computing) {
      if (!waits_ && o.draw >= 0) returned_.push_back(o.draw);  // another replica computes what it had drawn
      o.computing = false;
      --busy_;
    }
    changed_.notify_all();
    if (over_) return;
  }
  for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Left, r, life}, nullptr, 0);
}
template <class F> void ServedTrainer<F>::failed(int r, std::string const& why) {
  if (failure_.empty()) failure_ = why;
  one(r).draw = -1;
}
template <class F>
template <class When>
double ServedTrainer<F>::wait(std::unique_lock<std::mutex>& lock, int r, When when, std::string const& what) {
  auto const begin = std::chrono::steady_clock::now();
  for (;;) {
    if (over_ || one(r).killed) throw Crash{};
    if (when()) return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    changed_.wait_for(lock, std::chrono::milliseconds(200));
    if (!what.empty() && books_.limit() > 0 && !done() &&
        std::chrono::steady_clock::now() - std::max(begin, begun_) > deadline_) {
      throw Error(
          {name(r), " waited ", deadline_.count(), " ms for ", what, "; another replica hangs or is far too slow"});
    }
  }
}
template <class F> agree::Turn ServedTrainer<F>::mail(int r, agree::AnyWorker& w) {
  long const since = backend::host::Timeline::now();
  std::unique_lock lock(post_);
  auto const there = [&] { return std::any_of(one(r).mail.begin(), one(r).mail.end(), [](int m) { return m >= 0; }); };
  books_.ledger.waited[static_cast<std::size_t>(r)] +=
      wait(lock, r, there, "weights newer than version " + std::to_string(w.weights_of(0)));
  agree::Turn turn = agree::Turn::Nothing;
  for (int s = 0; s < shards_; ++s) {
    int const granted = one(r).mail[static_cast<std::size_t>(of_.decided_by(s))];
    if (granted < 0) continue;
    agree::Turn const t = w.granted(s, granted);
    if (t != agree::Turn::Nothing) turn = t;
  }
  std::fill(one(r).mail.begin(), one(r).mail.end(), -1);
  one(r).replica->note(backend::host::Did::Wait, since);
  return turn;
}
template <class F> bool ServedTrainer<F>::begin_step(int r, agree::AnyWorker& w, bool fetch) {
  One& o = one(r);
  for (;;) {
    {
      std::unique_lock lock(post_);
      bool flushes = false;
      auto const there_is_work = [&] {
        if (take_work(o, w)) return true;
        return flushes = flushing_ && o.pending && failure_.empty();
      };
      wait(lock, r, there_is_work, {});
      if (flushes) return false;
      ++busy_;
      o.computing = true;
    }
    if (fetch) pull(r, o, w);
    for (int s = 0; s < shards_; ++s) o.read[static_cast<std::size_t>(s)] = w.weights_of(s);
    if (!waits_) return true;
    std::lock_guard lock(post_);
    o.draw = w.step();
    if (o.draw < books_.limit()) return true;
    o.computing = false;
    --busy_;
  }
}
template <class F> agree::Turn ServedTrainer<F>::push_rest(int r, int life, agree::AnyWorker& w) {
  agree::Said const said = w.flush();
  push(r, life, w, said, 0);
  std::lock_guard lock(post_);
  one(r).pending = false;
  changed_.notify_all();
  return said.turn;
}
template <class F> bool ServedTrainer<F>::take_work(One& o, agree::AnyWorker& w) {
  if (!failure_.empty()) return false;
  w.from_step = static_cast<int>(from_step_);
  w.from_version = from_version_;
  if (waits_) {
    o.resting = w.step() >= books_.limit();
    if (o.resting) changed_.notify_all();
    return !o.resting;
  }
  if (!returned_.empty()) {
    o.draw = returned_.back();
    returned_.pop_back();
    return true;
  }
  if (books_.all_drawn()) return false;
  o.draw = books_.draw(o.replica->micro_batches());
  return true;
}
template <class F> void ServedTrainer<F>::end_step(int r, agree::AnyWorker const& w, long step, double loss) {
  std::lock_guard lock(post_);
  One& o = one(r);
  o.pending = w.pending();
  books_.made(step, loss, o.replica->part());
  o.computing = false;
  --busy_;
  changed_.notify_all();
}
template <class F> void ServedTrainer<F>::pull(int r, One& o, agree::AnyWorker& w) {
  if (of_.elastic() && w.computed > 0) return;  // it has been moved by its push
  long const since = backend::host::Timeline::now();
  for (int k = 0; k < shards_; ++k) {
    // In step, the first shard first: another may be an update ahead of it by then, and a push made with older weights
    // of the first does not count. Then each replica begins at another shard: whoever comes first makes its update.
    int const s = !of_.in_step() || k == 0 ? k : 1 + (k - 1 + r) % (shards_ - 1);
    int const pulled = server_.pull(s, *o.replica, r);
    w.version[static_cast<std::size_t>(s)] = of_.follows(s) ? w.version.front() : pulled + 1;
  }
  if (of_.steps_itself()) o.replica->refresh_copies();
  o.replica->note(backend::host::Did::Pull, since);
}
template <class F>
void ServedTrainer<F>::push(int r, int life, agree::AnyWorker const& w, agree::Said const& said, double loss) {
  Replica<F>& mine = *one(r).replica;
  long const since = backend::host::Timeline::now();
  pushes_.encode(mine);
  for (int k = 0; k < shards_; ++k) {
    int const s = of_.pushed_at(k);
    if (before_push) before_push(r, one(r).draw / books_.draws, s);
    if (dead(r)) throw Crash{};
    one(r).rows = pushes_.rows(mine, s);
    auto* const pushed = mine.pushed(of_.way(s), of_.begin(s), of_.end(s));
    hear(s, {agree::Heard::Pushed, r, life, w.weights_of(of_.decided_by(s)), said.count, said.ask}, pushed, loss);
    mine.came_back(of_.way(s), of_.begin(s), pushed, of_.count(s));
  }
  mine.forget_pushed();
  mine.note(backend::host::Did::Push, since);
}
template <class F> void ServedTrainer<F>::hear(int s, agree::Event const& e, Sent* pushed, double loss) {
  server_.hear(
      s, e, pushed, [&](long update) { return books_.rate_of(update * of_.pace().push); },
      [&](auto const& actions, int newest) { note(s, e, actions, newest, loss); });
}
template <class F>
void ServedTrainer<F>::note(int s, agree::Event const& e, typename Server<F>::Actions const& actions, int newest,
                            double loss) {
  std::lock_guard lock(post_);
  bool mailed = false;
  if (e.what == agree::Heard::Pushed) books_.pushed(s, e.worker, one(e.worker).rows);
  for (agree::Action const& a : actions) {
    if (observe_) observe_(s, e, a);
    books_.decided(s, e, a, loss, one(e.worker).replica->part());
    switch (a.what) {
      case agree::Done::Grant: {
        int& granted = one(a.worker).mail[static_cast<std::size_t>(s)];
        granted = std::max(granted, a.version);
        mailed = true;
        break;
      }
      case agree::Done::Fail:
        if (!failure_.empty() || over_) break;
        if (!waits_ && (done() || anybody())) break;  // no replica is needed, or one is coming
        failure_ = "shard " + std::to_string(s) + " at version " + std::to_string(newest) + ": " + name(a.worker) +
                   " has left and " + std::to_string(a.version) + " replicas live, where an update needs " +
                   std::to_string(server_.parts()) + "; restart from the last checkpoint, or say more Spares";
        if (waits_) broken_ = failure_;  // its agreement does not count any more
        mailed = true;
        break;
      default:
        break;  // in the books
    }
  }
  if (mailed) changed_.notify_all();
}
template <class F> void ServedTrainer<F>::kill(int r) {
  {
    std::lock_guard lock(post_);
    one(r).killed = true;
  }
  changed_.notify_all();
  if (one(r).thread.joinable()) one(r).thread.join();
}
template <class F> void ServedTrainer<F>::restart(int r) {
  if (one(r).thread.joinable()) kill(r);
  {
    std::lock_guard lock(post_);
    One& o = one(r);
    o.killed = o.resting = o.computing = o.pending = false;
    o.live = true;
    ++o.life;
    std::fill(o.mail.begin(), o.mail.end(), -1);
  }
  for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Joined, r, one(r).life}, nullptr, 0);
  try {
    one(r).thread = backend::host::start_thread([this, r] { live(r); });
  } catch (Error const&) {
    {
      std::lock_guard lock(post_);
      one(r).live = false;
    }
    for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Left, r, one(r).life}, nullptr, 0);
    throw;
  }
}
template <class F> void ServedTrainer<F>::end() {
  {
    std::lock_guard lock(post_);
    over_ = true;
  }
  changed_.notify_all();
  for (auto& o : crew_) {
    if (o->thread.joinable()) o->thread.join();
  }
}
template <class F> ServedTrainer<F>::~ServedTrainer() { end(); }

}  // namespace cleave::session
