// refused: run<Plan, Data>: the second is no data set: Mnist, Cifar10
// refused: run_is_given_data
// refused: Mine
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Mine {};
struct Train : Plan<Net, Batch<8>> {};
int main(int argc, char** argv) { return run<Train, Mine>(argc, argv); }
