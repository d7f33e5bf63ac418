// refused: Sequential: an input comes first, Vector<features> or Image<channels, height, width>
// refused: a_model_begins_with_its_input
// refused: Linear<10>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
