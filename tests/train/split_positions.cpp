// train/split_positions.cpp - parts of the positions on each rank, and of the heads in attention: the training of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "split_sequences.hpp"

using namespace cleave;
using namespace sequences;

namespace {

template <int N> using Parts = ModelParallel<SplitPositions, Ways<N>>;
template <class Net, class... Ps> using Cut = Train<Net, DataParallel<Sync>, Ps...>;

/// Of logits a rank has those of its positions, or of its classes at all positions; the loss reads what is known of
/// all.
template <class... Split>
struct Classes : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Block,
                            PerPosition<LayerNorm, Linear<64, Split...>, ParallelCrossEntropy>> {};
struct OneTable : Sequential<Vector<positions>, Embedding<64, 8, Tied>, PositionEmbedding, Block,
                             PerPosition<LayerNorm, Linear<64, NoBias, Tied>, ParallelCrossEntropy>> {};
/// Features on several ranks between two parts of the model of which each has positions.
struct Mixed
    : Sequential<
          Vector<positions>, Embedding<letters, 8, SendDense>, Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
          Residual<
              PerPosition<LayerNorm, Linear<16, ModelParallel<SplitCols>>, Gelu, Linear<8, ModelParallel<SplitRows>>>>,
          Residual<PerPosition<LayerNorm>, Attention<2, ModelParallel<SplitColsRows>>>,
          Residual<PerPosition<LayerNorm>, Attention<4>>, PerPosition<Linear<letters>, CrossEntropy>> {};
struct HeadsBlock : Path<Residual<PerPosition<LayerNorm>, Attention<4, Causal, Rotary>>,
                         Residual<PerPosition<LayerNorm, Linear<16>, Gelu, Dropout<20>, Linear<8>>>> {};
struct Heads : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Repeat<2, HeadsBlock>,
                          Dropout<10>, PerPosition<LayerNorm, Linear<64>, ParallelCrossEntropy>> {};
struct Wide : Sequential<Vector<positions>, Embedding<letters, 16, SendDense>,
                         Residual<PerPosition<LayerNorm>, Attention<8, Causal>>,
                         Residual<PerPosition<LayerNorm, Linear<16>, Gelu, Dropout<20>, Linear<16>>>,
                         PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Again
    : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Repeat<2, Recompute<Block>>,
                 Dropout<10>, PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct OfExperts : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                              Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                              Residual<PerPosition<LayerNorm>, Experts<4, Linear<12>, Gelu, Linear<8>>>,
                              PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct NoHeads : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                            Residual<PerPosition<RmsNorm, Linear<12>, Gelu, Linear<8>>, Dropout<10>>, Gru<8>,
                            PerPosition<Linear<letters>, CrossEntropy>> {};
struct Clipped : Momentum {
  static constexpr float clip_norm = 0.5f;
};

// GPT-2's blocks on 4 ranks: two all-to-alls each in each pass, one of queries, keys and values, and one of outputs. No
// product is summed over the ranks.
struct DeepBlock : Path<Residual<PerPosition<LayerNorm>, Attention<4, Causal>>,
                        Residual<PerPosition<LayerNorm, Linear<32>, Gelu, Linear<8>>>> {};
struct Deep : Sequential<Vector<8>, Embedding<64, 8, Tied>, PositionEmbedding, Repeat<12, DeepBlock>,
                         PerPosition<LayerNorm, Linear<64, NoBias, Tied>, ParallelCrossEntropy>> {};
template <class... Ps> using OfDeep = Plan<Deep, Batch<4>, Ps...>;
using DeepParts = OfDeep<Parts<4>>;
constexpr int conversions(schedule::Do what, op::Verb verb) {
  auto const& p = schedule::program<DeepParts>;
  int n = 0;
  for (int i = 0; i < p.steps; ++i) n += p.step[i].what == what && schedule::verb_of(p, p.step[i]) == verb;
  return n;
}
using enum op::Verb;
using schedule::Do::Convert, schedule::Do::ConvertBack;
static_assert(conversions(Convert, AllToAll) == 24 && conversions(ConvertBack, AllToAll) == 24);
static_assert(conversions(Convert, AllReduce) == 0 && conversions(ConvertBack, AllReduce) == 0);
static_assert(conversions(Convert, AllGather) == 1 &&
              conversions(ConvertBack, AllGather) == 0);  // of the classes' sums
// A rank sends 3/4 of its 4 x 2 positions, of 24 numbers and of 8, in each pass.
static_assert(traffic<DeepParts, 1>[AllToAll] == 2 * 12 * 4 * 2 * (24 + 8) * 3 / 4);
template <class... Ps> constexpr long kept() {
  auto const& bytes = memory<OfDeep<Ps...>>;
  return bytes[schedule::Category::Activations] + bytes[schedule::Category::Communication];
}
static_assert(kept<Parts<4>>() * 3 < kept<>());

}  // namespace

TEST_CASE(
    "alone and beside replicas, of heads, tables, padding, numbers, experts and cells: the training of one rank") {
  auto const wanted = trained<Train<Gpt, Precision<f64>>>(1);
  equals<Cut<Gpt, Precision<f64>, Parts<2>>>(wanted, 1e-9);
  equals<Cut<Gpt, Precision<f64>, Parts<2>>>(wanted, 1e-9, 3);
  equals<Plan<Gpt, Batch<12>, Momentum, Parts<2>>>(trained<Plan<Gpt, Batch<12>, Momentum>>(1), 1e-5);
  equals<Cut<Grouped, Precision<f64>, Parts<2>>>(trained<Train<Grouped, Precision<f64>>>(1), 1e-9);
  equals<Cut<Tables, Precision<f64>, Parts<2>>>(trained<Train<Tables, Precision<f64>>>(1), 1e-9);
  equals<Cut<Filled, Precision<f64>, Parts<2>>>(trained<Train<Filled, Precision<f64>>>(1), 1e-9);
  equals<Cut<NoHeads, Precision<f64>, Parts<3>>>(trained<Train<NoHeads, Precision<f64>>>(1), 1e-9, 2);
  equals<Cut<OfExperts, Precision<f64>, Parts<2>>>(trained<Train<OfExperts, Precision<f64>>>(1), 1e-9);
}
TEST_CASE("logits of positions or of classes, one table, columns, rows and heads on several ranks beside positions") {
  equals<Cut<Classes<>, Precision<f64>, Parts<2>>>(trained<Train<Classes<>, Precision<f64>>>(1), 1e-9, 2);
  using OfClasses = Classes<ModelParallel<SplitCols>>;
  equals<Cut<OfClasses, Precision<f64>, Parts<2>>>(trained<Train<OfClasses, Precision<f64>>>(1), 1e-9, 2);
  equals<Cut<OneTable, Precision<f64>, Parts<2>>>(trained<Train<OneTable, Precision<f64>>>(1), 1e-9, 2);
  equals<Cut<Mixed, Precision<f64>, Parts<2>>>(trained<Train<Mixed, Precision<f64>>>(1), 1e-9, 2);
}
TEST_CASE("along the last axis of an array of ranks, whose other axes split columns, rows and heads") {
  using Array = ModelParallel<SplitAlong<SplitColsRows, SplitPositions>, Ways<2, 2>>;
  auto const wanted = trained<Train<Heads, Precision<f64>>>(1);
  equals<Cut<Heads, Precision<f64>, Array>>(wanted, 1e-9, 2);
  equals<Cut<Heads, Precision<f64>, ModelParallel<SplitAlong<SplitColsRows, SplitPositions>, Ways<1, 2>>>>(wanted,
                                                                                                           1e-9);
  equals<Cut<Heads, Precision<f64>, ModelParallel<SplitAlong<SplitColsRows, SplitPositions>, Ways<2, 1>>>>(wanted,
                                                                                                           1e-9);
  CHECK(trained<Train<Heads, DataParallel<Sync, Zero<3>>, Array>>(2) == trained<Cut<Heads, Array>>(1));
  near(on_device<Cut<Heads, Array>>(1), trained<Cut<Heads, Array>>(1), 1e-4);
  using Three = ModelParallel<SplitAlong<SplitColsRows, SplitRowsCols, SplitPositions>, Ways<2, 2, 2>>;
  auto const wide = trained<Train<Wide, Precision<f64>>>(1);
  equals<Cut<Wide, Precision<f64>, Three>>(wide, 1e-9);
  using Columns = ModelParallel<SplitAlong<SplitColsRows, SplitColsRows, SplitPositions>, Ways<2, 2, 2>>;
  equals<Cut<Wide, Precision<f64>, Columns>>(wide, 1e-9);
}
TEST_CASE("replicas, rounds and ZeRO have the same bits") {
  using P = Cut<Gpt, Parts<2>>;
  auto const one = trained<P>(1);
  CHECK(trained<P>(2) == one);
  CHECK(trained<P>(3) == one);
  CHECK(trained<Cut<Gpt, Parts<2>, Accumulate<3>>>(1) == one);
  CHECK(trained<Train<Gpt, DataParallel<Sync, Zero<1>>, Parts<2>>>(2) == one);
  CHECK(trained<Train<Gpt, DataParallel<Sync, Zero<2>>, Parts<2>>>(2) == one);
  CHECK(trained<Train<Gpt, DataParallel<Sync, Zero<3>>, Parts<2>>>(3) == one);
  static_assert(same_bits<P, Cut<Gpt, Parts<2>, Accumulate<2>>>);
  static_assert(plan::bits_differ_by<P, Cut<Gpt>>() == plan::BitsDifference::Split);
}
TEST_CASE("recomputed, in a pipeline, in order of the ranks, clipped, in narrow formats") {
  auto const wanted = trained<Train<Gpt>>(1);
  equals<Cut<Again, Parts<2>>>(wanted, 1e-5);
  equals<Cut<Gpt, ModelParallel<SplitLayers<2>>, Parts<2>>>(wanted, 1e-5);
  equals<Cut<Gpt, Fastest, Parts<2>>>(wanted, 1e-5, 2);
  using Steps = Plan<Gpt, Batch<12>, MicroBatches<6>, Clipped>;
  equals<Plan<Gpt, Batch<12>, MicroBatches<6>, Clipped, DataParallel<Sync>, Parts<2>>>(trained<Steps>(1), 1e-5, 2);
  equals<Cut<Gpt, Precision<bf16>, Parts<2>>>(trained<Train<Gpt, Precision<bf16>>>(1), 5e-2, 2);
  using Scaled = LossScale<64, 100>;
  equals<Cut<Gpt, Precision<f16>, Scaled, Parts<2>>>(trained<Train<Gpt, Precision<f16>, Scaled>>(1), 2e-2);
}
TEST_CASE("a server, whose clients have parts of the positions") {
  equals<Train<Gpt, DataParallel<Sync>, Parts<2>, Shards<1>>>(trained<Train<Gpt>>(1), 1e-5, 2);
  equals<Train<Gpt, DataParallel<Async>, Parts<2>>>(trained<Train<Gpt, DataParallel<Async>>>(1), 1e-5);
}
TEST_CASE("a checkpoint goes on in another plan") { goes_on_as<Cut<Gpt, Parts<2>>, Train<Gpt>>(); }
TEST_CASE("on a device") {
  using P = Cut<Gpt, Parts<2>>;
  auto const one = on_device<P>(1);
  near(one, trained<P>(1), 1e-4);
  CHECK(on_device<P>(2) == one);
  using Table = Cut<OneTable, Parts<2>>;
  near(on_device<Table>(2), trained<Table>(2), 1e-4);
}
