// backend/host/communication/cores.hpp - how many cores this process may use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sched.h>

namespace cleave::backend::host {

/// In a container or under taskset fewer than std::thread::hardware_concurrency(), which may count the machine's.
inline int cores() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

}  // namespace cleave::backend::host
