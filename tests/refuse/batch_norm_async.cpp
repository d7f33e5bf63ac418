// refused: BatchNorm takes its statistics over all replicas
// refused: BatchNorm
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, BatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async>> {};
