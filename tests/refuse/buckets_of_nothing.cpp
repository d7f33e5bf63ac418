// refused: Buckets<n>: a message of gradients grows to n bytes, at least 1
// refused: buckets_hold_something<0
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Buckets<0>> {};
