// refused: Shards<n>: replicas that wait for each other
// refused: LocalSGD<8
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<LocalSGD<8>>, Shards<4>> {};
