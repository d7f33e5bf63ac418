// refused: SendFactors: in rounds, those of earlier rounds are gone; leave Accumulate out, or SendFactors
// refused: factors_are_there_at_once<true, 2>
// refused: Linear<10, cleave::SendFactors>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10, SendFactors>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Accumulate<2>> {};
