// refused: Plan: the model comes first, and this is none
// refused: a class hides what it is made of, so say struct
// refused: the_first_word_is_a_model
// refused: Net
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

class Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
