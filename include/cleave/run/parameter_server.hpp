// run/parameter_server.hpp - a process that keeps weights in named containers for clients that come and go over TCP.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <thread>

#include "fingerprint.hpp"
#include "pushes.hpp"

namespace cleave::session {

/// Part i of n of a server: it answers for shards i, i + n, i + 2n, ... Containers of different names share nothing; a
/// container lives as long as the process, so that a client that comes after the others can read what they left.
template <class P> class ParameterServer {
 public:
  using A = tensor::accumulate_t<typename P::number>;
  using Sent = typename Server<P>::Sent;
  static constexpr int shards = Server<P>::shards;

  ParameterServer(int port, int replicas, std::uint64_t seed, int part = 0, int parts = 1,
                  backend::tcp::Milliseconds deadline = std::chrono::seconds(60))
      : listening_(backend::tcp::Socket::listen_on(port)),
        replicas_(replicas),
        part_(part),
        parts_(parts),
        deadline_(deadline),
        start_((Server<P>::parts(replicas), 1), 0, seed) {
    if (parts > Server<P>::shards) {
      throw Error("a server of " + std::to_string(parts) + " parts for " + std::to_string(Server<P>::shards) +
                  " shards; replicas that wait for each other are counted in one place, and need one part");
    }
  }
  ~ParameterServer() {
    stop();
    std::lock_guard lock(guests_);
    for (auto& g : guest_) g->socket.shut();
    for (auto& g : guest_) g->thread.join();
  }

  int port() const { return listening_.port(); }
  void stop() { over_ = true; }
  /// Until stopped, or until nobody has been there for so long (0: for ever) after the first client.
  void serve(backend::tcp::Milliseconds linger = {}) {
    auto last = std::chrono::steady_clock::now();
    bool any = false;
    while (!over_) {
      auto socket = listening_.accept(backend::tcp::Milliseconds(50));
      std::lock_guard lock(guests_);
      if (socket.valid()) {
        guest_.push_back(std::make_unique<Guest>(std::move(socket)));
        Guest& g = *guest_.back();
        g.thread = std::thread([this, &g] { welcome(g); });
        any = true;
      }
      std::erase_if(guest_, [](auto& g) {
        if (!g->gone) return false;
        g->thread.join();
        return true;
      });
      if (!guest_.empty()) last = std::chrono::steady_clock::now();
      if (any && linger.count() > 0 && std::chrono::steady_clock::now() - last > linger) return;
    }
  }

 private:
  struct Guest;
  struct Container {
    Container(int replicas, Replica<P>& start)
        : server(replicas, start), life(static_cast<std::size_t>(replicas)), done(life) {}
    Server<P> server;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<int> life, done;  // of each replica; gradients in its present turn, from its first life on
    std::map<int, Guest*> guest;  // by replica
    std::string failure;
  };
  struct Guest {
    explicit Guest(backend::tcp::Socket s) : socket(std::move(s)) {}
    backend::tcp::Socket socket;
    std::mutex writing;
    std::thread thread;
    std::atomic<bool> gone{false};
    int replica = -1, life = 0;
    bool pending[shards]{}, over = false;      // under the container's mutex
    std::vector<unsigned char> moved[shards];  // under Elastic: the weights that its last push came back as
  };

  Container& container(std::string const& name) {
    std::lock_guard lock(guests_);
    auto& c = container_[name];
    if (!c) c = std::make_unique<Container>(replicas_, start_);
    return *c;
  }
  void refuse(Guest& g, std::string const& why) {
    std::lock_guard lock(g.writing);
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Refused;
    backend::tcp::send(g.socket, h, why.data(), why.size(), deadline_);
  }

  void welcome(Guest& g) {
    try {
      std::vector<unsigned char> name;
      auto const hello = backend::tcp::receive(g.socket, name, 256, deadline_);
      if (hello.kind != backend::tcp::Kind::Hello || hello.plan != fingerprint<P>(replicas_)) {
        refuse(g, "the server runs another plan, another number of replicas (" + std::to_string(replicas_) +
                      ") or another version of cleave (it has " + std::string(version) + ")");
      } else if (hello.event.worker >= replicas_) {
        refuse(g, "replica " + std::to_string(hello.event.worker) + " of a run of " + std::to_string(replicas_));
      } else {
        serve(g, hello, container({name.begin(), name.end()}));
      }
    } catch (Error const&) {  // it has gone, or never spoke this protocol
    }
    g.gone = true;
  }

  void serve(Guest& g, backend::tcp::Head const& hello, Container& c) {
    g.replica = hello.event.worker;
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Welcome;
    if (g.replica >= 0) {
      std::lock_guard lock(c.mutex);
      g.life = ++c.life[static_cast<std::size_t>(g.replica)];
      c.guest[g.replica] = &g;
      h.version = c.done[static_cast<std::size_t>(g.replica)];
    }
    h.event.life = g.life;
    backend::tcp::send(g.socket, h, nullptr, 0, deadline_);
    std::thread writer([&] { write(g, c); });
    bool bye = false;
    try {
      if (g.replica >= 0) {
        for (int s = part_; s < shards; s += parts_) hear(c, s, {agree::Heard::Joined, g.replica, g.life});
      }
      read(g, c, bye);
    } catch (Error const&) {  // killed, or cut off: its gradients end here
    }
    if (g.replica >= 0 && !(bye && P::agreed::waits)) {
      for (int s = part_; s < shards; s += parts_) hear(c, s, {agree::Heard::Left, g.replica, g.life});
    }
    {
      std::lock_guard lock(c.mutex);
      g.over = true;
      if (g.replica >= 0 && c.guest[g.replica] == &g) c.guest.erase(g.replica);
    }
    c.changed.notify_all();
    g.socket.shut();
    writer.join();
  }
  void read(Guest& g, Container& c, bool& bye) {
    std::vector<unsigned char> payload;
    std::vector<Sent> room;
    std::size_t most = 0;
    for (int s = 0; s < shards; ++s) most = std::max(most, static_cast<std::size_t>(Pushes<P>::most_bytes(s)));
    while (!over_) {
      if (!g.socket.readable(backend::tcp::Milliseconds(100))) continue;
      auto const h = backend::tcp::receive(g.socket, payload, most, deadline_);
      int const s = h.shard;
      if (h.kind == backend::tcp::Kind::Hello) {
        bye = true;
        std::lock_guard lock(c.mutex);
        if (g.replica >= 0) c.done[static_cast<std::size_t>(g.replica)] = 0;
        return;
      }
      if (s < 0 || s >= shards || s % parts_ != part_) throw Error("no such shard here");
      if (h.kind == backend::tcp::Kind::Pull) {
        tell(g, c, s, h.version);
      } else if (h.kind == backend::tcp::Kind::Event && g.replica >= 0) {
        agree::Event e = h.event;
        e.worker = g.replica;
        e.life = g.life;
        bool const pushed = e.what == agree::Heard::Pushed;
        if (e.what != agree::Heard::Asked && !pushed) throw Error("malformed");
        hear(c, s, e, pushed ? Pushes<P>::read(s, payload, room) : nullptr, h.rate);
        if (pushed && s == part_) {
          std::lock_guard lock(c.mutex);
          auto const r = static_cast<std::size_t>(g.replica);
          if (g.life == c.life[r]) c.done[r] += P::agreed::pace.push;
        }
        if (P::agreed::change == agree::Change::Elastic && pushed) {
          std::lock_guard lock(c.mutex);
          g.moved[s] = payload;
          g.pending[s] = true;
          c.changed.notify_all();
        }
      } else {
        throw Error("not to be said here");
      }
    }
  }

  void hear(Container& c, int s, agree::Event const& e, Sent* pushed = nullptr, float rate = 0) {
    c.server.hear(
        s, e, pushed, [&](long) { return double{rate}; },
        [&](auto const& actions, int newest) {
          std::lock_guard lock(c.mutex);
          for (agree::Action const& a : actions) {
            if (a.what == agree::Done::Grant) {
              auto const to = c.guest.find(a.worker);
              // Elastic: a push is answered by the weights that it came back as.
              bool const answered = P::agreed::change == agree::Change::Elastic && e.what == agree::Heard::Pushed;
              if (to != c.guest.end() && !answered) to->second->pending[s] = true;
            } else if (a.what == agree::Done::Fail && P::agreed::waits && c.failure.empty()) {
              c.failure = "shard " + std::to_string(s) + " at version " + std::to_string(newest) + ": replica " +
                          std::to_string(a.worker) + " has left and " + std::to_string(a.version) +
                          " replicas live, where an update needs " + std::to_string(c.server.parts()) +
                          "; restart from the last checkpoint, or say more Spares";
            }
          }
          c.changed.notify_all();
        });
  }
  /// Sends a guest the newest weights of each shard that it was granted, as fast as its connection takes them.
  void write(Guest& g, Container& c) {
    try {
      for (;;) {
        int due = -1;
        std::string failure;
        {
          std::unique_lock lock(c.mutex);
          c.changed.wait(lock, [&] {
            due = static_cast<int>(std::find(g.pending, g.pending + shards, true) - g.pending);
            return g.over || due < shards || (g.replica >= 0 && !c.failure.empty());
          });
          if (g.over) return;
          if (due < shards) g.pending[due] = false;
          failure = c.failure;
        }
        if (due == shards) return refuse(g, failure);
        tell(g, c, due, 0);
      }
    } catch (Error const&) {
      g.socket.shut();
    }
  }
  /// `what`: 0 weights as replicas take them, 1 + m the optimizer's tensor m, -1 weights in the format of sums.
  void tell(Guest& g, Container& c, int s, int what) {
    std::vector<unsigned char> out;
    int newest = 0;
    if (what == 0) {
      std::lock_guard lock(c.mutex);
      out.swap(g.moved[s]);
    }
    std::lock_guard one_frame(g.writing);
    c.server.look(s, [&](auto& shard) {
      newest = shard.version();
      if (!out.empty()) return;
      auto const copy = [&](auto const* from) {
        auto const* p = reinterpret_cast<unsigned char const*>(from);
        out.assign(p, p + static_cast<std::size_t>(shard.count()) * sizeof *from);
      };
      if (what > P::optimizer::moments) throw Error("no such tensor");
      if (what > 0) return copy(shard.moments() + (what - 1) * shard.count());
      if (what == 0) return copy(shard.sent());
      copy(shard.weights());
    });
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Grant;
    h.shard = s;
    h.version = newest;
    h.event.life = g.life;
    backend::tcp::send(g.socket, h, out.data(), out.size(), deadline_);
    if (what == 0) c.server.sent(s, g.replica);
  }

  backend::tcp::Socket listening_;
  int replicas_, part_, parts_;
  backend::tcp::Milliseconds deadline_;
  Replica<P> start_;  // the weights that a container begins with
  std::atomic<bool> over_{false};
  std::mutex guests_;
  std::vector<std::unique_ptr<Guest>> guest_;
  std::map<std::string, std::unique_ptr<Container>> container_;
};

}  // namespace cleave::session
