// parameter_server/decided_update.hpp - an update that the first shard of a server has decided, and that the others follow, as bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "../agree/decider.hpp"
#include "door.hpp"

namespace cleave::session {

struct DecidedUpdate {
  agree::Decision<agree::most_replicas> by;
  double rate = 0;     // the learning rate of the update
  bool saves = false;  // all parts of the server save what they hold after it
};

/// Bytes of a decision about so many replicas: rate, version, whether to save, and a life for each.
inline std::size_t decided_bytes(int replicas) { return 16 + 4 * static_cast<std::size_t>(replicas); }

inline void append(std::vector<unsigned char>& out, DecidedUpdate const& d, int replicas) {
  std::size_t const at = out.size();
  out.resize(at + decided_bytes(replicas));
  std::int32_t const numbers[]{d.by.version, d.saves};
  std::memcpy(out.data() + at, &d.rate, 8);
  std::memcpy(out.data() + at + 8, numbers, 8);
  std::memcpy(out.data() + at + 16, d.by.life, 4 * static_cast<std::size_t>(replicas));
}
/// Throws Refusal if it is none that a first shard makes of `parts` of `replicas` replicas.
inline DecidedUpdate read_decided(std::vector<unsigned char> const& in, int replicas, int parts) {
  if (in.size() != decided_bytes(replicas)) {
    throw backend::tcp::Refusal("an update to follow in " + std::to_string(in.size()) + " bytes, where " +
                                std::to_string(decided_bytes(replicas)) + " belong");
  }
  DecidedUpdate d;
  std::int32_t numbers[2];
  std::memcpy(&d.rate, in.data(), 8);
  std::memcpy(numbers, in.data() + 8, 8);
  std::memcpy(d.by.life, in.data() + 16, 4 * static_cast<std::size_t>(replicas));
  check_rate(d.rate);
  if (numbers[0] < 0 || numbers[0] > most_count) {
    throw backend::tcp::Refusal("an update to follow with version " + std::to_string(numbers[0]));
  }
  d.by.version = numbers[0];
  d.saves = numbers[1] != 0;
  int of = 0;
  for (int r = 0; r < replicas; ++r) {
    if (d.by.life[r] != 0) check_life(d.by.life[r]);
    of += d.by.life[r] != 0;
  }
  if (of != parts && !(of == 0 && d.by.version == 0)) {
    throw backend::tcp::Refusal("an update of " + std::to_string(of) + " replicas, where " + std::to_string(parts) +
                                " belong");
  }
  return d;
}

}  // namespace cleave::session
