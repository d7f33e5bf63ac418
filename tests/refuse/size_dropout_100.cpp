// refused: Dropout<n>: n percent of the elements are zero in training, from 0 to 99
// refused: dropout_keeps_some<100>
// refused: Dropout<100>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Dropout<100>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
