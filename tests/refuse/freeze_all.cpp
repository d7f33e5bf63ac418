// refused: Freeze<n>: the first n layers keep their weights; n is from 1 on, and a layer with weights follows
// refused: Freeze<3>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Freeze<3>> {};
