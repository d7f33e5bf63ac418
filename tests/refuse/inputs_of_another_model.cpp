// refused: the model begins with another input than the one that this is a part of
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

using In = Inputs<Vector<8>, Vector<4>>;
struct Net : Sequential<Vector<8>, In::at<0>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
