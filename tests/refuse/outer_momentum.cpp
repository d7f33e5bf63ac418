// refused: DiLoCo<steps, rate, momentum>: the rate is from 1 %, the momentum from 0 to 99 %
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<DiLoCo<4, 70, 100>>> {};
