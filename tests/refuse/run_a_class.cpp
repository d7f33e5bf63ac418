// refused: run<Plan, Data>: the first is no plan: struct Train : Plan<Net, Batch<128>, ...> {}
// refused: so say struct
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
class Train : Plan<Net, Batch<8>> {};
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
