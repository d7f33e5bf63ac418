// refused: run<Plan, Data>: the first is no plan: struct Train : Plan<Net, Batch<128>, ...> {}
// refused: run_is_given_a_plan
// refused: Net
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
int main(int argc, char** argv) { return run<Net, Mnist>(argc, argv); }
