// refused: each at most once
// refused: Async
// refused: every_option_is_known_and_said_once<1, 2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async, WarmUp<10>, WarmUp<20>>> {};
