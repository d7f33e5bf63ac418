// refused: two policies of one kind; say each thing once
// refused: Linear<10
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10, ModelParallel<SplitCols>, ModelParallel<SplitRows>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
