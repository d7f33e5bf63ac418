// refused: the plan does not fit
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<4096>, Relu, Linear<10>, CrossEntropy> {};
static_assert(fits<Predictor<Net>, 8_MiB>);
int main() {}
