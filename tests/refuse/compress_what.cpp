// refused: Compress: no format of gradients; there are bf16, Int8, OneBit, TopK<per mille>
// refused: Zip
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Zip {};
struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Compress<Zip>, Fastest> {};
