// refused: Sandblaster: weights are stepped by L-BFGS; leave the plan's optimizer out
// refused: portions_are_stepped_by_lbfgs<cleave::Momentum>
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/parameter_server/sandblaster.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, DataParallel<Async>, Momentum> {};
static_assert(sizeof(Sandblaster<Train>) > 0);
