// backend/host/gradients/norm.cpp - the squares of all ways: what all ways have counts once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../compare.hpp"

using namespace cleave;

namespace {
struct Net : Sequential<Vector<6>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip_norm = 1;
};
template <class... Ps> struct Of : Plan<Net, Batch<8>, Clipped, Ps...> {};
}  // namespace

TEST_CASE("of one way, of rows with a bias that all have, of columns") {
  using backend::host::squares_of_ways;
  auto const definition = [](auto const& g, auto counts) {
    long double sum = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (counts(static_cast<long>(i))) sum += static_cast<long double>(g[i]) * static_cast<long double>(g[i]);
    }
    return doctest::Approx(static_cast<double>(sum)).epsilon(1e-14);
  };
  auto const all = [](long) { return true; };
  using One = Of<>;
  auto const one = test::numbers<float>(One::schedule.weight_elements, 1);
  CHECK(squares_of_ways(schedule::program<One>, one.data()) == definition(one, all));

  using Rows = Of<ModelParallel<SplitRows, Ways<2>>>;
  long const each = Rows::schedule.weight_elements;
  CHECK(each == (3 * 8 + 8 / 2) + (4 * 4 + 4));
  auto const rows = test::numbers<float>(2 * each, 2);
  CHECK(squares_of_ways(schedule::program<Rows>, rows.data()) ==
        definition(rows, [&](long i) { return i < each || i - each < each - 4; }));

  using Columns = Of<ModelParallel<SplitCols, Ways<2>>>;
  auto const columns = test::numbers<float>(2 * Columns::schedule.weight_elements, 3);
  CHECK(squares_of_ways(schedule::program<Columns>, columns.data()) == definition(columns, all));
}
