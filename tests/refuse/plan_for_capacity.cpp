// refused: PlanFor<machine, ranks>: no plan on so many ranks, with up to 8 rounds, fits
// refused: some_candidate_fits<false, 1000000
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/train/plan_for.hpp>

struct Lab : Machine<100> {
  static constexpr long capacity = 1'000'000;
};
struct Net : Sequential<Vector<5>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, PlanFor<Lab, 2>> {};
