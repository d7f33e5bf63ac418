// sim/split_for.cpp - the splits that a machine's model makes fastest: known nets, all others of small nets, training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave.hpp>
#include <cleave/sim/split_for.hpp>
#include <cleave/sim/step.hpp>
#include <cleave/tensor/philox.hpp>
#include <cleave/train/check_layer.hpp>
#include <string>
#include <vector>

using namespace cleave;

namespace {

struct AlexNet
    : Sequential<Image<3, 227, 227>, Conv<96, 11, Stride<4>>, Relu, MaxPool<3, Stride<2>>, Conv<256, 5, Pad<2>>, Relu,
                 MaxPool<3, Stride<2>>, Conv<384, 3, Pad<1>>, Relu, Conv<384, 3, Pad<1>>, Relu, Conv<256, 3, Pad<1>>,
                 Relu, MaxPool<3, Stride<2>>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<1000>, CrossEntropy> {};
template <class Net, class Split, int Batched = 128, int N = 4>
struct Of : Plan<Net, Batch<Batched>, ModelParallel<Split, Ways<N>>, Momentum> {};
struct Trick : Plan<AlexNet, Batch<128>, OneWeirdTrick<4>, Momentum> {};

/// The letters of products and convolutions.
template <class P> std::string chosen() {
  std::string out;
  for (int k = 0; k < P::ops::size; ++k) out += P::signatures.op[k].contracts ? std::string(1, P::splits.of[k]) : "";
  return out;
}

struct Gpu : Machine<10'000, Link<10'000, 10'000>> {};
struct Wire : Machine<10'000, Link<50'000, 100>> {};

// Never slower in the model than what one would write by hand.
template <class Net, class M> constexpr bool is_best() {
  constexpr double chosen = step_time<Of<Net, SplitFor<M>>, M>;
  return chosen <= step_time<Of<Net, SplitBatch>, M> && chosen <= step_time<Of<Net, SplitColsRows>, M> &&
         chosen <= step_time<Plan<Net, Batch<128>, Momentum>, M>;
}
static_assert(is_best<AlexNet, Gpu>() && is_best<AlexNet, Wire>());
static_assert(step_time<Of<AlexNet, SplitFor<Gpu>>, Gpu> <= step_time<Trick, Gpu>);

using Half = Path<Residual<PerPosition<LayerNorm>, Attention<4, Causal>>,
                  Residual<PerPosition<LayerNorm, Linear<1024>, Gelu, Linear<256>>>>;
struct TwoHalves : Sequential<Sequence<16, 256>, Repeat<2, Half>, PerPosition<Linear<8>, CrossEntropy>> {};
struct Small : Sequential<Vector<16>, Linear<32>, Relu, Linear<4>, CrossEntropy> {};

}  // namespace

TEST_CASE("convolutions by samples, dense layers by their weights") {
  CHECK(chosen<Of<AlexNet, SplitFor<Gpu>>>().substr(0, 5) == "bbbbb");
  CHECK(chosen<Of<AlexNet, SplitFor<Gpu>>>()[5] == 'i');  // two thirds of all weights
}
TEST_CASE("a block of a transformer, of few samples: columns, then rows") {
  using P = Of<TwoHalves, SplitFor<Machine<1'000, Link<1'000, 100'000>>>, 2>;
  CHECK(chosen<P>().substr(0, 8) == "oioioioi");
}
TEST_CASE("a small net on slow links is not split") { CHECK(chosen<Of<Small, SplitFor<Wire>>>() == "WW"); }
TEST_CASE("beside replicas: as many as are meant") {
  using Lab = Machine<1'000, Link<1'000, 100'000>>;
  using P = Plan<TwoHalves, Batch<16>, DataParallel<Sync>, ModelParallel<SplitFor<Lab, 4>, Ways<2>>>;
  CHECK(sim::SplitCosts(P::model_policy::split::goal(P::request, 4)).samples == 4);
  CHECK(chosen<P>().find('W') == std::string::npos);  // no product is computed twice
}
TEST_CASE("what a layer says stays") {
  struct Net : Sequential<Vector<512>, Linear<512, ModelParallel<SplitRows>>, Relu, Linear<512>, CrossEntropy> {};
  CHECK(chosen<Of<Net, SplitFor<Wire>>>()[0] == 'i');
}
TEST_CASE("each line of the explanation has the step, and what other splits would take") {
  using P = Of<AlexNet, SplitFor<Gpu>>;
  std::string const text = explain_splits<P>();
  CHECK(std::count(text.begin(), text.end(), '\n') == 8);
  CAPTURE(text);
  CHECK(text.find("layer 0, convolution: samples, 22.1 ms; whole would take ") == 0);
  struct Odd : Sequential<Vector<16>, Linear<33>, Relu, Linear<2>, CrossEntropy> {};
  CHECK(explain_splits<Of<Odd, SplitFor<Gpu>>>().find("columns is not possible") != std::string::npos);
}

namespace {

template <int A, int B, int C, int D>
struct Dense
    : Sequential<Vector<A>, Linear<B>, Relu, Linear<C, NoBias>, Tanh, Linear<D>, Relu, Linear<8>, MeanSquaredError> {};
template <int A, int B>
struct Pictures : Sequential<Image<4, 8, 8>, Conv<A, 3, Pad<1>>, Relu, MaxPool<2>, Conv<B, 3, Pad<1>>, Relu, Linear<64>,
                             Relu, Linear<8>, CrossEntropy> {};

struct Tally {
  int problems = 0, slower = 0, slower_in_all = 0;
  double most = 1;  // the time of what is found by that of the fastest, with overlap
};

/// The search beside all splits of a net, on machines and meshes at random.
template <class Net> void search(Tally& tally, std::uint32_t which, int times) {
  static constexpr auto model = place::signatures<Net>(layer::ops_of<Net>{});
  static constexpr int ops = layer::ops_of<Net>::size;
  for (int t = 0; t < times; ++t) {
    tensor::Random const random{which, tensor::Purpose::Augment, static_cast<std::uint32_t>(t)};
    std::uint64_t drawn = 0;
    auto const power = [&](double low, double steps) { return low * std::exp2(steps * random.uniform(drawn++)); };
    sim::SplitGoal goal;
    goal.request.mesh = {0, 2 << static_cast<int>(2 * random.uniform(drawn++))};
    goal.request.micro_batches = 1 << static_cast<int>(6 * random.uniform(drawn++));
    goal.request.rows = 4;
    goal.replicas = goal.request.micro_batches >= 8 ? 2 : 1;
    goal.speed = {power(1, 12),   power(1, 12),       power(1, 8),    power(1, 10),
                  power(100, 10), 1 / power(0.1, 10), power(100, 10), 1 / power(0.1, 10)};
    sim::Splits<ops> asked;
    std::vector<int> open;
    for (int k = 0; k < ops; ++k) {
      asked.of[k] = '?';
      if (model.op[k].contracts) open.push_back(k);
    }
    auto const along = [&](sim::Splits<ops> const& letters, double exposed) {
      sim::Frontier<ops> at(letters);
      for (int k = 0; k < ops; ++k) at = sim::extended(at, model, goal, letters.of[k], k, exposed);
      return at.fastest();
    };
    sim::Splits<ops> const found = along(asked, 1);
    double least = found.ns, least_in_all = -1;
    for (int i = 0; i < 1 << (2 * open.size()); ++i) {
      sim::Splits<ops> s = asked;
      for (std::size_t k = 0; k < open.size(); ++k) s.of[open[k]] = sim::split_letters[i >> (2 * k) & 3];
      double const ns = along(s, 1).ns;
      if (ns >= 0) least = std::min(least, ns);
      double const in_all = sim::split_time(model, s, goal);
      if (in_all >= 0 && (least_in_all < 0 || in_all < least_in_all)) least_in_all = in_all;
    }
    ++tally.problems;
    tally.slower += found.ns > least * (1 + 1e-12);
    sim::Splits<ops> best = sim::alike(model, goal, asked, 'W', 'W');
    for (auto s : {found, along(asked, 0.5), along(asked, 0)}) {
      s.ns = sim::split_time(model, s, goal);
      best = s.better_than(best) ? s : best;
    }
    for (int k : open) {
      for (char const letter : sim::split_letters) best = sim::improved(best, model, goal, '?', k, letter);
    }
    tally.most = std::max(tally.most, best.ns / least_in_all);
    tally.slower_in_all += best.ns > least_in_all * (1 + 1e-12);
  }
}

}  // namespace

TEST_CASE("of all splits of small nets the search finds the fastest") {
  Tally tally;
  search<Dense<16, 32, 64, 32>>(tally, 1, 170);
  search<Dense<64, 512, 16, 256>>(tally, 2, 170);
  search<Dense<1024, 256, 1024, 8>>(tally, 3, 170);
  search<Dense<8, 24, 2048, 40>>(tally, 4, 170);
  search<Pictures<8, 16>>(tally, 5, 170);
  search<Pictures<32, 24>>(tally, 6, 170);
  CHECK(tally.problems == 1020);
  CHECK(tally.slower == 0);
  CHECK(tally.slower_in_all <= 40);  // with overlap, which is not looked at on the way
  CHECK(tally.most < 1.1);
}
TEST_CASE("what is chosen trains as one rank does") {
  struct Net : Sequential<Image<2, 6, 6>, Conv<4, 3, Pad<1>>, Relu, Linear<16>, Tanh, Linear<4>, MeanSquaredError> {};
  using One = Plan<Net, Batch<16>, MicroBatches<8>, Precision<f64>, InputGradient>;
  using P = Plan<Net, Batch<16>, MicroBatches<8>, Precision<f64>, InputGradient, ModelParallel<SplitFor<Gpu>, Ways<2>>>;
  CHECK(session::same<One, P>("chosen", 1, 1e-9).text == "");
}
