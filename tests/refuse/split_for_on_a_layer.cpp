// refused: the layer does not take this option. Linear takes NoBias, Glorot
// refused: SplitFor<Lab
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/sim/split_for.hpp>

struct Lab : Machine<100> {};
struct Net : Sequential<Vector<8>, Linear<8, ModelParallel<SplitFor<Lab>>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
