// refused: fits<Plan, bytes>: the first is no plan, and no Predictor
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<4096>, Relu, Linear<10>, CrossEntropy> {};
static_assert(fits<Net, 8_MiB>);
int main() {}
