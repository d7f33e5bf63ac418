// refused: Linaer
// lines: 28
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linaer<64>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
