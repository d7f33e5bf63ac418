// refused: Repeat<n, layers...>: the layers are there n times, at least once
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Repeat<0, Linear<8>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
