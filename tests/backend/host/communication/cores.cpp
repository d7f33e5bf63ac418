// backend/host/communication/cores.cpp - the cores of a process are those that it may use, not those of the machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/communication/cores.hpp>

#include <thread>

using namespace cleave;

TEST_CASE("a thread that is kept on one core has one") {
  CHECK(backend::host::cores() >= 1);
  int seen = 0;
  std::thread([&] {
    int const here = sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(here < 0 ? 0 : here, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    seen = backend::host::cores();
  }).join();
  CHECK(seen == 1);
}
