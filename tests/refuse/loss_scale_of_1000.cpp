// refused: LossScale<initial, interval>: the factor is a power of two from 1 to 2^60
// refused: LossScale<1000
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, LossScale<1000>> {};
