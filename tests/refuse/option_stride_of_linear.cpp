// refused: the layer does not take this option. Linear takes NoBias, Glorot
// refused: the_layer_takes_this_option<cleave::Stride<2>
// refused: Linear<3, cleave::Stride<2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, Relu, Linear<3, Stride<2>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
