// train/counted.hpp - compares what a trainer's ranks have sent and allocated with what the schedule says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../schedule/volume.hpp"
#include "trainer.hpp"

namespace cleave::session {

/// The bytes that a rank needs.
template <class Trained> long memory_of(Trained const& trainer, int rank) {
  if constexpr (requires { trainer.memory(rank); }) {
    return trainer.memory(rank).total;
  } else {
    return trainer.memory().total;
  }
}
/// What a rank has sent by the constants, without the rows of sparse gradients, in elements and bytes.
struct SentByConstants {
  long elements = 0, bytes = 0;

  constexpr void add(schedule::Traffic const& t, long times) {
    elements += times * t.elements_per_step;
    bytes += times * t.bytes_per_step;
  }
};
/// After `steps` training steps and `passes` batches of evaluation. Of replicas with a server, the ledger says how
/// often they have pushed; one that pushes after each step has made as many steps. The server's weights are evaluated
/// by a further replica, which is not counted.
template <class Trained> SentByConstants sent_by_constants(Trained const& trainer, int rank, long steps, long passes) {
  using P = typename Trained::plan;
  SentByConstants sent;
  if constexpr (P::served) {
    int const replicas = trainer.ranks().world() / P::ways;
    long const pushes = trainer.ledger().pushed[static_cast<std::size_t>(rank / P::ways)];
    schedule::Traffic const t =
        schedule::traffic(schedule::program<P>, P::request_of(replicas), P::ranks_of(replicas), rank % P::ways);
    constexpr int push = static_cast<int>(op::Verb::Push);
    long const made = P::agreed::pace.push == 1 ? pushes : steps;
    sent.add(t, made);
    sent.elements += (pushes - made) * t.elements[push];
    sent.bytes += (pushes - made) * t.bytes[push];
  } else {
    auto const of = [&](bool evaluation) {
      return schedule::traffic(schedule::program<P>, P::request, trainer.ranks(), rank, evaluation);
    };
    sent.add(of(false), steps);
    sent.add(of(true), passes);
  }
  return sent;
}
/// After `steps` training steps and `passes` batches of evaluation since the trainer was created: empty, or the first
/// rank whose counters differ from the constants, with the numbers. What depends on the data (nonzero rows of
/// gradients) or on the run (the number of pushes to a server) is compared only with other counters. For replicas of
/// several ways that push to a server less often than they step, and do not wait for each other, it has no meaning.
template <class Trained> std::string miscounted(Trained const& trainer, long steps, long passes = 0) {
  for (int r = 0; r < trainer.ranks().world(); ++r) {
    SentByConstants const sent = sent_by_constants(trainer, r, steps, passes);
    backend::host::Member::Sparse const rows = trainer.sent_rows(r);
    long const wanted[] = {sent.elements + rows.elements, sent.bytes + rows.bytes, memory_of(trainer, r)};
    long const got[] = {trainer.sent(r), trainer.sent_bytes(r), trainer.allocated(r)};
    char const* const what[] = {"sent elements", "sent bytes", "allocated bytes"};
    for (int k = 0; k < 3; ++k) {
      if (got[k] != wanted[k])
        return "rank " + std::to_string(r) + " of " + std::to_string(trainer.ranks().world()) + ": " + what[k] +
               " are " + std::to_string(got[k]) + ", the schedule says " + std::to_string(wanted[k]);
    }
  }
  return {};
}

}  // namespace cleave::session
