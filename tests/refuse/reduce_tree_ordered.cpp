// refused: ReduceBy: this route adds up in an order of its own, where Ordered promises one
// refused: Tree
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/tree.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<24>, MicroBatches<12>, Mesh<Data<4>>, ReduceBy<Tree>> {};
