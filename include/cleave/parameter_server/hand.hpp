// parameter_server/hand.hpp - a gradient worker: computes gradients of portions, as a local replica or in another process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include "replica.hpp"

namespace cleave::session {

/// Computes portions like a replica, here or in another process (helpers.hpp). `first` is the feed's step of portion 0;
/// a gradient throws Gone if the other process has left.
template <class P> struct Hand {
  using Sent = typename Replica<P>::Sent;
  struct Gone {};
  virtual ~Hand() = default;
  virtual void take(int way, long begin, Sent const* from, long count) = 0;
  virtual double gradient(long portion, long first, backend::host::Feed const& feed) = 0;
  virtual Sent* pushed(int way, long begin, long end) = 0;
};
/// `Ranks` compute, like those of a replica.
template <class P, class Ranks = ThreadRanks<P>> struct Near : Hand<P> {
  using Sent = typename Replica<P>::Sent;
  explicit Near(std::uint64_t seed) : replica(1, 0, seed) {}
  void take(int way, long begin, Sent const* from, long count) override { replica.take(way, begin, from, count); }
  double gradient(long portion, long, backend::host::Feed const& feed) override {
    replica.forget_pushed();
    return replica.step(portion, feed, 0, 0);
  }
  Sent* pushed(int way, long begin, long end) override { return replica.pushed(way, begin, end); }
  Replica<P, Ranks> replica;
};
template <class P> using Hands = std::vector<std::unique_ptr<Hand<P>>>;
template <class P, class Ranks = ThreadRanks<P>> Hands<P> near(int replicas, std::uint64_t seed) {
  Replica<P, Ranks>::checked_room({0, P::micro_batches}, replicas);
  Hands<P> all;
  for (int r = 0; r < replicas; ++r) all.push_back(std::make_unique<Near<P, Ranks>>(seed));
  return all;
}

}  // namespace cleave::session
