// refused: ReduceBy<Hierarchical<n>>: the mesh's replicas must divide evenly into nodes of n
// refused: Hierarchical<4>, 6
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/hierarchical.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<24>, MicroBatches<12>, Mesh<Data<6>>, ReduceBy<Hierarchical<4>>, Fastest> {};
