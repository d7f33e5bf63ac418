// refused: the layer is given two options of one kind; give each kind once
// refused: each_option_is_given_once<cleave::Pad<1>
// refused: Conv<8, 3, cleave::Pad<1>, cleave::Pad<2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, Conv<8, 3, Pad<1>, Pad<2>>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
