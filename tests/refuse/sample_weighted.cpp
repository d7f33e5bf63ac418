// refused: SampleWeighted<loss>: a loss of one operation without weights or a state
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<8>, Linear<4>, SampleWeighted<ParallelCrossEntropy>> {};
struct Train : Plan<Net, Batch<16>> {};
int main() { Trainer<Train> t; }
