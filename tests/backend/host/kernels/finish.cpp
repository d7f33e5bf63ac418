// backend/host/kernels/finish.cpp - bias along columns or rows, then the map, then the format of y.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/finish.hpp>
#include <cleave/backend/host/kernels/simd.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::backend::host;

namespace {
/// A tile of 3 x 5 at (1, 2) of a y with rows of 9.
template <class T, int Along, bool WithBias, class Map> void ends() {
  std::vector<float> sum(3 * 8);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<float>(i) - 10;
  std::vector<T> y(5 * 9, T{77}), bias(9);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<T>(static_cast<float>(i));
  Finish<float, T, Along, WithBias, Map> const finish{y.data(), 9, bias.data()};
  with_simd([&]<class S>(S) { finish.template done<S>(sum.data(), 8, 1, 2, 3, 5); });
  for (int r = 0; r < 5; ++r) {
    for (int c = 0; c < 9; ++c) {
      bool const in = r >= 1 && r < 4 && c >= 2 && c < 7;
      float wanted = in ? sum[static_cast<std::size_t>((r - 1) * 8 + c - 2)] : 77.f;
      if (in && WithBias) wanted += static_cast<float>(Along == 1 ? c : r);
      if (in && !std::is_void_v<Map>) wanted = wanted > 0 ? wanted : 0;
      CHECK(static_cast<float>(y[static_cast<std::size_t>(r * 9 + c)]) == wanted);
    }
  }
}
}  // namespace

TEST_CASE("a bias per column, per row, none; a map; nothing outside the tile is touched") {
  ends<float, 1, true, void>();
  ends<float, 0, true, test::Relu>();
  ends<float, 1, false, test::Relu>();
  ends<bf16, 1, true, test::Relu>();
}

static_assert(Finish<float, float, 1, false, void>::ends == false);  // sums that may stay where they are
static_assert(Finish<float, bf16, 1, false, void>::ends);
