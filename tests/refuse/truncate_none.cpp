// refused: Truncate<n>: gradients go back over runs of n positions, at least 1
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Sequence<4, 8>, Lstm<8, Truncate<0>>, LastPosition, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<16>> {};
