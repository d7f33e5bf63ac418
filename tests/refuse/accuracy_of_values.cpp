// refused: with values, Accuracy, MacroF1 and MeanIou are of a model that ends with BinaryCrossEntropy
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<2>, MeanSquaredError> {};
int main() { Predictor<Net>("mine").evaluate(std::vector<float>(4), std::vector<float>(2), Accuracy{}); }
