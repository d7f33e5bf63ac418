// refused: LossScale: whether all gradients of a step are finite is known where they are summed by collectives
// refused: gradients_are_unscaled_where_they_are_summed<true, false>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async>, LossScale<>> {};
