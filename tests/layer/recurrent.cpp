// layer/recurrent.cpp - recurrent layers: gradients through time, any replicas; PyTorch's names of their weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct OneLayer : Sequential<Sequence<3, 2>, PerPosition<Linear<4>>, Lstm<4>, PerPosition<Linear<3>, CrossEntropy>> {};
struct Free : Plan<OneLayer, Batch<4>, MicroBatches<2>> {};
struct Frozen : Plan<OneLayer, Batch<4>, MicroBatches<2>, Freeze<1>> {};

template <class P> std::vector<std::vector<float>> after_a_step() {
  Trainer<P> trainer(1, 5);
  trainer.train(0, 1, session::Probing<P>().feed());
  std::vector<std::vector<float>> all;
  for (int w = 0; w < P::schedule.weights; ++w)
    all.push_back(session::whole(trainer, session::kept<P>()[static_cast<std::size_t>(w)]));
  return all;
}

struct TwoNorms : layer::Chain<op::BatchSums, op::Normalise, op::BatchSums, op::Normalise> {
  static constexpr void connect(auto& graph) {
    for (int i = 0; i < 2; ++i) {
      int const x = graph.current;
      graph.chain();
      graph.join(x, graph.current);
    }
    ++graph.leaves;
  }
};

}  // namespace

TEST_CASE("gradients through time") {
  for (auto const& report : {check_layer<Rnn<4>, Sequence<3, 4>>(), check_layer<Lstm<4>, Sequence<3, 4>>(),
                             check_layer<Gru<4>, Sequence<4, 2>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("layers on each other, and the last position alone") {
  auto const report = check_layer<Path<Gru<3>, Lstm<4>, LastPosition, Linear<2>>, Sequence<3, 2>>();
  CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("their weights are trained where the layers before are frozen") {
  auto const all = after_a_step<Free>(), rest = after_a_step<Frozen>();
  CHECK(all[0] != rest[0]);
  for (std::size_t w = 2; w < all.size(); ++w) CHECK(all[w] == rest[w]);
}
TEST_CASE("tensors are called as PyTorch calls them, once each") {
  struct Net : Sequential<Sequence<3, 2>, Lstm<4>, Lstm<4>, LastPosition, Linear<3>, CrossEntropy> {};
  std::vector<std::string> names;
  for (session::Kept const& k : session::kept<session::Probe<Net>>()) names.push_back(k.name);
  CHECK(names == std::vector<std::string>{"0.weight_ih_l0", "0.bias_ih_l0", "0.weight_hh_l0", "0.bias_hh_l0",
                                          "1.weight_ih_l0", "1.bias_ih_l0", "1.weight_hh_l0", "1.bias_hh_l0",
                                          "3.weight", "3.bias"});
}
TEST_CASE("operations of one layer that call their weights alike get a number") {
  struct Twice : layer::Chain<op::Product<4>, op::Bias, op::Product<2>, op::Bias> {};
  struct Net : Sequential<Vector<3>, Twice, CrossEntropy> {};
  std::vector<std::string> names;
  for (session::Kept const& k : session::kept<session::Probe<Net>>()) names.push_back(k.name);
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "0.weight_2", "0.bias_2"});
}
TEST_CASE("so do running statistics") {
  struct Net : Sequential<Vector<3>, TwoNorms, Linear<2>, CrossEntropy> {};
  std::vector<std::string> names;
  for (session::Kept const& k : session::kept<session::Probe<Net>>())
    if (k.region == backend::host::Region::States) names.push_back(k.name);
  CHECK(names == std::vector<std::string>{"0.running_mean", "0.running_var", "0.running_mean_2", "0.running_var_2"});
}

TEST_CASE("two kinds of cells beside each other: the features of each position, also in parts") {
  auto const report =
      check_layer<Path<Branches<Concat, Path<Lstm<3>>, Path<Gru<5>>>, LastPosition, Linear<4>>, Sequence<3, 4>>();
  CHECK_MESSAGE(report.ok, report.text);
}
