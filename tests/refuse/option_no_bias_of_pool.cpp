// refused: the layer does not take this option. Linear takes NoBias, Glorot
// refused: the_layer_takes_this_option<cleave::NoBias
// refused: MaxPool<2, cleave::NoBias>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, MaxPool<2, NoBias>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
