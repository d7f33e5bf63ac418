// refused: the layer does not take this option. Linear takes NoBias, Glorot
// refused: the_layer_takes_this_option<cleave::Pad<2>
// refused: Linear<10, cleave::Pad<2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10, Pad<2>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
