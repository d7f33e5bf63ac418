// refused: Compress and ReduceBy: compressed gradients have a route of their own; say one of the two
// refused: compressed_gradients_have_a_route_of_their_own<true, true>
// refused: Compress<cleave::bf16
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/bf16.hpp>
#include <cleave/send/ring.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, ReduceBy<Ring>, Compress<bf16>, Fastest> {};
