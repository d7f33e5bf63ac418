// parameter_server/door.hpp - admission to a server: its address, its token, and its limits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>

#include "../backend/tcp/greeting.hpp"

namespace cleave::session {

struct Door {
  std::string listen = "127.0.0.1";  // an address of this machine; "*": all of them
  std::string token;                 // empty: none is required
  std::FILE* say = nullptr;          // prints a line for each client that comes or goes
  int connections = 256;             // admitted clients, with two threads each
  int strangers = 64;                // connections at once that have not been admitted yet
  int containers = 16;
  backend::tcp::Milliseconds greeting{10000};  // time limit for the greeting
};

/// Listens. Throws Error if other machines could connect and no token is required.
inline backend::tcp::Socket open_door(Door const& door, int port) {
  if (door.token.empty() && !backend::tcp::is_loopback(door.listen)) {
    throw Error({"listening on ", door.listen,
                 ": a server that other machines can reach asks for a token; set CLEAVE_TOKEN for it and its clients, "
                 "or say --token-file FILE (openssl rand -hex 16 makes one)"});
  }
  return backend::tcp::Socket::listen_on(port, door.listen);
}

/// Container names are parts of file names.
inline void check_container_name(std::string const& name) {
  auto const fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (name.empty() || name.size() > backend::tcp::most_name || !std::all_of(name.begin(), name.end(), fits)) {
    throw backend::tcp::Refusal("a container's name is 1 to " + std::to_string(backend::tcp::most_name) +
                                " letters, digits, '-' and '_'");
  }
}

/// The highest learning rate that a push may have.
inline constexpr float most_rate = 1000;

/// The highest number of updates or gradients.
inline constexpr int most_count = 2'000'000'000;

/// The remedy where parts of a server whose shards are in step hold weights of different updates.
inline constexpr char const* unequal_parts =
    "; a part of the server was started again with weights of another update. Start all parts again, each with "
    "--resume FILE, of the same update: NAME.serverI.safetensors, or NAME.serverI.previous.safetensors";

inline void check_rate(double rate) {
  if (rate >= 0 && rate <= most_rate) return;  // not true for NaN
  throw backend::tcp::Refusal("a push at rate " + std::to_string(rate) + "; rates are from 0 to " +
                              std::to_string(static_cast<int>(most_rate)));
}
inline void check_life(int life) {
  if (life < 1 || life > most_count) throw backend::tcp::Refusal("a push of life " + std::to_string(life));
}
/// What a client says with a push, checked before the agreement hears it. `newest`: the shard's version; `heard`:
/// pushes to this shard over this connection so far. Throws Refusal.
inline void check_push(agree::Event const& e, float rate, int newest, int heard) {
  check_rate(double{rate});
  if (e.version < 0 || e.version > newest) {
    throw backend::tcp::Refusal("a push made with version " + std::to_string(e.version) +
                                " of weights whose newest is " + std::to_string(newest));
  }
  if (e.count < 0 || e.count > heard) {
    throw backend::tcp::Refusal("a push with number " + std::to_string(e.count) + " after " + std::to_string(heard) +
                                " pushes");
  }
}
/// Throws Refusal naming the first number that is not finite.
template <class T> void check_finite(T const* pushed, long count) {
  using Wide = std::conditional_t<sizeof(T) == 8, double, float>;
  auto const finite = [](T v) { return std::abs(static_cast<Wide>(v)) <= std::numeric_limits<Wide>::max(); };
  bool all = true;
  for (long i = 0; i < count; ++i) all &= finite(pushed[i]);
  if (all) return;
  long const at = std::find_if_not(pushed, pushed + count, finite) - pushed;
  throw backend::tcp::Refusal("a push whose number " + std::to_string(at) + " of " + std::to_string(count) +
                              " is not finite; nothing of it was used");
}

}  // namespace cleave::session
