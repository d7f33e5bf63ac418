// refused: Sequential: after the input come layers
// refused: a class hides what it is made of, so say struct
// refused: Block
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

class Block : Residual<Linear<512>, Relu> {};
struct Net : Sequential<Vector<512>, Block, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
