// refused: PlanFor<machine, ranks> and GhostBatchNorm: the statistics are of a micro-batch
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/train/plan_for.hpp>

struct Lab : Machine<100> {};
struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, GhostBatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, Adam, PlanFor<Lab, 2>> {};
