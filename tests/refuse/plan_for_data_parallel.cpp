// refused: PlanFor<machine, ranks> chooses DataParallel, ModelParallel (of layers, too), Mesh and Accumulate
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/train/plan_for.hpp>

struct Lab : Machine<100> {};
struct Net : Sequential<Vector<5>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, PlanFor<Lab, 2>, DataParallel<Sync>> {};
