// refused: nor one that has weights of samples already
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Linear<4>, SampleWeighted<SampleWeighted<CrossEntropy>>> {};
struct Train : Plan<Net, Batch<16>> {};
