// train/triples_f32.cpp - agreements x splits in f32.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "triples.hpp"

TEST_CASE("every agreement with every split, in f32, trains as one rank") { triples::each_triple<cleave::f32>(3e-6); }
