// parameter_server/server_guests.hpp - the connections of a server: who is let in, welcomed, turned away and sent away.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "answers.hpp"
#include "server_of_containers.hpp"

namespace cleave::session {

template <class F> int ParameterServerOf<F>::replicas() {
  return count([](Guest const& g) { return g.admitted && g.replica >= 0; });
}
template <class F> bool ParameterServerOf<F>::all_have_come() {
  std::lock_guard lock(guests_);
  return !container_.empty() && std::all_of(container_.begin(), container_.end(), [](auto const& named) {
    std::lock_guard one(named.second->mutex);
    auto const& life = named.second->life;
    return std::all_of(life.begin(), life.end(), [](int of_replica) { return of_replica > 0; });
  });
}
template <class F> bool ParameterServerOf<F>::let_in(backend::tcp::Milliseconds wait) {
  if (count([](Guest const& g) { return !g.admitted; }) >= door_.strangers) {
    std::this_thread::sleep_for(wait);
    return false;
  }
  try {
    auto socket = listening_.accept(wait);
    if (!socket.valid()) return false;
    auto guest = std::make_unique<Guest>(std::move(socket), plan_.shards());
    std::lock_guard lock(guests_);
    guest_.push_back(std::move(guest));
    Guest& g = *guest_.back();
    try {
      g.thread = std::thread([this, &g] { welcome(g); });
    } catch (std::exception const& e) {
      turn_away(g, no_room(e));
      guest_.pop_back();
      std::this_thread::sleep_for(wait);
    }
  } catch (std::exception const& e) {
    tell(std::string("a connection was dropped: ") + e.what());
    std::this_thread::sleep_for(wait);
  }
  return true;
}
template <class F> std::size_t ParameterServerOf<F>::clear() {
  std::lock_guard lock(guests_);
  std::erase_if(guest_, [](auto& g) {
    if (!g->gone) return false;
    g->thread.join();
    return true;
  });
  return guest_.size();
}
template <class F> void ParameterServerOf<F>::send_away() {
  std::vector<std::unique_ptr<Guest>> all;
  {
    std::lock_guard lock(guests_);
    all.swap(guest_);
  }
  for (auto& g : all) g->socket.shut();
  for (auto& g : all) g->thread.join();
}
template <class F> void ParameterServerOf<F>::tell(std::string const& what) {
  if (!door_.say) return;
  std::lock_guard lock(saying_);
  std::fprintf(door_.say, "%s\n", what.c_str());
  std::fflush(door_.say);
}
template <class F> void ParameterServerOf<F>::turn_away(Guest& g, backend::tcp::Refusal const& why) {
  if (int const n = refused_++; n < 100 || n % 1000 == 0) tell("refused " + g.socket.peer() + ": " + why.what());
  try {
    std::lock_guard lock(g.writing);
    backend::tcp::refuse(g.socket, why, std::min(deadline_, backend::tcp::Milliseconds(1000)));
  } catch (Error const&) {  // it does not want to hear it
  }
}
template <class F> typename ParameterServerOf<F>::Container& ParameterServerOf<F>::container(std::string const& name) {
  std::lock_guard lock(guests_);
  auto const at = container_.find(name);
  if (at != container_.end()) return *at->second;
  if (static_cast<int>(container_.size()) >= door_.containers) {
    throw backend::tcp::Refusal("the server keeps " + std::to_string(door_.containers) +
                                " containers and takes no other; start another server for it");
  }
  return *(container_[name] = std::make_unique<Container>(plan_, of_.replicas, start_));
}
template <class F> void ParameterServerOf<F>::welcome(Guest& g) {
  std::optional<backend::tcp::Refusal> why;
  try {
    std::string name;
    auto const hello = backend::tcp::hear_hello(g.socket, name, door_.token, std::min(deadline_, door_.greeting));
    if (hello.plan != plan_.fingerprint(of_.replicas)) {
      throw backend::tcp::Refusal("the server runs another plan, another number of replicas (" +
                                  std::to_string(of_.replicas) + ") or another version of cleave (it has " +
                                  std::string(version) + ")");
    }
    if (hello.event.worker < -1 || hello.event.worker >= of_.replicas) {
      throw backend::tcp::Refusal("replica " + std::to_string(hello.event.worker) + " of a run of " +
                                  std::to_string(of_.replicas));
    }
    check_container_name(name);
    g.replica = hello.event.worker;
    g.admitted = true;
    if (count([](Guest const& o) { return o.admitted.load(); }) > door_.connections) {
      throw backend::tcp::Refusal(
          "the server has " + std::to_string(door_.connections) + " connections and takes no other", true);
    }
    Conversation<F>(plan_, g, container(name), name, of_, deadline_, over_, [this](std::string const& what) {
      tell(what);
    }).hold();
  } catch (backend::tcp::Refusal const& e) {
    why = e;
  } catch (Error const&) {  // it has gone, or never spoke this protocol
  } catch (std::exception const& e) {
    why = no_room(e);
  }
  if (why) turn_away(g, *why);
  g.gone = true;
}

}  // namespace cleave::session
