// backend/tcp/frame.hpp - the messages between replicas and a parameter server as bytes, with a checksum over all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

#include "../../agree/event.hpp"
#include "socket.hpp"

namespace cleave::backend::tcp {

/// Increased whenever what follows changes.
inline constexpr int protocol = 4;

//   replica                                server
//     | Hello(plan, replica; container) -->  |  Refused(why; version 1: for now), or, where the server has a token,
//     | <---------- Challenge(nonce), Proof(code) --> see greeting.hpp, and then
//     | <---------------- Welcome(life)      |
//     | Event(Pushed; gradient) --------->   |
//     | <------- Grant(version; weights)     |   the newest, whenever the connection has room
//     | Pull(region) -> <- Grant             |   from read-only clients
//     | Event(Pushed) -> <- Kept(in file)    |   of a shard that follows the first (agree/follower.hpp)
//     | Follow(decision) -> <- Grant         |   the same: its weights after that update
//     | Whom -> <- Whom(text)                |   which replicas others wait for
//     | Returns(version: ms) ----------->  |   it has lost another part of the server, and will connect again
//     | Stopped(version: signal) ------->  |   it has been stopped, or has diverged, and leaves
//     | <----------------- Stopped(text)     |   the run has been stopped: this replica is to stop too
//
//   helper                                 coordinator
//     | Hello, as above ---------------->  |
//     | <------ Portion(step; weights)     |   the weights if they are newer; empty: the end
//     | Finished(loss, gradient) ------->  |
enum class Kind : std::uint32_t {
  Hello = 1,
  Welcome,
  Refused,
  Event,
  Grant,
  Pull,
  Portion,
  Finished,
  Challenge,
  Proof,
  Whom,
  Stopped,
  Kept,
  Follow,
  Returns
};

/// Of Stopped, in place of a signal: the replica's training has diverged.
inline constexpr int diverged = -1;

struct Head {
  std::uint32_t magic = 0x31564c43;  // "CLV1", in the sender's byte order
  Kind kind = Kind::Hello;
  std::int32_t shard = 0, version = 0;
  agree::Event event;
  float rate = 0;  // of a push: the learning rate of the update that it makes
  std::uint32_t unused = 0;
  std::uint64_t plan = 0;  // of Hello: the plan's fingerprint
  std::uint64_t bytes = 0, check = 0;
};
static_assert(sizeof(Head) == 72);

/// FNV-1a over words of 8 bytes.
inline std::uint64_t checksum(std::uint64_t h, void const* data, std::size_t bytes) {
  auto const* p = static_cast<unsigned char const*>(data);
  for (; bytes >= 8; bytes -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    h = (h ^ word) * 0x100000001B3u;
    h ^= h >> 29;
  }
  for (; bytes > 0; --bytes, ++p) h = (h ^ *p) * 0x100000001B3u;
  return h;
}
inline std::uint64_t checksum(Head h, void const* payload) {
  h.check = 0;
  return checksum(checksum(0xCBF29CE484222325u, &h, sizeof h), payload, h.bytes);
}

inline void send(Socket const& s, Head h, void const* payload, std::size_t bytes, Deadline const& by) {
  h.bytes = bytes;
  h.check = checksum(h, payload);
  s.send(&h, sizeof h, by);
  if (bytes > 0) s.send(payload, bytes, by);
}
/// Reads one frame by its deadline; its payload may have at most `most` bytes. Memory for more than a megabyte is
/// allocated as the bytes arrive, so that a client that only announces them costs nothing.
inline Head receive(Socket const& s, std::vector<unsigned char>& payload, std::size_t most, Deadline const& by) {
  Head h;
  s.receive(&h, sizeof h, by);
  if (h.magic != Head{}.magic) {
    throw Error({s.peer(), " does not speak this protocol: it begins with ", h.magic,
                 "; another program, another byte order or another version"});
  }
  if (h.bytes > most) {
    throw Error({s.peer(), " announces ", h.bytes, " bytes where at most ", most, " belong; is it the same plan?"});
  }
  payload.clear();
  while (payload.size() < h.bytes) {
    std::size_t const here = payload.size(), step = std::max(here, std::size_t{1} << 20);
    payload.resize(std::min(static_cast<std::size_t>(h.bytes), here + step));
    s.receive(payload.data() + here, payload.size() - here, by);
  }
  if (checksum(h, payload.data()) != h.check) throw Error({"a message from ", s.peer(), " arrived altered"});
  return h;
}

}  // namespace cleave::backend::tcp
