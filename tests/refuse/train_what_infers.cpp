// refused: Trainer: an Inference plan has no gradients; leave Inference out, or take Predictor<Net>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Inference> {};
int main() { Trainer<Train> trainer(1); }
