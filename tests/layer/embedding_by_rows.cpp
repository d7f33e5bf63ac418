// layer/embedding_by_rows.cpp - the rows of a table of tokens on several ways, which do not divide them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

#include "../train/values.hpp"

using namespace cleave;

namespace {

template <class Net, class... Policies>
struct OnOneRank : Plan<Net, Batch<18>, MicroBatches<9>, Precision<f64>, DataParallel<Sync>, Policies...> {};
template <class Net, int ways, class Split> struct OnWays : OnOneRank<Net, ModelParallel<Split, Ways<ways>>> {};

template <class... Parts>
struct Tokens : Sequential<Vector<4>, Embedding<11, 6, Parts...>, Linear<5>, Relu, Linear<3>, CrossEntropy> {};
template <class OfTable, class OfReader>
struct OneTable : Sequential<Vector<4>, Embedding<11, 6, Tied, ModelParallel<OfTable>>, PositionEmbedding,
                             PerPosition<Linear<6>, Gelu, Linear<11, Tied, ModelParallel<OfReader>>, CrossEntropy>> {};

/// Weights after three epochs of sentences of 11 tokens.
template <class P, class Trained> std::vector<double> after(Trained&& t) {
  constexpr std::size_t labels = P::schedule.labels;
  std::vector<float> x(36 * 4);
  std::vector<int> y(36 * labels);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i * 7 % 11);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i * 5 % 3);
  t.fit(x, y, {.epochs = 3, .rate = Rate::constant(0.3f)});
  return values(t);
}
void near(std::vector<double> const& got, std::vector<double> const& one) {
  REQUIRE(got.size() == one.size());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(got[i] == doctest::Approx(one[i]).epsilon(1e-9).scale(1));
}
template <class Plain, class Net, class Split, bool device = false> void agrees() {
  std::vector<double> const one = after<OnOneRank<Plain>>(Trainer<OnOneRank<Plain>>(1, 7));
  auto const on = [&]<int ways>(std::integral_constant<int, ways>) {
    using P = OnWays<Net, ways, Split>;
    INFO(schedule::listing<P>(P::ranks_of(2)));
    near(after<P>(Trainer<P>(2, 7)), one);
    if constexpr (device && ways == 4)
      near(after<P>(DeviceTrainer<P, backend::emulate::Machine>(2, 7, std::make_unique<backend::emulate::Machine>(3u))),
           one);
  };
  on(std::integral_constant<int, 2>{});
  on(std::integral_constant<int, 4>{});
}

/// GPT-2 with the table by ways too: of 50,257 tokens a way has 12,565 at most.
struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<12, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<3072>, GeluTanh, Linear<768>>>> {};
struct Gpt2 : Sequential<Vector<1024>, Embedding<50257, 768, Tied, ModelParallel<SplitRows>>, PositionEmbedding,
                         Repeat<12, Block>,
                         PerPosition<LayerNorm, Linear<50257, NoBias, Tied, ModelParallel<SplitCols>>, CrossEntropy>> {
};
struct FourRanks : Plan<Gpt2, Batch<8>, AdamW, ModelParallel<SplitColsRows, Ways<4>>> {};
static_assert(FourRanks::schedule.weight_elements == 60'690'432 - (50'257 - 12'565) * 768);

}  // namespace

TEST_CASE("a table in rows, and one that is the weight of the last layer too, train as whole ones, on a device too") {
  agrees<Tokens<>, Tokens<ModelParallel<SplitRows>>, Whole, true>();
  agrees<Tokens<>, Tokens<SendDense, ModelParallel<SplitRows>>, SplitColsRows>();
  agrees<Tokens<>, Tokens<PadToken<0>, ModelParallel<SplitRows>>, SplitColsRows>();
  agrees<OneTable<Whole, Whole>, OneTable<SplitRows, SplitCols>, SplitColsRows, true>();
  using P = OnWays<OneTable<SplitRows, SplitCols>, 4, SplitColsRows>;
  static_assert(P::schedule.weight[0].count == 3 * 6);
}
TEST_CASE("a token that is none is not a number on any way") {
  op::Operands<double> t;
  constexpr op::Local l = [] {
    op::Local of;
    of.rows = of.batch = 1;
    of.x = Shape(3);
    of.y = Shape(3, 2);
    of.w0 = Shape(2, 2);
    return of;
  }();
  double const w[] = {1, 2, 3, 4};
  std::int32_t const tokens[] = {3, 5, -1};
  double y[6];
  t.w0 = w;
  t.tokens = tokens;
  t.y = y;
  t.where.row = 3;
  t.where.rows = 2;
  using Table = op::Lookup<5, 2, true, false, true>;
  Table::forward<l>(backend::host::Context{}, t);
  CHECK(y[0] == 1);
  CHECK(y[1] == 2);
  for (int i : {2, 3, 4, 5}) CHECK(y[i] != y[i]);
  std::int32_t const others[] = {0, 4, 2};
  t.tokens = others;
  Table::forward<l>(backend::host::Context{}, t);
  for (int i : {0, 1, 4, 5}) CHECK(y[i] == 0);
  CHECK(y[2] == 3);
}
