// parameter_server/conversation.hpp - what a parameter server and one of its clients say, from the welcome to the end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <optional>

#include "../train/stop.hpp"
#include "container.hpp"
#include "door.hpp"
#include "pushes.hpp"

namespace cleave::session {

/// Of one guest that was let in. Nothing that it sends is used before it has been checked. Members that are not defined
/// here are in answers.hpp.
template <class F> class Conversation {
 public:
  using Sent = typename F::Sent;
  using Tell = std::function<void(std::string const&)>;

  Conversation(Service<F> const& of, Guest& g, Container<F>& c, std::string name, ServerOf server,
               backend::tcp::Milliseconds deadline, std::atomic<bool> const& over, Tell tell)
      : of_(of),
        pushes_(of),
        shards_(of.shards()),
        g_(g),
        c_(c),
        name_(std::move(name)),
        server_(server),
        deadline_(deadline),
        over_(over),
        tell_(std::move(tell)) {}

  /// Until the client leaves, or the server is over. Throws std::exception where a thread or memory is missing, before
  /// anything was said.
  void hold() {
    std::thread writer([this] { write(); });
    std::optional<backend::tcp::Refusal> why;
    bool bye = false;
    try {
      enter();
      read(bye);
    } catch (backend::tcp::Refusal const& e) {
      why = e;
    } catch (std::exception const&) {  // killed, or cut off: its gradients end here
    }
    leave(bye, why.has_value());
    if (why) refuse(*why);
    g_.socket.shut();
    writer.join();
  }

 private:
  void refuse(backend::tcp::Refusal const& why) {
    tell_("refused " + g_.socket.peer() + ": " + why.what());
    try {
      std::lock_guard one_frame(g_.writing);
      backend::tcp::refuse(g_.socket, why, deadline_);
    } catch (Error const&) {  // it does not want to hear it
    }
  }
  std::string title() const {
    return "replica " + std::to_string(g_.replica) + " of container " + name_ + ", " + g_.socket.peer() + ",";
  }
  /// Takes its replica number, once whoever had it is gone, and welcomes it.
  void enter() {
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Welcome;
    if (g_.replica >= 0) {
      std::unique_lock lock(c_.mutex);
      auto const r = static_cast<std::size_t>(g_.replica);
      auto const wait = std::min<backend::tcp::Milliseconds>(deadline_ / 4, std::chrono::seconds(5));
      if (!c_.changed.wait_for(lock, wait, [&] { return over_ || c_.guest.find(g_.replica) == c_.guest.end(); })) {
        throw backend::tcp::Refusal("replica " + std::to_string(g_.replica) + " is there already, from " +
                                        c_.guest[g_.replica]->socket.peer() +
                                        "; give this client another --replica, or end that one",
                                    true);
      }
      g_.life = ++c_.life[r];
      c_.guest[g_.replica] = &g_;
      c_.heard[r] = std::chrono::steady_clock::now();
      c_.stopped[r].clear();
      c_.diverged[r] = false;
      too_late_ = !c_.failure.empty();
      h.version = c_.done[r];
    }
    if (g_.replica >= 0) {
      tell_(title() + (g_.life == 1 ? " has joined" : " has taken over, in life " + std::to_string(g_.life)));
    }
    h.event.life = g_.life;
    {
      std::lock_guard one_frame(g_.writing);
      backend::tcp::send(g_.socket, h, nullptr, 0, deadline_);
    }
    if (g_.replica < 0) return;
    joined_ = true;
    for (int s = server_.part; s < shards_; s += server_.parts) hear(s, {agree::Heard::Joined, g_.replica, g_.life});
  }
  void leave(bool bye, bool refused) {
    bool const returns = returns_.count() > 0 && of_.in_step();
    auto const leaves = [&] {
      if (!joined_ || over_ || (bye && of_.waits())) return;  // nobody hears the agreement of a server that is over
      for (int s = server_.part; s < shards_; s += server_.parts) hear(s, {agree::Heard::Left, g_.replica, g_.life});
    };
    {
      std::lock_guard lock(c_.mutex);
      g_.over = true;  // what its leaving means for others is not for it
    }
    if (!returns) leaves();
    {
      std::lock_guard lock(c_.mutex);
      auto const mine = c_.guest.find(g_.replica);
      if (mine != c_.guest.end() && mine->second == &g_) c_.guest.erase(mine);
    }
    c_.changed.notify_all();
    if (returns) {
      tell_(title() + " has lost another part of the server, and will return");
      if (!has_returned()) leaves();
      return;
    }
    if (g_.life > 0 && !refused) tell_(title() + (bye ? " has done its part" : " has gone"));
  }
  /// Waits for the next life of this replica, while it may come. Its predecessor has not left then.
  bool has_returned() {
    std::unique_lock lock(c_.mutex);
    auto const by = std::chrono::steady_clock::now() + returns_;
    auto const again = [&] { return c_.life[static_cast<std::size_t>(g_.replica)] > g_.life; };
    while (!over_ && !again() && std::chrono::steady_clock::now() < by)
      c_.changed.wait_for(lock, std::chrono::milliseconds(100));
    return over_ || again();
  }
  void read(bool& bye) {
    std::vector<unsigned char> payload;
    std::vector<Sent> room;
    std::size_t most = 0;
    for (int s = 0; s < shards_; ++s) most = std::max(most, static_cast<std::size_t>(pushes_.most_bytes(s)));
    if (of_.in_step()) most = std::max(most, decided_bytes(server_.replicas));
    while (!over_) {
      if (!g_.socket.readable(backend::tcp::Milliseconds(100))) continue;
      auto const h = backend::tcp::receive(g_.socket, payload, most, deadline_);
      int const s = h.shard;
      if (h.kind == backend::tcp::Kind::Hello) {
        bye = true;
        std::lock_guard lock(c_.mutex);
        if (g_.replica >= 0 && !server_.one_run) c_.done[static_cast<std::size_t>(g_.replica)] = 0;
        return;
      }
      if (h.kind == backend::tcp::Kind::Returns && g_.replica >= 0) {
        returns_ = std::clamp(backend::tcp::Milliseconds(h.version), backend::tcp::Milliseconds(0), longest_return);
        return;
      }
      if (h.kind == backend::tcp::Kind::Stopped && g_.replica >= 0) {
        std::lock_guard lock(c_.mutex);
        auto const r = static_cast<std::size_t>(g_.replica);
        c_.diverged[r] = h.version == backend::tcp::diverged;
        if (!c_.diverged[r]) c_.stopped[r] = StopSignals::name_of(h.version);
        return;
      }
      if (s < 0 || s >= shards_ || s % server_.parts != server_.part) {
        throw backend::tcp::Refusal("shard " + std::to_string(s) + ", which is not here");
      }
      if (h.kind == backend::tcp::Kind::Pull) {
        send(s, h.version);
      } else if (h.kind == backend::tcp::Kind::Whom) {
        std::string const text = c_.waited_for(g_.replica, server_.part, server_.parts);
        std::lock_guard one_frame(g_.writing);
        backend::tcp::send(g_.socket, h, text.data(), text.size(), deadline_);
      } else if (h.kind == backend::tcp::Kind::Event && g_.replica >= 0) {
        event(h, payload, room);
      } else if (h.kind == backend::tcp::Kind::Follow && g_.replica >= 0 && of_.follows(s)) {
        follow(s, h.version, read_decided(payload, server_.replicas, c_.server.parts()));
      } else {
        throw backend::tcp::Refusal("a message of kind " + std::to_string(static_cast<unsigned>(h.kind)) +
                                    ", which is not to be said here");
      }
    }
  }
  /// A push, or a question for weights: checked, and then heard.
  void event(backend::tcp::Head const& h, std::vector<unsigned char>& payload, std::vector<Sent>& room) {
    int const s = h.shard;
    agree::Event e = h.event;
    e.worker = g_.replica;
    bool const follows = of_.follows(s);
    if (follows) {
      check_life(e.life);  // that at the first shard, which this part of the server does not know
    } else {
      e.life = g_.life;
    }
    bool const pushed = e.what == agree::Heard::Pushed;
    if (e.what != agree::Heard::Asked && !pushed) throw backend::tcp::Refusal("an event that clients do not say");
    Sent* what = nullptr;
    if (pushed) {
      int newest = 0;
      c_.server.look(s, [&](auto& shard) { newest = shard.version(); });
      check_push(e, h.rate, newest, g_.heard[static_cast<std::size_t>(s)]);
      what = pushes_.read(s, payload, room);
      check_finite(what, of_.count(s));
      ++g_.heard[static_cast<std::size_t>(s)];
    }
    {
      std::lock_guard lock(c_.mutex);
      c_.heard[static_cast<std::size_t>(g_.replica)] = std::chrono::steady_clock::now();
    }
    hear(s, e, what, h.rate);
    if (!pushed) return;
    std::lock_guard lock(c_.mutex);
    if (follows) {
      ++g_.kept[static_cast<std::size_t>(s)];
      return c_.changed.notify_all();
    }
    if (of_.in_step()) c_.in_other_files = std::max(c_.in_other_files.load(), h.version);
    auto const r = static_cast<std::size_t>(g_.replica);
    if (s == server_.part && g_.life == c_.life[r]) c_.done[r] += of_.pace().push;
    if (of_.elastic()) {
      g_.moved[static_cast<std::size_t>(s)] = payload;
      g_.pending[static_cast<std::size_t>(s)] = true;
      c_.changed.notify_all();
    }
  }

  /// Its weights after the update are due to this guest, whose weights of the first shard are of update `first`. Throws
  /// Refusal if the shard cannot have them.
  void follow(int s, int first, DecidedUpdate const& d) {
    agree::Followed const answer = c_.server.follow(s, d);
    int here = 0;
    c_.server.look(s, [&](auto& shard) { here = shard.version(); });
    if (here >= first) {
      std::lock_guard lock(c_.mutex);
      g_.pending[static_cast<std::size_t>(s)] = true;
      return c_.changed.notify_all();
    }
    std::string const wrong =
        answer == agree::Followed::Lacks && here + 1 == first
            ? "it lacks a gradient of the first shard's update " + std::to_string(first)
            : "it has update " + std::to_string(here) + ", and the first shard " + std::to_string(first);
    throw backend::tcp::Refusal("shard " + std::to_string(s) + " of container " + name_ + ": " + wrong + unequal_parts);
  }
  /// Too few replicas are left for an update. Under the container's mutex.
  void fail(int s, agree::Action const& a, int newest) {
    std::string const who = "replica " + std::to_string(a.worker), wanted = std::to_string(c_.server.parts());
    std::string const by = a.worker >= 0 ? c_.stopped[static_cast<std::size_t>(a.worker)] : std::string();
    c_.stops = !by.empty();
    if (c_.stops) {
      c_.failure = who + " was stopped by " + by + ", and an update needs " + wanted + " replicas";
    } else if (a.worker >= 0 && c_.diverged[static_cast<std::size_t>(a.worker)]) {
      c_.worthless = server_.one_run;
      c_.failure = who + " has diverged, and an update needs " + wanted + " replicas" +
                   (c_.worthless ? "; nothing more is saved" : "");
    } else {
      c_.failure = "shard " + std::to_string(s) + " at version " + std::to_string(newest) + ": " + who +
                   " has left and " + std::to_string(a.version) + " replicas live, where an update needs " + wanted +
                   "; restart from the last checkpoint, or say more Spares";
    }
  }
  void hear(int s, agree::Event const& e, Sent* pushed = nullptr, float rate = 0) {
    c_.server.hear(
        s, e, pushed, [&](long) { return double{rate}; },
        [&](auto const& actions, int newest) {
          std::lock_guard lock(c_.mutex);
          for (agree::Action const& a : actions) {
            if (a.what == agree::Done::Grant) {
              auto const to = c_.guest.find(a.worker);
              // Elastic: a push is answered by the weights that it came back as.
              bool const answered = of_.elastic() && e.what == agree::Heard::Pushed;
              if (to != c_.guest.end() && !answered) to->second->pending[static_cast<std::size_t>(s)] = true;
            } else if (a.what == agree::Done::Fail && of_.waits() && c_.failure.empty()) {
              fail(s, a, newest);
            }
          }
          c_.changed.notify_all();
        });
  }
  /// Sends a guest the newest weights of each shard that it was granted, as fast as its connection takes them, and
  /// confirms its pushes to shards that follow the first.
  void write();
  void confirm(int s);
  /// `what`: 0 weights as replicas take them, 1 + m the optimizer's tensor m, -1 weights in the format of sums.
  void send(int s, int what);

  Service<F> const& of_;
  Pushes<F> pushes_;
  int const shards_;
  Guest& g_;
  Container<F>& c_;
  std::string name_;
  ServerOf server_;
  backend::tcp::Milliseconds deadline_;
  std::atomic<bool> const& over_;
  Tell tell_;
  static constexpr backend::tcp::Milliseconds longest_return = std::chrono::minutes(10);
  backend::tcp::Milliseconds returns_{};  // how long this guest, which has lost another part, may take to come back
  bool joined_ = false;                   // the agreement knows of this life
  bool too_late_ = false;                 // the run had failed before it came; under the container's mutex
};

}  // namespace cleave::session
