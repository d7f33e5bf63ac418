// train/triples_fp8.cpp - agreements x splits in fp8.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "triples.hpp"

TEST_CASE("every agreement with every split, in fp8, trains as one rank") { triples::each_triple<cleave::fp8>(0.03); }
