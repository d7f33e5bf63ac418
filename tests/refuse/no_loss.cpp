// refused: a model ends in one loss
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>> {};
struct Train : Plan<Net, Batch<8>> {};
