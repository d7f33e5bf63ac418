// backend/host/thread.cpp - a thread runs, or there is an Error that says what the system said.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/team.hpp>

#include <dlfcn.h>

#include <cerrno>

using namespace cleave;

namespace {
int threads_left = 1000;
}

extern "C" int pthread_create(pthread_t* thread, pthread_attr_t const* how, void* (*start)(void*),
                              void* with) noexcept {
  static auto* const next = reinterpret_cast<decltype(&::pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return threads_left-- > 0 ? next(thread, how, start, with) : EAGAIN;
}

TEST_CASE("a thread runs, or none is left") {
  bool ran = false;
  backend::host::start_thread([&] { ran = true; }).join();
  CHECK(ran);
  threads_left = 0;
  CHECK_THROWS_WITH_AS(backend::host::start_thread([] {}),
                       doctest::Contains("no further thread can be started: Resource temporarily unavailable; say"),
                       Error);
  threads_left = 1000;
}

TEST_CASE("a team whose last thread cannot be started ends the others") {
  backend::host::World world({4, 1}, 1);
  for (int started = 0; started < 4; ++started) {
    threads_left = started;
    CHECK_THROWS_WITH_AS(backend::host::Team{world}, doctest::Contains("no further thread"), Error);
  }
  threads_left = 1000;
  CHECK_NOTHROW(backend::host::Team{world});
}
