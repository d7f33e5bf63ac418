// layer/attention.cpp - attention: gradients, cuts by heads, any replicas; sums over ranks; blocks that are repeated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<8>, Gelu, Linear<4>>>> {};

/// GPT-2 of 124 million weights, and the last matrix by itself (layer/tied.cpp: shared with the first).
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
/// Mistral of 7 billion weights: 32 heads share 8 of keys and values.
struct MistralBlock : Path<Residual<PerPosition<RmsNorm>, Attention<32, Causal, Rotary, NoBias, KeyValueHeads<8>>>,
                           Residual<PerPosition<RmsNorm, SwiGlu<14336>, Linear<4096, NoBias>>>> {};
struct Mistral : Sequential<Vector<2048>, Embedding<32000, 4096>, Repeat<32, MistralBlock>, PerPosition<RmsNorm>,
                            PerPosition<Linear<32000, NoBias, ModelParallel<Whole>>, CrossEntropy>> {};
struct EightGroups : Plan<Mistral, Batch<8>, AdamW, ModelParallel<SplitColsRows, Ways<8>>> {};
template <class P> constexpr long weights_of() {
  long n = 0;
  for (auto const& op : P::signatures.op)
    for (int w = 0; w < op.weights; ++w) n += op.w[w].shape.size();
  return n;
}
static_assert(weights_of<EightRanks>() == 6'738'415'616);
static_assert(weights_of<EightGroups>() == 7'241'732'096);

template <class P> constexpr int sums_forward() {
  int n = 0;
  for (int k = 0; k < P::placed.count; ++k) n += P::placed.node[k].conversion.forward == op::Verb::AllReduce;
  return n;
}
static_assert(sums_forward<FourRanks>() == 2 * 12);
static_assert(sums_forward<EightRanks>() == 2 * 32);
static_assert(sums_forward<EightGroups>() == 2 * 32);

/// Models whose weights differ in the first one's columns and its biases alone.
constexpr int features = 12, heads = 6, positions = 5;
template <class... Options>
struct Read : Sequential<Sequence<positions, features>, Attention<heads, Causal, Rotary, Options...>,
                         PerPosition<Linear<2>, CrossEntropy>> {};
/// Loss, outputs, and the gradients of the weights, of a step of `weights`.
template <class Net> struct Step {
  double loss = 0;
  std::vector<float> outputs;
  std::vector<std::vector<double>> gradients;

  explicit Step(std::vector<std::vector<double>> const& weights) {
    using P = session::Probe<Net>;
    session::Probing<P> const data;
    Trainer<P> trainer(1, 5);
    std::vector<session::Kept> const all = session::kept<P>();
    REQUIRE(all.size() == weights.size());
    for (std::size_t w = 0; w < all.size(); ++w) {
      REQUIRE(all[w].shape.size() == static_cast<long>(weights[w].size()));
      std::copy(weights[w].begin(), weights[w].end(), trainer.at(0).weights() + all[w].offset);
    }
    std::vector<float> const x(data.x.begin(), data.x.end());
    outputs = trainer.predictor()(x);
    loss = trainer.train(0, 1, data.feed())[0];
    for (std::size_t w = 0; w < all.size(); ++w) {
      std::vector<double>& g = gradients.emplace_back(session::whole(trainer, all[w]));
      for (std::size_t i = 0; i < g.size(); ++i) g[i] = weights[w][i] - g[i];
    }
  }
};
/// Calls f(element of a plain attention's weight, of the grouped one's) for `rows` rows of all queries, keys, values.
template <int Groups> void each_shared(int rows, auto f) {
  constexpr int shared = heads / Groups, width = features / heads;
  for (int r = 0; r < rows; ++r)
    for (int part = 0; part < 3; ++part)
      for (int h = 0; h < heads; ++h)
        for (int d = 0; d < width; ++d) {
          int const grouped = part == 0 ? h % shared : shared - 1 + part;
          f(static_cast<std::size_t>(((r * 3 + part) * heads + h) * width + d),
            static_cast<std::size_t>(((r * (shared + 2) + grouped) * Groups + h / shared) * width + d));
        }
}
template <int Groups> void compare_with_repeated() {
  constexpr int columns = (heads / Groups + 2) * Groups * features / heads;
  tensor::Random const random{9, tensor::Purpose::Augment, 0};
  std::uint64_t drawn = 0;
  auto const numbers = [&](int n) {
    std::vector<double> v;
    for (int i = 0; i < n; ++i) v.push_back(random.uniform(drawn++) - 0.5);
    return v;
  };
  std::vector<std::vector<double>> weights;
  for (int n : {features * columns, columns, features * features, features, features * 2, 2})
    weights.push_back(numbers(n));
  std::vector<std::vector<double>> repeated = weights;
  for (std::size_t w : {std::size_t{0}, std::size_t{1}}) {
    int const rows = w == 0 ? features : 1;
    repeated[w].resize(static_cast<std::size_t>(rows) * 3 * features);
    each_shared<Groups>(rows,
                        [&](std::size_t plain, std::size_t grouped) { repeated[w][plain] = weights[w][grouped]; });
  }
  Step<Read<KeyValueHeads<Groups>>> const got(weights);
  Step<Read<>> const wanted(repeated);
  CHECK(got.loss == doctest::Approx(wanted.loss).epsilon(1e-12));
  REQUIRE(got.outputs.size() == wanted.outputs.size());
  for (std::size_t i = 0; i < got.outputs.size(); ++i)
    CHECK(got.outputs[i] == doctest::Approx(wanted.outputs[i]).epsilon(1e-5));
  for (std::size_t w = 0; w < weights.size(); ++w) {
    std::vector<double> sums = wanted.gradients[w];
    if (w < 2) {
      sums.assign(got.gradients[w].size(), 0);
      each_shared<Groups>(w == 0 ? features : 1,
                          [&](std::size_t plain, std::size_t grouped) { sums[grouped] += wanted.gradients[w][plain]; });
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      REQUIRE(got.gradients[w][i] == doctest::Approx(sums[i]).epsilon(1e-10).scale(1));
  }
}

}  // namespace

TEST_CASE("gradients, with every cut of the products") {
  for (auto const& report :
       {check_layer<Attention<2>, Sequence<3, 4>>(), check_layer<Attention<2, Causal, Glorot>, Sequence<5, 4>>(),
        check_layer<Attention<1, NoBias>, Sequence<4, 3>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("gradients of heads that share keys and values, with every cut of the products") {
  for (auto const& report : {check_layer<Attention<4, KeyValueHeads<2>>, Sequence<3, 8>>(),
                             check_layer<Attention<4, Causal, NoBias, KeyValueHeads<1>>, Sequence<4, 4>>(),
                             check_layer<Attention<4, Causal, Rotary, KeyValueHeads<2>>, Sequence<3, 8>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("heads that share keys and values are those of an attention that has them several times") {
  compare_with_repeated<1>();
  compare_with_repeated<2>();
  compare_with_repeated<3>();
}
TEST_CASE("as many heads of keys and values as of queries are the attention without the option") {
  static_assert(std::is_same_v<Attention<4, Causal, KeyValueHeads<4>>::ops, Attention<4, Causal>::ops>);
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
