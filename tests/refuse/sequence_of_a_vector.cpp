// refused: shapes do not chain: the layer wants a sequence
// refused: 1, 2
// refused: Lstm<8>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Lstm<8>, LastPosition, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
