// refused: ReduceBy: ranks of this plan sum no gradients with each other; say DataParallel<Sync>
// refused: routes_are_for_collectives<true, false>
// refused: Ring
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/ring.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async>, ReduceBy<Ring>, Fastest> {};
