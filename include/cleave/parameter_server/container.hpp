// parameter_server/container.hpp - weights under a name on a parameter server, and the connections of those who train them now.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <thread>

#include "../backend/tcp/greeting.hpp"
#include "server.hpp"

namespace cleave::session {

/// Which part of which server.
struct ServerOf {
  int replicas = 1, part = 0, parts = 1;
  std::uint64_t seed = 1;
  bool one_run = false;  // its clients make one run: a replica that is done does not begin again when it comes back
  std::string text() const {
    return "part " + std::to_string(part) + " of " + std::to_string(parts) + " for " + std::to_string(replicas) +
           " replicas";
  }
};

/// A connection of a server's.
struct Guest {
  Guest(backend::tcp::Socket s, int shards)
      : socket(std::move(s)),
        heard(static_cast<std::size_t>(shards)),
        pending(heard.size()),
        kept(heard.size()),
        moved(heard.size()) {}
  backend::tcp::Socket socket;
  std::mutex writing;  // a frame
  std::thread thread;
  std::atomic<bool> admitted{false}, gone{false};
  int replica = -1, life = 0;
  std::vector<int> heard;  // pushes to each shard
  // Under the container's mutex:
  std::vector<char> pending;  // of each shard
  std::vector<int> kept;      // of each shard that follows the first: its pushes that are kept, and not confirmed yet
  bool over = false;
  std::vector<std::vector<unsigned char>> moved;  // under Elastic: the weights that its last push came back as
};

template <class F> struct Container {
  Container(Service<F> const& of, int replicas, Replica<F>& start)
      : server(of, replicas, start),
        shards(of.shards()),
        life(static_cast<std::size_t>(replicas)),
        done(life),
        heard(life.size()),
        stopped(life.size()),
        diverged(life.size()) {}

  Server<F> server;
  int shards;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> life, done;  // of each replica; gradients in its present turn, from its first life on
  std::vector<std::chrono::steady_clock::time_point> heard;  // when a replica spoke last
  std::map<int, Guest*> guest;                               // by replica
  std::string failure;
  std::vector<std::string> stopped;  // of each replica: the signal that has ended its last life, or nothing
  bool stops = false;                // the failure is that replicas were stopped
  std::vector<char> diverged;        // of each replica: its last life has ended so
  bool worthless = false;            // a replica that diverged has ended the one run: what is saved is worth more
  std::int64_t saved = 0;            // updates in the file
  // Of a part of a server whose shards are in step: the update of its newest file, and that which all other parts have
  // in their files, as their clients say.
  std::atomic<int> update_in_file{0}, in_other_files{0};

  /// What each replica has done; empty if what is held is not to be saved. To be read before the weights: a step may be
  /// repeated after a crash, but none is left out.
  std::vector<std::int64_t> all_done() {
    std::lock_guard lock(mutex);
    if (worthless) return {};
    return {done.begin(), done.end()};
  }
  /// Which replicas others may wait for, but for the one that asks.
  std::string waited_for(int asks, int part, int parts) {
    std::vector<bool> late(life.size());
    for (int s = part; s < shards; s += parts) {
      server.look(s, [&](auto& shard) {
        for (std::size_t r = 0; r < late.size(); ++r) {
          late[r] = late[r] || shard.waited_for(static_cast<int>(r));
        }
      });
    }
    std::string text;
    std::lock_guard lock(mutex);
    for (std::size_t r = 0; r < late.size(); ++r) {
      int const who = static_cast<int>(r);
      if (!late[r] || who == asks) continue;
      if (!text.empty()) text += "; ";
      text += "replica " + std::to_string(who);
      auto const at = guest.find(who);
      if (at == guest.end()) {
        text += life[r] == 0 ? " has not joined yet" : " has left";
        continue;
      }
      auto const silent = std::chrono::steady_clock::now() - heard[r];
      text += " at " + at->second->socket.peer() + " has pushed nothing for " +
              std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(silent).count()) +
              " ms, it hangs or is far too slow";
    }
    return text;
  }
};

}  // namespace cleave::session
