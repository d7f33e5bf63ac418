// refused: Hierarchical<n>: a node has n replicas, at least 1
// refused: nodes_have_replicas<0>
// refused: Hierarchical<0>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/hierarchical.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, ReduceBy<Hierarchical<0>>, Fastest> {};
