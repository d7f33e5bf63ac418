// train/triples_bf16.cpp - agreements x splits in bf16.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "triples.hpp"

TEST_CASE("every agreement with every split, in bf16, trains as one rank") { triples::each_triple<cleave::bf16>(0.05); }
