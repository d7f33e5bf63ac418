// refused: keep x and y in variables that outlive it
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<4>> {};
int main() { Trainer<Train>().batches(std::vector<float>(16), std::vector<int>(4)); }
