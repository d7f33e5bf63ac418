// train/sweep.hpp - sweep: a function of each of several settings, in processes of their own; the best settings first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../meta/error.hpp"

namespace cleave {

/// A setting, and what the function has returned for it; or why it has not: then the score is -infinity.
template <class Setting> struct Tried {
  Setting setting;
  double score = -std::numeric_limits<double>::infinity();
  std::string error{};
};

namespace session {

/// In the child: writes the score, or a text, and ends.
template <class F> [[noreturn]] void tell_score(int to, F score) {
  char told[512] = {};
  double value = 0;
  bool good = false;
  try {
    value = score();
    good = true;
  } catch (std::exception const& e) {
    std::snprintf(told, sizeof told, "%s", e.what());
  } catch (...) {
    std::snprintf(told, sizeof told, "an exception that is no std::exception");
  }
  if (good) std::memcpy(told, &value, sizeof value);
  std::fflush(nullptr);  // what the function has printed
  bool const written = ::write(to, &good, sizeof good) == sizeof good && ::write(to, told, sizeof told) == sizeof told;
  ::_exit(written ? 0 : 1);
}
/// From a child's pipe and end.
inline std::pair<double, std::string> told_score(int from, int status) {
  bool good = false;
  char told[512];
  if (::read(from, &good, sizeof good) == sizeof good && ::read(from, told, sizeof told) == sizeof told) {
    double value = 0;
    if (!good) return {-std::numeric_limits<double>::infinity(), told};
    std::memcpy(&value, told, sizeof value);
    return {value, {}};
  }
  return {-std::numeric_limits<double>::infinity(),
          WIFSIGNALED(status) ? meta::joined({"its process was ended by signal ", WTERMSIG(status)})
                              : meta::joined({"its process ended with code ", WEXITSTATUS(status)})};
}

}  // namespace session

/// `auto const best = sweep(settings, 4, [](Setting const& s) { return accuracy_with(s); });`: score(setting) of each,
/// the larger the better, in processes of their own, `at_once` at a time; sorted, the best first, equal ones in the
/// order of the settings. A process that dies or throws is told in its `error`, and the others go on. Call it before
/// this program has threads, trainers among them. Throws Error if no process can be started.
template <class Setting, class Score>
std::vector<Tried<Setting>> sweep(std::vector<Setting> const& settings, int at_once, Score score) {
  if (at_once < 1) throw Error({"sweep: ", at_once, " processes at once; say at least 1"});
  struct Child {
    pid_t process;
    int pipe;
    std::size_t setting;
  };
  std::vector<Tried<Setting>> tried;
  for (Setting const& s : settings) tried.push_back({s});
  std::vector<Child> running;
  auto const await_one = [&] {  // not any child: the program may have others
    std::vector<pollfd> pipes;
    for (Child const& c : running) pipes.push_back({c.pipe, POLLIN, 0});
    while (::poll(pipes.data(), pipes.size(), -1) < 0 && errno == EINTR) {
    }
    auto const ready = std::find_if(pipes.begin(), pipes.end(), [](pollfd const& p) { return p.revents != 0; });
    auto const at = running.begin() + (ready - pipes.begin());
    int status = 0;
    while (::waitpid(at->process, &status, 0) < 0 && errno == EINTR) {
    }
    std::tie(tried[at->setting].score, tried[at->setting].error) = session::told_score(at->pipe, status);
    ::close(at->pipe);
    running.erase(at);
  };
  for (std::size_t i = 0; i < settings.size(); ++i) {
    while (running.size() >= static_cast<std::size_t>(at_once)) await_one();
    int ends[2];
    std::fflush(nullptr);  // else a child would write it again
    pid_t const process = ::pipe(ends) == 0 ? ::fork() : -1;
    if (process == 0) {
      ::close(ends[0]);
      session::tell_score(ends[1], [&] { return static_cast<double>(score(settings[i])); });
    }
    if (process < 0) {
      int const why = errno;
      while (!running.empty()) await_one();
      throw Error({"sweep: cannot start a process: ", std::strerror(why)});
    }
    ::close(ends[1]);
    running.push_back({process, ends[0], i});
  }
  while (!running.empty()) await_one();
  std::vector<Tried<Setting>> sorted;
  auto const better = [](auto const& a, auto const& b) { return a.score > b.score; };
  for (auto& t : tried) sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), t, better), std::move(t));
  return sorted;
}

}  // namespace cleave
