// refused: Compress: LocalSGD and ElasticAveraging push weights, and only gradients are compressed
// refused: LocalSGD<4>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/one_bit.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<LocalSGD<4>>, Compress<OneBit>, Fastest> {};
