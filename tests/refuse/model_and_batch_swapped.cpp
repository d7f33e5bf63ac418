// refused: Plan: the model comes first, and this is none
// refused: the_first_word_is_a_model
// refused: Batch<8>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Batch<8>, Net> {};
