// refused: LossScale: only gradients of weights are divided by the factor, not residuals and the gradient of the input
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/send/bf16.hpp>

#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Fastest, Compress<bf16>, LossScale<>> {};
