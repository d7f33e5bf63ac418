// python/sine - a plan as a Python module; train_sine.py trains it on NumPy arrays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/python.hpp>

using namespace cleave;

struct Net : Sequential<Vector<1>, Linear<32>, Tanh, Linear<1>, MeanSquaredError> {};
struct Train : Plan<Net, Batch<32>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};

CLEAVE_PYTHON_MODULE(sine, Train)
