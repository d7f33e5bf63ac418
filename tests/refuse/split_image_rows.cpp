// refused: ModelParallel: each way has at least one
// refused: every_way_has_a_part
// refused: 3, 4
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

// Rows are cut where the channels are: there are 48, of 3 channels.
struct Net : Sequential<Image<3, 4, 4>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitRows, Ways<4>>> {};
