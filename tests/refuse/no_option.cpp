// refused: a layer takes options of its own
// refused: Linear<10, cleave::Batch<3>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10, Batch<3>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
