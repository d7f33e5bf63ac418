// backend/host/kernels/simd.cpp - the kernels that are called are those of the instruction set in use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/simd.hpp>

#include "../compare.hpp"

using namespace cleave::backend::host;

TEST_CASE("a machine has what the build was made for") { CHECK(best_isa() >= built_for); }

TEST_CASE("lowered, the narrower kernels are called; never narrower than the build") {
  int sets = 0;
  test::on_every_isa([&] {
    ++sets;
    int lanes = 0;
    with_simd([&]<class S>(S) { lanes = S::template lanes<float>; });
    CHECK(lanes == (isa() == Isa::Avx512 ? 16 : isa() == Isa::Avx2 ? 8 : 4));
  });
  CHECK(sets >= 1);
  CHECK(isa() == best_isa());
}

static_assert(baseline::Simd::lanes<float> == 4 && baseline::Simd::lanes<double> == 2);
