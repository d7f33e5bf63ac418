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
/// The part that depends on the data (nonzero rows of gradients) is compared only with other counters. After `steps`
/// training steps and `passes` batches of evaluation since the trainer was created: empty, or the first rank whose
/// counters differ from the constants, with the numbers.
template <class Trained> std::string miscounted(Trained const& trainer, long steps, long passes = 0) {
  using P = typename Trained::plan;
  for (int r = 0; r < trainer.ranks().world(); ++r) {
    auto const of = [&](bool evaluation) {
      return schedule::traffic(schedule::program<P>, P::request, trainer.ranks(), r, evaluation);
    };
    schedule::Traffic const step = of(false), pass = of(true);
    backend::host::Member::Sparse const rows = trainer.sent_rows(r);
    long const wanted[] = {steps * step.elements_per_step + passes * pass.elements_per_step + rows.elements,
                           steps * step.bytes_per_step + passes * pass.bytes_per_step + rows.bytes,
                           memory_of(trainer, r)};
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
