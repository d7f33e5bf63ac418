// train/sequences.cpp - models of sequences under every way to cut them: the numbers of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequences.hpp"

using namespace sequences;

TEST_CASE_TEMPLATE("any number of replicas has the bits of one", Net, Gpt, Tables, Grouped, Cells, Last, Filled) {
  using P = Train<Net, DataParallel<Sync>>;
  auto const one = trained<P>(1);
  for (int n : {2, 3}) CHECK(trained<P>(n) == one);
  using Narrow = Train<Net, DataParallel<Sync>, Precision<bf16>>;
  CHECK(trained<Narrow>(3) == trained<Narrow>(1));
}
TEST_CASE_TEMPLATE("stages and ZeRO have the bits of one rank", Net, Gpt, Grouped, Cells, Filled) {
  auto const one = trained<Train<Net, DataParallel<Sync>>>(1);
  CHECK(trained<Train<Net, ModelParallel<SplitLayers<3>>>>(1) == one);
  CHECK(trained<Train<Net, DataParallel<Sync, Zero<3>>>>(2) == one);
}
TEST_CASE_TEMPLATE("layers cut by columns and rows have the numbers of one rank", Net, Gpt, Grouped, Cells, Filled) {
  auto const one = trained<Train<Net, DataParallel<Sync>>>(1);
  near(trained<Train<Net, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<2>>>>(2), one, 1e-4);
  near(trained<Train<Net, DataParallel<Sync>, ModelParallel<SplitBatch, Ways<2>>>>(1), one, 1e-4);
}
TEST_CASE("a table that two layers read, in parts of ZeRO, in rounds, and where others are cut") {
  auto const one = trained<Train<Tables, DataParallel<Sync>>>(1);
  CHECK(trained<Train<Tables, DataParallel<Sync, Zero<1>>>>(2) == one);
  CHECK(trained<Train<Tables, DataParallel<Sync, Zero<2>>>>(3) == one);
  CHECK(trained<Train<Tables, DataParallel<Sync, Zero<3>>>>(2) == one);
  CHECK(trained<Train<Tables, DataParallel<Sync>, Accumulate<3>>>(2) == one);
  near(trained<Train<Tables, DataParallel<Sync>, Fastest>>(2), one, 1e-4);
  near(trained<Train<Tables, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<2>>>>(2), one, 1e-4);
  near(trained<Train<Tables, DataParallel<Sync>, ModelParallel<SplitBatch, Ways<2>>>>(1), one, 1e-4);
}
TEST_CASE("a block of a transformer cut by columns and rows sums once in each half and pass") {
  constexpr auto sums = []<class P>(meta::type<P>) {
    int forward = 0;
    for (int k = 0; k < P::placed.count; ++k) forward += P::placed.node[k].conversion.forward == op::Verb::AllReduce;
    return forward;
  };
  static_assert(sums(meta::type<Train<Gpt, ModelParallel<SplitColsRows, Ways<2>>>>{}) == 4);  // two blocks
  static_assert(sums(meta::type<Train<Grouped, ModelParallel<SplitColsRows, Ways<2>>>>{}) == 4);
}
