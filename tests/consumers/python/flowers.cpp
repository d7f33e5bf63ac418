// consumers/python/flowers.cpp - a plan with classes as a Python module, beside one of another plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/python.hpp>

using namespace cleave;

struct Net : Sequential<Vector<64>, Linear<16>, Relu, Linear<3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<32>, DataParallel<Sync>, Momentum> {};

CLEAVE_PYTHON_MODULE(flowers, Train)
