// train/stop.cpp - signals are noted while StopSignals lives, and handled as before when it has gone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <cleave/train/stop.hpp>

using cleave::session::ExitCode;
using cleave::session::StopSignals;

namespace {
using Handler = void (*)(int);
Handler handler_of(int number) {
  struct sigaction now {};
  ::sigaction(number, nullptr, &now);
  return now.sa_handler;
}
/// The wait status of a child that does this.
template <class Do> int status_of(Do what) {
  pid_t const child = ::fork();
  if (child == 0) {
    what();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
}  // namespace

TEST_CASE("the first signal is noted, by name, and the handlers are put back") {
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE}) {
    CAPTURE(number);
    Handler const before = handler_of(number);
    {
      StopSignals const signals;
      CHECK(StopSignals::received() == 0);
      ::raise(number);
      CHECK(StopSignals::received() == number);
      ::raise(SIGTERM);
      CHECK(StopSignals::received() == number);
    }
    CHECK(StopSignals::received() == 0);
    if (number != SIGPIPE) CHECK((handler_of(number) == before));
    // What is still in the buffers of a closed output must not end the process.
    if (number == SIGPIPE) CHECK((handler_of(number) == SIG_IGN));
    ::signal(number, before);
  }
  CHECK(StopSignals::name_of(SIGUSR1) == "SIGUSR1");
}
TEST_CASE("what was ignored stays ignored, as under nohup") {
  ::signal(SIGHUP, SIG_IGN);
  {
    StopSignals const signals;
    ::raise(SIGHUP);
    CHECK(StopSignals::received() == 0);
  }
  CHECK((handler_of(SIGHUP) == SIG_IGN));
  ::signal(SIGHUP, SIG_DFL);
}
TEST_CASE("a second SIGINT ends the process at once with 130; another signal twice does not") {
  int const twice = status_of([] {
    StopSignals const signals;
    ::raise(SIGINT);
    ::raise(SIGINT);
  });
  CHECK(WIFEXITED(twice));
  CHECK(WEXITSTATUS(twice) == ExitCode::interrupted);
  int const others = status_of([] {
    StopSignals const signals;
    ::raise(SIGTERM);
    ::raise(SIGTERM);
    ::raise(SIGINT);
  });
  CHECK(WIFEXITED(others));
  CHECK(WEXITSTATUS(others) == 0);
}
