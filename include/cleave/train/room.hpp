// train/room.hpp - checks that a device has memory for its ranks, and says what takes it if not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../meta/error.hpp"
#include "../schedule/arena.hpp"

namespace cleave::session {

/// Called before anything is allocated. `each`: bytes of a rank.
inline void check_room(schedule::Memory const& each, int ranks, long free_bytes) {
  long const needed = each.total * ranks;
  if (needed <= free_bytes) return;
  std::string by;
  for (int c = 0; c < schedule::categories; ++c) {
    by += (c ? ", " : "") + std::string(name(static_cast<schedule::Category>(c))) + " " +
          std::to_string(each.bytes[c] >> 20);
  }
  throw Error({"the device has ", free_bytes >> 20, " MiB free, ", ranks, " ranks need ", needed >> 20,
               " MiB; each in MiB: ", by,
               "; run fewer ranks, or say Accumulate<2>, a smaller Batch or Precision<bf16> in the plan"});
}

}  // namespace cleave::session
