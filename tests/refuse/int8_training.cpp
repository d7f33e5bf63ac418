// refused: Precision: training needs f32, f64, bf16, f16, tf32 or fp8, which takes e4m3 and e5m2 where each belongs
// refused: 8-bit integers are for a trained model
// refused: signed char
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Precision<signed char>> {};
