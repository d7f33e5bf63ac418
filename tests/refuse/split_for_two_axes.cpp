// refused: SplitFor<Machine> chooses over one axis; say Ways<n>, or the splits, SplitAlong<...>
// refused: what_chooses_splits_has_one_axis<true, 2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/sim/split_for.hpp>

struct Lab : Machine<100> {};
struct Net : Sequential<Vector<8>, Linear<8>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitFor<Lab>, Ways<2, 2>>> {};
