// consumers/python/tagger.cpp - a plan with a class for each position, and a weight for each sample, as a Python module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/python.hpp>

using namespace cleave;

struct Net : Sequential<Vector<6>, Embedding<10, 8>, Lstm<8>, PerPosition<Linear<3>, SampleWeighted<CrossEntropy>>> {};
struct Train : Plan<Net, Batch<20>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};

CLEAVE_PYTHON_MODULE(tagger, Train)
