// refused: Zero<n>: ranks that sum gradients share the optimizer
// refused: zero_is_of_collectives<true, true>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async, Zero<1>>, Adam> {};
