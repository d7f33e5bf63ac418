// refused: Sandblaster: replicas compute portions on their own; say DataParallel<Async>
// refused: portions_are_computed_alone<cleave::DataParallel<cleave::Sync>
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/parameter_server/sandblaster.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, DataParallel<Sync>> {};
static_assert(sizeof(Sandblaster<Train>) > 0);
