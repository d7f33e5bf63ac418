// refused: TopK<n>: n of every 1000 elements are sent, from 1 to 1000
// refused: TopK<1001>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/top_k.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Compress<TopK<1001>>, Fastest> {};
