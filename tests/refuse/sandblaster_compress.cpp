// refused: Sandblaster: its sums have one set of bits for any replicas; leave Compress out
// refused: portions_are_not_compressed<cleave::Compress<cleave::Int8
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/parameter_server/sandblaster.hpp>
#include <cleave/send/int8.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, DataParallel<Async>, Compress<Int8>> {};
static_assert(sizeof(Sandblaster<Train>) > 0);
