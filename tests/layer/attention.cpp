// layer/attention.cpp - attention: gradients, cuts by heads, any replicas; sums over ranks; blocks that are repeated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<8>, Gelu, Linear<4>>>> {};

/// GPT-2 of 124 million weights but for the sharing of the first and the last matrix.
struct Large : Path<Residual<PerPosition<LayerNorm>, Attention<12, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<3072>, Gelu, Linear<768>>>> {};
struct Gpt2
    : Sequential<Vector<1024>, Embedding<50257, 768>, PositionEmbedding, Repeat<12, Large>, PerPosition<LayerNorm>,
                 PerPosition<Linear<50257, NoBias, ModelParallel<Whole>>, CrossEntropy>> {};
struct OneRank : Plan<Gpt2, Batch<8>, AdamW> {};
struct FourRanks : Plan<Gpt2, Batch<8>, AdamW, ModelParallel<SplitColsRows, Ways<4>>> {};
static_assert(OneRank::schedule.weight_elements == 124'439'808 + 50257 * 768);

/// Llama of 7 billion weights.
struct LlamaBlock : Path<Residual<PerPosition<RmsNorm>, Attention<32, Causal, Rotary, NoBias>>,
                         Residual<PerPosition<RmsNorm, SwiGlu<11008>, Linear<4096, NoBias>>>> {};
struct Llama : Sequential<Vector<2048>, Embedding<32000, 4096>, Repeat<32, LlamaBlock>, PerPosition<RmsNorm>,
                          PerPosition<Linear<32000, NoBias, ModelParallel<Whole>>, CrossEntropy>> {};
struct EightRanks : Plan<Llama, Batch<8>, AdamW, ModelParallel<SplitColsRows, Ways<8>>> {};
template <class P> constexpr long weights_of() {
  long n = 0;
  for (auto const& op : P::signatures.op)
    for (int w = 0; w < op.weights; ++w) n += op.w[w].shape.size();
  return n;
}
static_assert(weights_of<EightRanks>() == 6'738'415'616);

template <class P> constexpr int sums_forward() {
  int n = 0;
  for (int k = 0; k < P::placed.count; ++k) n += P::placed.node[k].conversion.forward == op::Verb::AllReduce;
  return n;
}
static_assert(sums_forward<FourRanks>() == 2 * 12);
static_assert(sums_forward<EightRanks>() == 2 * 32);

}  // namespace

TEST_CASE("gradients, with every cut of the products") {
  for (auto const& report :
       {check_layer<Attention<2>, Sequence<3, 4>>(), check_layer<Attention<2, Causal, Glorot>, Sequence<5, 4>>(),
        check_layer<Attention<1, NoBias>, Sequence<4, 3>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("rotary positions, root mean squares and gates") {
  for (auto const& report :
       {check_layer<Attention<2, Causal, Rotary>, Sequence<3, 8>>(),
        check_layer<PerPosition<RmsNorm>, Sequence<3, 4>>(), check_layer<PerPosition<SwiGlu<4>>, Sequence<3, 4>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("positions that are learned") {
  auto const report = check_layer<PositionEmbedding, Sequence<3, 2>>();
  CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("blocks of a transformer") {
  auto const report = check_layer<Repeat<2, Block>, Sequence<3, 4>>();
  CHECK_MESSAGE(report.ok, report.text);
  static_assert(std::is_same_v<Repeat<3, Block, Tanh>::ops, Path<Block, Tanh, Block, Tanh, Block, Tanh>::ops>);
  static_assert(std::is_same_v<layer::leaves<Repeat<2, Block>>, layer::leaves<Path<Block, Block>>>);
}
TEST_CASE("memory grows with the length of a sequence, not with its square") {
  struct Short : Sequential<Sequence<256, 32>, Attention<4, Causal>, PerPosition<Linear<2>, CrossEntropy>> {};
  struct Long : Sequential<Sequence<4096, 32>, Attention<4, Causal>, PerPosition<Linear<2>, CrossEntropy>> {};
  constexpr long few = memory<session::Probe<Short>>[schedule::Category::Activations],
                 many = memory<session::Probe<Long>>[schedule::Category::Activations];
  static_assert(many <= 16 * few);
}
TEST_CASE("tensors are called as PyTorch calls them") {
  struct Net : Sequential<Sequence<3, 4>, Attention<2>, PerPosition<Linear<2>, CrossEntropy>> {};
  std::vector<std::string> names;
  for (session::Kept const& k : session::kept<session::Probe<Net>>()) names.push_back(k.name);
  CHECK(names == std::vector<std::string>{"0.in_proj_weight", "0.in_proj_bias", "0.out_proj.weight", "0.out_proj.bias",
                                          "1.weight", "1.bias"});
}
