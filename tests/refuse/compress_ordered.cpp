// refused: Compress: what is lost depends on which rank summed what
// refused: say Fastest
// refused: Int8
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/int8.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Compress<Int8>> {};
