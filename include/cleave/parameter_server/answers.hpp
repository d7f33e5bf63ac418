// parameter_server/answers.hpp - what a parameter server sends to a guest: weights that are due to it, confirmations, and why it ends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "conversation.hpp"

namespace cleave::session {

template <class F> void Conversation<F>::write() {
  try {
    for (;;) {
      int due = -1, kept = -1;
      std::string failure;
      bool stops = false;
      {
        std::unique_lock lock(c_.mutex);
        c_.changed.wait(lock, [&] {
          due = static_cast<int>(std::find(g_.pending.begin(), g_.pending.end(), true) - g_.pending.begin());
          kept = static_cast<int>(std::find_if(g_.kept.begin(), g_.kept.end(), [](int n) { return n > 0; }) -
                                  g_.kept.begin());
          return g_.over || due < shards_ || kept < shards_ || (g_.replica >= 0 && !c_.failure.empty());
        });
        if (g_.over) return;
        if (kept < shards_) {
          --g_.kept[static_cast<std::size_t>(kept)];
        } else if (due < shards_) {
          g_.pending[static_cast<std::size_t>(due)] = false;
        }
        failure = c_.failure;
        bool const late = too_late_ && !server_.one_run;  // a server of one run ends with it
        stops = c_.stops && !late;
        if (c_.stops && late) failure += "; start the server again with --resume auto";
      }
      if (kept < shards_) {
        confirm(kept);
        continue;
      }
      if (due == shards_ && stops) {
        std::lock_guard one_frame(g_.writing);
        return backend::tcp::stop(g_.socket, failure, deadline_);
      }
      if (due == shards_) return refuse(backend::tcp::Refusal(failure));
      send(due, 0);
    }
  } catch (std::exception const&) {
    g_.socket.shut();
  }
}
template <class F> void Conversation<F>::confirm(int s) {
  backend::tcp::Head h;
  h.kind = backend::tcp::Kind::Kept;
  h.shard = s;
  h.version = c_.update_in_file;
  std::lock_guard one_frame(g_.writing);
  backend::tcp::send(g_.socket, h, nullptr, 0, deadline_);
}
template <class F> void Conversation<F>::send(int s, int what) {
  if (what < -1 || what > of_.plan->moments) throw backend::tcp::Refusal("no such tensor");
  std::vector<unsigned char> out;
  int newest = 0;
  DecidedUpdate decided;
  if (what == 0) {
    std::lock_guard lock(c_.mutex);
    out.swap(g_.moved[static_cast<std::size_t>(s)]);
  }
  if (what != 0 && server_.part == 0) c_.server.catch_up(s);
  std::lock_guard one_frame(g_.writing);
  c_.server.look(s, [&](auto& shard) {
    newest = shard.version();
    if (!out.empty()) return;
    if (of_.in_step() && s == 0) decided = c_.server.decided_here();
    auto const copy = [&](auto const* from) {
      auto const* p = reinterpret_cast<unsigned char const*>(from);
      out.assign(p, p + static_cast<std::size_t>(shard.count()) * sizeof *from);
    };
    if (what > 0) return copy(shard.moments() + (what - 1) * shard.count());
    if (what == 0) return copy(shard.sent());
    copy(shard.weights());
  });
  if (of_.in_step() && s == 0 && what == 0) append(out, decided, server_.replicas);
  backend::tcp::Head h;
  h.kind = backend::tcp::Kind::Grant;
  h.shard = s;
  h.version = newest;
  h.event.life = g_.life;
  backend::tcp::send(g_.socket, h, out.data(), out.size(), deadline_);
  if (what == 0) c_.server.sent(s, g_.replica);
}

}  // namespace cleave::session
