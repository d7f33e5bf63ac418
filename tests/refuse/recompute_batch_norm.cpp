// refused: Recompute: BatchNorm inside, or a layer of your own with states, would count twice
// refused: what_is_recomputed_has_no_states
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/layer/recompute.hpp>

struct Net : Sequential<Vector<8>, Recompute<Linear<16>, BatchNorm, Relu>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
