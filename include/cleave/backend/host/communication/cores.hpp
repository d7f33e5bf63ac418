// backend/host/communication/cores.hpp - how many cores this process may use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sched.h>

#include <thread>

namespace cleave::backend::host {

/// In a container or under taskset fewer than std::thread::hardware_concurrency(), which may count the machine's.
inline int cores() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) == 0) return CPU_COUNT(&mine);
  return static_cast<int>(std::thread::hardware_concurrency());  // more than 1024
}

}  // namespace cleave::backend::host
