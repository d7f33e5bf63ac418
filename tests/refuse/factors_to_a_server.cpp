// refused: SendFactors: ranks of this plan sum no gradients with each other; say DataParallel<Sync>, or
// refused: factors_go_between_ranks<true, false>
// refused: Linear<10, cleave::SendFactors>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10, SendFactors>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async>> {};
