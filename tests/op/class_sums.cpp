// op/class_sums.cpp - what is kept of a part of the classes survives a narrow format; the parts give the loss of the whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/class_sums.hpp>
#include <cleave/op/loss.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <cleave/backend/host/kernels/kernel.hpp>

using namespace cleave;

namespace {

static_assert(op::class_parts(50'304) == 64 && op::class_parts(50'257) == 1 && op::class_parts(48) == 2 &&
              op::class_parts(1024) == 64 && op::class_parts(1000) == 8 && op::class_parts(12) == 1);

template <class T> std::vector<T> logits(long n) {
  std::vector<T> out(static_cast<std::size_t>(n));
  for (long i = 0; i < n; ++i)
    out[static_cast<std::size_t>(i)] = static_cast<T>(static_cast<float>(i * 37 % 101) / 20 - 2);
  return out;
}
constexpr op::Local local(Shape x, Shape x2, Shape y) {
  op::Local out;
  out.rows = 1;
  out.x = x;
  out.x2 = x2;
  out.y = y;
  out.classes = 48;
  return out;
}
/// Of one sample with 48 classes: the loss, then the gradient, by sums over 16 parts.
template <class T> std::vector<double> in_parts(std::vector<T> const& x, int label, long* best = nullptr) {
  using A = tensor::accumulate_t<T>;
  constexpr op::Local l = local(Shape(48), {}, Shape(16 * 8)), m = local(Shape(48), Shape(16 * 8), Shape(1));
  std::vector<T> parts(128), dx(48);
  A loss = 0, aux[2];
  op::Operands<T> t;
  t.x = x.data();
  t.y = parts.data();
  t.labels = &label;
  op::ClassSums::forward<l>(backend::host::Context{}, t);
  t.x2 = parts.data();
  t.loss = &loss;
  t.aux = aux;
  t.dx = dx.data();
  op::CrossEntropyOfSums::forward<m>(backend::host::Context{}, t);
  op::CrossEntropyOfSums::backward_input<m>(backend::host::Context{}, t);
  if (best) *best = op::CrossEntropyOfSums::best(parts.data(), 16, 3);
  std::vector<double> out{static_cast<double>(loss)};
  for (T g : dx) out.push_back(static_cast<double>(static_cast<A>(g)));
  return out;
}
template <class T> std::vector<double> whole(std::vector<T> const& x, int label) {
  using A = tensor::accumulate_t<T>;
  constexpr op::Local l = local(Shape(48), {}, Shape(1));
  std::vector<T> dx(48);
  A loss = 0;
  op::Operands<T> t;
  t.x = x.data();
  t.labels = &label;
  t.loss = &loss;
  t.dx = dx.data();
  op::SoftmaxCrossEntropy::forward<l>(backend::host::Context{}, t);
  op::SoftmaxCrossEntropy::backward_input<l>(backend::host::Context{}, t);
  std::vector<double> out{static_cast<double>(loss)};
  for (T g : dx) out.push_back(static_cast<double>(static_cast<A>(g)));
  return out;
}
template <class T> void agree(double within) {
  for (int label : {0, 2, 3, 17, 47}) {
    auto const got = in_parts(logits<T>(48), label), wanted = whole(logits<T>(48), label);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(within).scale(1));
  }
}

}  // namespace

TEST_CASE("the loss and its gradient are those of all classes at once") {
  agree<double>(1e-12);
  agree<float>(1e-6);
  agree<bf16>(2e-4);
}
TEST_CASE("a part keeps its class, and its sum with twice the digits of the format") {
  op::ClassPart<bf16> part;
  part.top = 3.5f;
  part.sum = 786.123f;
  part.best = 49'999;
  bf16 kept[8];
  part.write(kept);
  auto const back = op::ClassPart<bf16>::read(kept);
  CHECK(back.best == 49'999);
  CHECK(back.top == 3.5f);
  CHECK(back.sum == doctest::Approx(786.123f).epsilon(2e-5));
}
TEST_CASE("of equal logits the first is the largest; what is no number stays so") {
  std::vector<float> x(48, 1.f);
  long best = -1;
  in_parts(x, 5, &best);
  CHECK(best == 0);
  x[20] = x[31] = 2;
  in_parts(x, 5, &best);
  CHECK(best == 20);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    x[7] = bad;
    CHECK(std::isnan(in_parts(x, 5, &best)[0]));
  }
}
