// refused: Plan: say Batch<samples>
// refused: the_batch_is_said<0>
// refused: Net
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, DataParallel<Sync>> {};
