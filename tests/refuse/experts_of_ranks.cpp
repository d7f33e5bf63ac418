// refused: SplitGroups: the experts of Experts<n, ...>, and the groups of an operation that does not say
// refused: 6, 4
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 8>, Experts<6, Linear<8>>, PerPosition<Linear<4>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>, MicroBatches<4>, ModelParallel<SplitExperts, Ways<4>>> {};
