// refused: TopKAccuracy<k> is always 1 for a model with no more than k outputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<3>, CrossEntropy> {};
int main() { Predictor<Net>("mine").evaluate(std::vector<float>(4), std::vector<int>(1), TopKAccuracy<5>{}); }
