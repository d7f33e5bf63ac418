// parameter_server/hand.hpp - a gradient worker: computes gradients of portions, as a local replica or in another process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include "replica.hpp"

namespace cleave::session {

/// Computes portions like a replica, here or in another process (helpers.hpp). `first` is the feed's step of portion 0;
/// a gradient throws Gone if the other process has left.
template <class F> struct Hand {
  using Sent = typename F::Sent;
  struct Gone {};
  virtual ~Hand() = default;
  virtual void take(int way, long begin, Sent const* from, long count) = 0;
  virtual double gradient(long portion, long first, backend::host::Feed const& feed) = 0;
  virtual Sent* pushed(int way, long begin, long end) = 0;
};
template <class F> struct Near : Hand<F> {
  using Sent = typename F::Sent;
  Near(Service<F> const& of, RanksOf<typename F::T> const& ranks, std::uint64_t seed)
      : replica(of, ranks, {0, of.micro_batches()}, seed) {}
  void take(int way, long begin, Sent const* from, long count) override { replica.take(way, begin, from, count); }
  double gradient(long portion, long, backend::host::Feed const& feed) override {
    replica.forget_pushed();
    return replica.step(portion, feed, 0, 0);
  }
  Sent* pushed(int way, long begin, long end) override { return replica.pushed(way, begin, end); }
  Replica<F> replica;
};
template <class F> using HandsOf = std::vector<std::unique_ptr<Hand<F>>>;
template <class P> using Hands = HandsOf<formats_of<P>>;
template <class F>
HandsOf<F> near_by(Service<F> const& of, RanksOf<typename F::T> const& ranks, int replicas, std::uint64_t seed) {
  Replica<F>::checked_room(of, ranks, {0, of.micro_batches()}, replicas);
  HandsOf<F> all;
  for (int r = 0; r < replicas; ++r) all.push_back(std::make_unique<Near<F>>(of, ranks, seed));
  return all;
}
/// `Ranks` compute, like those of a replica.
template <class P, class Ranks = ThreadRanks<P>> Hands<P> near(int replicas, std::uint64_t seed) {
  return near_by(service<P>, ranks_by<P, Ranks>, replicas, seed);
}

}  // namespace cleave::session
