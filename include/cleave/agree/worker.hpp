// agree/worker.hpp - a worker's reaction to granted weights and finished gradients, for every shard.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

namespace cleave::agree {

/// How often a worker communicates: it pushes every `push` gradients and fetches weights every `fetch`, and updates
/// local weights in between. Source of the two names: Dean et al., "Large scale distributed deep networks", NIPS
/// 2012, 4.1.
struct Pace {
  int fetch = 1, push = 1;
};

/// The worker's next action.
enum class Turn : int {
  Nothing,       // wait for grants
  Compute,       // take the granted weights, then a gradient
  ComputeOnOwn,  // a gradient with the local weights, which it has updated itself
};
struct Said {
  bool push = false, ask = false;  // to every shard; a push that asks is one message
  int count = 0;                   // the push's number in this incarnation
  Turn turn = Turn::Nothing;
};

/// A mailbox for each shard holds the newest version only. A worker computes when every shard has granted a version
/// that it has not computed with. `Versions` are an int for each shard, an array or a vector.
template <class Versions> struct WorkerOf {
  Pace pace;
  Versions version{}, mailbox{};  // 0: none; else version + 1, so that all zero is a new worker
  int computed = 0, pushed = 0, computing = 0, asked = 0;
  int from_step = 0, from_version = 0;  // of the first gradient made with that version
  int in_step = 0;                      // all shards have the same version: that of the first counts
  int pausing = 0;                      // newer weights are noted, and not computed with yet

  constexpr int weights_of(int shard) const { return version[static_cast<std::size_t>(shard)] - 1; }
  /// The step of its next gradient, if all workers push alike.
  constexpr long step() const {
    return from_step + (long{weights_of(0)} - from_version) * pace.push + computed % pace.push;
  }
  /// Whether it has made gradients, or local steps, that were not pushed.
  constexpr bool pending() const { return computed % pace.push != 0; }

  constexpr Turn granted(int shard, int its_version) {
    int& newest = mailbox[static_cast<std::size_t>(shard)];
    if (its_version + 1 > newest) newest = its_version + 1;
    return computing ? Turn::Nothing : begin();
  }
  /// Between its pushes to several shards.
  constexpr void pause() { pausing = 1; }
  constexpr Turn go_on() {
    pausing = 0;
    return computing ? Turn::Nothing : begin();
  }
  constexpr Said ready() {
    computing = 0;
    ++computed;
    Said s;
    s.push = computed % pace.push == 0;
    bool const fetches = computed % pace.fetch == 0;
    if (s.push) s.count = pushed++;
    s.ask = fetches;
    asked = fetches;
    for (std::size_t k = 0; fetches && !s.push && k < std::size(version);
         ++k) {  // the same version again is an answer too
      if (mailbox[k] == version[k]) mailbox[k] = 0;
    }
    if (!fetches) {
      computing = 1;
      s.turn = Turn::ComputeOnOwn;
    } else {
      s.turn = begin();
    }
    return s;
  }
  /// A pause: pushes what is pending, and begins a new interval of `pace` with the weights of the answer.
  constexpr Said flush() {
    Said s;
    if (!pending()) return s;
    s.push = s.ask = true;
    s.count = pushed++;
    int const round = pace.push * pace.fetch;
    computed += round - computed % round;
    computing = 0;
    asked = 1;
    s.turn = begin();
    return s;
  }
  /// No answer for long: repeats the message. Agreements recognise a push that they have received.
  constexpr Said again() const {
    Said s;
    s.push = pushed > 0 && computed % pace.push == 0;
    s.count = pushed - 1;
    s.ask = true;
    return s;
  }

 private:
  constexpr Turn begin() {
    if (pausing) return Turn::Nothing;
    for (std::size_t s = 0; s < std::size(version); ++s) {
      bool const again = asked && mailbox[s] == version[s] && computed % pace.push != 0;
      if (mailbox[s] <= version[s] && !again) return Turn::Nothing;
      if (in_step && mailbox[s] != mailbox[0]) return Turn::Nothing;
    }
    for (std::size_t s = 0; s < std::size(version); ++s) version[s] = mailbox[s];
    computing = 1;
    asked = 0;
    return Turn::Compute;
  }
};
template <int Shards> using Worker = WorkerOf<int[Shards]>;
/// With a number of shards that is known when a program runs.
using AnyWorker = WorkerOf<std::vector<int>>;
inline AnyWorker worker(Pace pace, int shards) {
  AnyWorker w;
  w.pace = pace;
  w.version.resize(static_cast<std::size_t>(shards));
  w.mailbox.resize(static_cast<std::size_t>(shards));
  return w;
}

}  // namespace cleave::agree
