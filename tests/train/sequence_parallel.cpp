// train/sequence_parallel.cpp - parts of the positions between products: the training of one rank, what is sent and kept.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "split_sequences.hpp"

using namespace cleave;
using namespace sequences;

namespace {

using Sums = ModelParallel<SplitColsRows, Ways<2>>;
template <class Net, class... Ps> using Cut = Train<Net, DataParallel<Sync>, SequenceParallel, Ps...>;

/// Its embedding's table is cut by tokens, so that its output is summed too.
struct Narrow
    : Sequential<Vector<positions>, Embedding<letters, 8, SendDense, ModelParallel<SplitRows>>, PositionEmbedding,
                 Dropout<10>, Repeat<2, Block>, PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Again
    : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Repeat<2, Recompute<Block>>,
                 Dropout<10>, PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct OfExperts : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                              Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                              Residual<PerPosition<LayerNorm>, Experts<4, Linear<12>, Gelu, Linear<8>>>,
                              PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
template <class... Split>
struct Classes : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Block,
                            PerPosition<LayerNorm, Linear<64, Split...>, ParallelCrossEntropy>> {};
struct OneTable : Sequential<Vector<positions>, Embedding<64, 8, Tied>, PositionEmbedding, Block,
                             PerPosition<LayerNorm, Linear<64, NoBias, Tied>, ParallelCrossEntropy>> {};
struct Flat : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PerPosition<LayerNorm, Linear<6>, Relu>,
                         Linear<letters>, CrossEntropy> {};
struct NoHeads : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                            Residual<PerPosition<RmsNorm, Linear<12>, Gelu, Linear<8>>, Dropout<10>>, Gru<8>,
                            PerPosition<Linear<letters>, CrossEntropy>> {};
struct Clipped : Momentum {
  static constexpr float clip_norm = 0.5f;
};

/// Conversions of values (Convert) or of their gradients (ConvertBack) in a step, of values also again on the way back.
template <class P> constexpr int conversions(schedule::Do what, op::Verb verb, bool back) {
  auto const& p = schedule::program<P>;
  int n = 0;
  for (int i = back ? p.forward_steps : 0; i < (back ? p.steps : p.forward_steps); ++i)
    n += p.step[i].what == what && schedule::verb_of(p, p.step[i]) == verb;
  return n;
}
using enum op::Verb;
using schedule::Do::Convert, schedule::Do::ConvertBack;

// GPT-2's blocks: where sums over ranks were, a gather in front of each of two products and a scatter behind, and these
// of the logits and of the embedding; the loss gathers what it knows of each part of the classes. What products read is
// gathered again on the way back.
struct Deep : Sequential<Vector<8>, Embedding<16, 8, ModelParallel<SplitRows>>, PositionEmbedding, Repeat<12, Block>,
                         PerPosition<LayerNorm, Linear<64>, ParallelCrossEntropy>> {};
template <class... Ps> using OfDeep = Plan<Deep, Batch<4>, Sums, Ps...>;
template <class... Ps> constexpr int forward(op::Verb v) { return conversions<OfDeep<Ps...>>(Convert, v, false); }
template <class... Ps> constexpr int again(op::Verb v) { return conversions<OfDeep<Ps...>>(Convert, v, true); }
template <class... Ps> constexpr int backward(op::Verb v) { return conversions<OfDeep<Ps...>>(ConvertBack, v, true); }
static_assert(forward<>(AllReduce) == 25 && backward<>(AllReduce) == 25);
static_assert(forward<SequenceParallel>(AllGather) == 25 + 1 && forward<SequenceParallel>(ReduceScatter) == 25);
static_assert(backward<SequenceParallel>(AllGather) == 25 && backward<SequenceParallel>(ReduceScatter) == 25);
static_assert(again<SequenceParallel>(AllGather) == 25 && again<SequenceParallel>(ReduceScatter) == 0);
static_assert(forward<SequenceParallel>(AllReduce) + backward<SequenceParallel>(AllReduce) == 0);
// As many bytes, but for what is gathered again, and gradients of norms and biases, which are summed over the ways.
template <class... Ps> constexpr long sent = traffic<OfDeep<Ps...>, 1>.elements_per_step;
constexpr long gathered = 4 * 8 * 8 / 2, norms_and_biases = 12 * (2 * 16 + 2 * 8) + 16;
static_assert(sent<SequenceParallel> == sent<> + 25 * gathered + norms_and_biases);
// A rank keeps its positions of all that is between products, and all positions of two products at a time; the same of
// what is computed again.
struct DeepAgain : Sequential<Vector<8>, Embedding<16, 8, ModelParallel<SplitRows>>, PositionEmbedding,
                              Repeat<4, Recompute<Block>>, PerPosition<LayerNorm, Linear<64>, ParallelCrossEntropy>> {};
template <class Net, class... Ps> constexpr long kept() {
  auto const& bytes = memory<Plan<Net, Batch<4>, Sums, Ps...>>;
  return bytes[schedule::Category::Activations] + bytes[schedule::Category::Communication];
}
static_assert(kept<Deep, SequenceParallel>() * 5 < kept<Deep>() * 4);
static_assert(kept<DeepAgain, SequenceParallel>() * 5 < kept<DeepAgain>() * 4);

}  // namespace

TEST_CASE("by columns and rows, beside replicas, and by columns or rows alone: the training of one rank") {
  auto const wanted = trained<Train<Gpt, Precision<f64>>>(1);
  equals<Cut<Gpt, Precision<f64>, Sums>>(wanted, 1e-9);
  equals<Cut<Gpt, Precision<f64>, Sums>>(wanted, 1e-9, 3);
  equals<Cut<Gpt, Precision<f64>, ModelParallel<SplitCols, Ways<2>>>>(wanted, 1e-9);
  equals<Cut<Gpt, Precision<f64>, ModelParallel<SplitRows, Ways<2>>>>(wanted, 1e-9);
  equals<Cut<Narrow, Precision<f64>, Sums>>(trained<Train<Narrow, Precision<f64>>>(1), 1e-9, 2);
  equals<Cut<Grouped, Precision<f64>, Sums>>(trained<Train<Grouped, Precision<f64>>>(1), 1e-9);
  equals<Cut<Tables, Precision<f64>, Sums>>(trained<Train<Tables, Precision<f64>>>(1), 1e-9);
  equals<Cut<NoHeads, Precision<f64>, ModelParallel<SplitColsRows, Ways<3>>>>(
      trained<Train<NoHeads, Precision<f64>>>(1), 1e-9, 2);
  equals<Cut<OfExperts, Precision<f64>, Sums>>(trained<Train<OfExperts, Precision<f64>>>(1), 1e-9);
}
TEST_CASE("replicas and rounds have the same bits") {
  using P = Cut<Gpt, Sums>;
  auto const one = trained<P>(1);
  CHECK(trained<P>(2) == one);
  CHECK(trained<P>(3) == one);
  CHECK(trained<Cut<Gpt, Sums, Accumulate<3>>>(1) == one);
  CHECK(trained<Cut<Gpt, Sums, Accumulate<2>>>(2) == one);
  static_assert(same_bits<P, Cut<Gpt, Sums, Accumulate<2>>>);
  static_assert(plan::bits_differ_by<P, Train<Gpt, DataParallel<Sync>, Sums>>() == plan::BitsDifference::Split);
}
TEST_CASE("with ZeRO the bits of a plan without") {
  auto const wanted = trained<Cut<Gpt, Sums>>(1);
  CHECK(trained<Train<Gpt, DataParallel<Sync, Zero<1>>, SequenceParallel, Sums>>(2) == wanted);
  CHECK(trained<Train<Gpt, DataParallel<Sync, Zero<2>>, SequenceParallel, Sums>>(2) == wanted);
  CHECK(trained<Train<Gpt, DataParallel<Sync, Zero<3>>, SequenceParallel, Sums>>(3) == wanted);
  using Steps = Train<Gpt, DataParallel<Sync>, Precision<bf16>, Sums, SequenceParallel>;
  CHECK(trained<Train<Gpt, DataParallel<Sync, Zero<1>>, Precision<bf16>, Sums, SequenceParallel>>(2) ==
        trained<Steps>(1));
}
TEST_CASE("ways alone, with one micro-batch, in buckets of one layer and of several") {
  auto const wanted = trained<Plan<Gpt, Batch<12>, Momentum>>(1);
  equals<Plan<Gpt, Batch<12>, Momentum, Sums, SequenceParallel>>(wanted, 1e-5);
  equals<Plan<Gpt, Batch<12>, Momentum, Sums, SequenceParallel, Buckets<4096>>>(wanted, 1e-5);
  equals<Plan<Gpt, Batch<12>, Momentum, Sums, SequenceParallel, Mesh<Data<1>, Model<2>>>>(wanted, 1e-5);
}
TEST_CASE("classes on several ranks, tied or whole; a flat layer by rows behind positions; padding") {
  equals<Cut<Classes<>, Precision<f64>, Sums>>(trained<Train<Classes<>, Precision<f64>>>(1), 1e-9, 2);
  using OfWhole = Classes<ModelParallel<Whole>>;
  equals<Cut<OfWhole, Precision<f64>, Sums>>(trained<Train<OfWhole, Precision<f64>>>(1), 1e-9);
  using OfRows = Classes<ModelParallel<SplitRows>>;
  equals<Cut<OfRows, Precision<f64>, Sums>>(trained<Train<OfRows, Precision<f64>>>(1), 1e-9);
  equals<Cut<OneTable, Precision<f64>, Sums>>(trained<Train<OneTable, Precision<f64>>>(1), 1e-9);
  equals<Cut<Filled, Precision<f64>, Sums>>(trained<Train<Filled, Precision<f64>>>(1), 1e-9);
  auto const flat = trained<Train<Flat, Precision<f64>>>(1);
  using Rows = ModelParallel<SplitRows, Ways<2>>;
  equals<Cut<Flat, Precision<f64>, Rows>>(flat, 1e-9, 2);
  equals<Train<Flat, Precision<f64>, Rows, DataParallel<Sync>>>(flat, 1e-9);  // without the word
  equals<Train<Flat, Precision<f64>, ModelParallel<SplitRows, Ways<4>>>>(flat, 1e-9);
}
TEST_CASE("recomputed, in a pipeline, in order of the ranks, clipped") {
  auto const wanted = trained<Train<Gpt>>(1);
  equals<Cut<Again, Sums>>(wanted, 1e-5);
  equals<Cut<Gpt, ModelParallel<SplitLayers<2>>, Sums>>(wanted, 1e-5);
  equals<Cut<Gpt, Fastest, Sums>>(wanted, 1e-5, 2);
  using Steps = Plan<Gpt, Batch<12>, MicroBatches<6>, Clipped>;
  using CutSteps = Plan<Gpt, Batch<12>, MicroBatches<6>, Clipped, DataParallel<Sync>, Sums, SequenceParallel>;
  equals<CutSteps>(trained<Steps>(1), 1e-5, 2);
}
TEST_CASE("in narrow formats") {
  equals<Cut<Gpt, Precision<bf16>, Sums>>(trained<Train<Gpt, Precision<bf16>>>(1), 5e-2, 2);
  equals<Cut<Gpt, Precision<f16>, LossScale<64, 100>, Sums>>(trained<Train<Gpt, Precision<f16>, LossScale<64, 100>>>(1),
                                                             2e-2);
}
TEST_CASE("a server, whose clients have parts of the positions") {
  auto const wanted = trained<Train<Gpt>>(1);
  equals<Train<Gpt, DataParallel<Sync>, SequenceParallel, Sums, Shards<1>>>(wanted, 1e-5, 2);
  equals<Train<Gpt, DataParallel<Async>, SequenceParallel, Sums>>(trained<Train<Gpt, DataParallel<Async>>>(1), 1e-5);
}
TEST_CASE("a checkpoint goes on in another plan") { goes_on_as<Cut<Gpt, Sums>, Train<Gpt>>(); }
TEST_CASE("on a device") {
  using P = Cut<Gpt, Sums>;
  auto const one = on_device<P>(1);
  near(one, trained<P>(1), 1e-4);
  CHECK(on_device<P>(2) == one);
}
