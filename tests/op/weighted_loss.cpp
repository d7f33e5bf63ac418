// op/weighted_loss.cpp - a weighted loss is each sample's, and its gradient, times the weight of the sample.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/loss.hpp>
#include <cleave/op/per_position.hpp>
#include <cleave/op/weighted_loss.hpp>

#include "operation.hpp"

using namespace cleave;

namespace {

struct Result {
  float loss = -1;
  std::vector<float> dx;
};
template <class Op, op::Local L>
Result run(float const* x, int const* labels, float const* targets, float const* weights) {
  Result out;
  out.dx = test::zeros(L.rows * L.x.size());
  op::Operands<float> t;
  t.x = x;
  t.labels = labels;
  t.targets = targets;
  t.sample_weights = weights;
  t.loss = &out.loss;
  t.dx = out.dx.data();
  t.scale = 0.125f;
  Op::template forward<L>(test::Serial{}, t);
  Op::template backward_input<L>(test::Serial{}, t);
  return out;
}
constexpr op::Local of(int rows, Shape x, int labels) {
  op::Local l{rows, 8, x, {}, Shape(1), {}, {}};
  l.labels = labels;
  return l;
}

/// Three samples of `Op` with weights, against each by itself without.
template <class Op, int... Extents> void each_by_itself(int labels_of_each, bool numbers) {
  static constexpr Shape x(Extents...);
  static constexpr int labels = sizeof...(Extents) > 1 ? x[0] : 1;
  REQUIRE(labels_of_each == labels);
  static constexpr op::Local all = of(3, x, labels), one = of(1, x, labels);
  using Weighted = op::SampleWeightedLoss<Op>;
  long const n = x.size();
  std::vector<float> in(static_cast<std::size_t>(3 * n)), targets(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = 0.3f * static_cast<float>(i % 7) - 0.8f;
  for (std::size_t i = 0; i < in.size(); ++i) targets[i] = 0.1f * static_cast<float>(i % 5);
  std::vector<int> classes(static_cast<std::size_t>(3 * labels));
  for (std::size_t i = 0; i < classes.size(); ++i)
    classes[i] = labels > 1 && i == 1 ? op::ignored : static_cast<int>(i % 3);
  float const of_sample[]{2, 0, 0.25f};
  std::vector<float> weights;  // one beside each label
  for (float const w : of_sample) weights.insert(weights.end(), labels, w);
  float const* const to = numbers ? targets.data() : nullptr;
  Result const got = run<Weighted, all>(in.data(), classes.data(), to, weights.data());
  double loss = 0;
  for (long b = 0; b < 3; ++b) {
    Result const alone =
        run<Op, one>(in.data() + b * n, classes.data() + b * labels, to ? to + b * n : nullptr, nullptr);
    loss += static_cast<double>(of_sample[b] * alone.loss);
    for (long i = 0; i < n; ++i) {
      auto const at = static_cast<std::size_t>(i);
      CHECK(got.dx[static_cast<std::size_t>(b * n) + at] == doctest::Approx(of_sample[b] * alone.dx[at]).epsilon(1e-6));
    }
  }
  CHECK(got.loss == doctest::Approx(loss).epsilon(1e-6));
  Result const plain = run<Op, all>(in.data(), classes.data(), to, nullptr);
  Result const without = run<Weighted, all>(in.data(), classes.data(), to, nullptr);
  CHECK(without.loss == plain.loss);
  CHECK(without.dx == plain.dx);
}

}  // namespace

TEST_CASE("the loss and the gradient of each sample count by its weight, or 1") {
  each_by_itself<op::SoftmaxCrossEntropy, 3>(1, false);
  each_by_itself<op::SoftmaxWithSmoothing<10>, 3>(1, false);
  each_by_itself<op::SquaredError, 5>(1, true);
}
TEST_CASE("a sequence has one weight for all its positions") {
  each_by_itself<op::OnEachPosition<op::SoftmaxCrossEntropy>, 4, 3>(4, false);
}
