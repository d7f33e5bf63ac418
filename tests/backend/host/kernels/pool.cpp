// backend/host/kernels/pool.cpp - the host kernels of pooling and bias give what the definitions give.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/bias.hpp>
#include <cleave/backend/host/kernels/pool.hpp>

#include <cleave/tensor/philox.hpp>
#include <vector>

using namespace cleave;
using namespace cleave::backend::host;

namespace {

std::vector<float> drawn(long n, unsigned which) {
  tensor::Random const random{9, tensor::Purpose::Augment, which};
  std::vector<float> v;
  for (long i = 0; i < n; ++i)
    v.push_back(static_cast<float>(random.below(16, static_cast<std::uint64_t>(i))) - 8);  // with ties
  return v;
}

template <class Op, int C, int H, int W> void pools_by() {
  constexpr op::Local l{3, 3, Shape(C, H, W), Shape(), Op::output(Shape(C, H, W)), Shape(), Shape()};
  auto x = drawn(3 * l.x.size(), 1), dy = drawn(3 * l.y.size(), 2);
  for (auto* of : {&x, &dy}) {
    for (float& v : *of) v /= 3;  // whose sums are rounded
  }
  std::vector<float> y(static_cast<std::size_t>(3 * l.y.size()), -77), aux = y, y2 = y, aux2 = y;
  std::vector<float> dx(static_cast<std::size_t>(3 * l.x.size()), -77), dx2 = dx;
  alignas(64) static std::byte workspace[1 << 20];
  Context const c{workspace};
  op::Operands<float> t;
  t.x = x.data();
  t.dy = dy.data();
  t.y = y.data();
  t.aux = aux.data();
  t.dx = dx.data();
  Kernel<Op>::template forward<l, false, void>(c, t);
  Kernel<Op>::template backward_input<l>(c, t);
  t.y = y2.data();
  t.aux = aux2.data();
  t.dx = dx2.data();
  Op::template forward<l>(c, t);
  Op::template backward_input<l>(c, t);
  CHECK(y == y2);
  CHECK(aux == aux2);
  CHECK(dx == dx2);
}
template <int K, int S, int P, int C, int H, int W> void pools() { pools_by<op::MaxWindow<K, S, P>, C, H, W>(); }
template <int K, int S, int P, int C, int H, int W> void means() { pools_by<op::MeanWindow<K, S, P>, C, H, W>(); }

}  // namespace

TEST_CASE("max pooling: windows that overlap, touch, are padded, and do not fit evenly") {
  pools<3, 2, 1, 4, 32, 32>();
  pools<3, 2, 0, 2, 15, 17>();
  pools<2, 2, 0, 3, 6, 6>();
  pools<3, 1, 1, 2, 5, 7>();
  pools<5, 3, 2, 1, 11, 9>();
  pools<2, 3, 0, 1, 8, 8>();
  pools<3, 2, 1, 2, 120, 150>();  // several bands of rows
}

TEST_CASE("average pooling, bit for bit: windows that overlap, touch, are padded, and do not fit evenly") {
  means<3, 2, 1, 4, 32, 32>();
  means<3, 2, 0, 2, 15, 17>();
  means<2, 2, 0, 3, 6, 6>();
  means<3, 1, 1, 2, 5, 7>();
  means<5, 3, 2, 1, 11, 9>();
  means<2, 3, 0, 1, 8, 8>();
  means<7, 1, 3, 2, 4, 3>();      // larger than the image
  means<2, 2, 0, 1, 520, 520>();  // larger than the workspace
}

TEST_CASE("a bias's gradient: vectors and images") {
  static constexpr op::Local images{3, 3, Shape(5, 7, 9), Shape(), Shape(5, 7, 9), Shape(5), Shape()};
  static constexpr op::Local vectors{7, 7, Shape(130), Shape(), Shape(130), Shape(130), Shape()};
  auto const check = [](auto one, long n, auto two, long outputs) {
    auto const dy = drawn(n, 3);
    std::vector<float> a(static_cast<std::size_t>(outputs), -77), b = a;
    op::Operands<float> t;
    t.dy = dy.data();
    t.dw0 = a.data();
    one(t);
    t.dw0 = b.data();
    two(t);
    CHECK(a == b);  // small whole numbers: every order is exact
  };
  check([](auto const& t) { Kernel<op::Bias>::backward_weight<images>(Context{}, t); }, 3 * images.y.size(),
        [](auto const& t) { op::Bias::backward_weight<images>(Context{}, t); }, 5);
  check([](auto const& t) { Kernel<op::Bias>::backward_weight<vectors>(Context{}, t); }, 7 * vectors.y.size(),
        [](auto const& t) { op::Bias::backward_weight<vectors>(Context{}, t); }, 130);
}
