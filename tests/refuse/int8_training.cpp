// refused: Precision: training needs f32, f64, bf16 or tf32; 8-bit integers are for a trained model
// refused: signed char
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Precision<signed char>> {};
