// refused: Zero<n>: each rank sums its part of a gradient
// refused: zero_sends_sums<true, true>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/int8.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Zero<1>>, Adam, Fastest, Compress<Int8>> {};
