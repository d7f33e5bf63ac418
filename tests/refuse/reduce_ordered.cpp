// refused: ReduceBy: this route adds up in an order of its own, where Ordered promises one
// refused: Ring
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/ring.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, ReduceBy<Ring>> {};
