// backend/host/kernels/quantised.cpp - products and convolutions of 8 bits give the numbers of their definition, on any processor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/map.hpp>
#include <cleave/backend/host/kernels/quantised.hpp>
#include <cleave/layer/activation.hpp>

#include <vector>

using namespace cleave;
namespace host = backend::host;

namespace {

std::vector<float> numbers(long n, int seed) {
  std::vector<float> out(static_cast<std::size_t>(n));
  for (long i = 0; i < n; ++i)
    out[static_cast<std::size_t>(i)] = static_cast<float>((i * 7919 + seed * 104729) % 2003 - 1001) / 500;
  return out;
}
struct Halve {
  template <class A> static A forward(A x) { return x / 2; }
};

/// What a forward pass is, number by number: `sum(sample, output, place, visit)` calls visit(element of x, of w).
template <class Op, op::Local L, class Sum> void has_the_numbers_of_its_definition(int outputs, long places, Sum sum) {
  using Kernel = host::QuantisedKernel<Op>;
  using Packed = typename Kernel::template Packed<L>;
  std::vector<float> x = numbers(L.rows * L.x.size(), 1), bias = numbers(outputs, 2);
  std::fill_n(x.begin(), L.x.size(), 0.0f);  // a sample of zeros
  std::vector<int> w(static_cast<std::size_t>(L.w0.size()));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int>(i * 37 % 255) - 127;
  auto const scale = [](int o) { return 0.01f / static_cast<float>(1 + o); };

  std::vector<float> wanted;
  for (int b = 0; b < L.rows; ++b) {
    auto const sample = x.begin() + b * L.x.size();
    host::Bytes8 const by(host::largest(&*sample, L.x.size()));
    for (int o = 0; o < outputs; ++o) {
      for (long p = 0; p < places; ++p) {
        int all = 0;
        sum(o, p, [&](long at, long element) { all += by.of(sample[at]) * w[static_cast<std::size_t>(element)]; });
        wanted.push_back(
            __builtin_fmaf(static_cast<float>(all), scale(o) * by.scale, bias[static_cast<std::size_t>(o)]) / 2);
      }
    }
  }

  constexpr int groups = Kernel::template outputs<L> / Packed::outputs;
  constexpr long group = (Packed::bytes + 63) / 64 * 64, elements = L.w0.size() / groups;
  std::vector<float> packed(static_cast<std::size_t>(groups * group) / sizeof(float));
  for (int g = 0; g < groups; ++g) {
    Packed::pack(
        reinterpret_cast<std::byte*>(packed.data()) + g * group,
        [&](int s, int d, int o) {
          return w[static_cast<std::size_t>(g * elements + Kernel::template element<L>(s, d, o))];
        },
        [&](int o) { return scale(g * Packed::outputs + o); });
  }
  std::vector<std::byte> workspace(static_cast<std::size_t>(schedule::workspace_bytes));
  for (host::Isa const isa : {host::Isa::Baseline, host::best_isa()}) {
    host::isa() = isa;
    std::vector<float> y(wanted.size(), -1);
    op::Operands<float> t;
    t.x = x.data(), t.w0 = packed.data(), t.bias = bias.data(), t.y = y.data();
    Kernel::template forward<L, true, Halve>(host::Context{workspace.data()}, t);
    CHECK(y == wanted);
  }
  host::isa() = host::best_isa();
}
template <int Rows, int In, int Out> void product() {
  constexpr op::Local L{
      .rows = Rows, .batch = Rows, .x = Shape(In), .x2 = {}, .y = Shape(Out), .w0 = Shape(In, Out), .w1 = {}};
  has_the_numbers_of_its_definition<op::Product<Out>, L>(Out, 1, [](int o, long, auto visit) {
    for (int i = 0; i < In; ++i) visit(i, long{i} * Out + o);
  });
}
template <int Rows, int In, int H, int W, class Op> void convolution() {
  constexpr Shape x(In, H, W), y = Op::output(x);
  constexpr op::Local L{.rows = Rows, .batch = Rows, .x = x, .x2 = {}, .y = y, .w0 = Op::weight(0, x).shape, .w1 = {}};
  constexpr int in = In / Op::groups, k = Op::kernel;
  has_the_numbers_of_its_definition<Op, L>(y[0], long{y[1]} * y[2], [y](int o, long p, auto visit) {
    int const first = o / (y[0] / Op::groups) * in, top = static_cast<int>(p) / y[2] * Op::stride - Op::pad,
              left = static_cast<int>(p) % y[2] * Op::stride - Op::pad;
    for (int i = 0; i < in; ++i) {
      for (int ky = 0; ky < k; ++ky) {
        for (int kx = 0; kx < k; ++kx) {
          int const ty = top + ky * Op::dilation, tx = left + kx * Op::dilation;
          if (ty < 0 || tx < 0 || ty >= H || tx >= W) continue;
          visit((long{first + i} * H + ty) * W + tx, ((long{o} * in + i) * k + ky) * k + kx);
        }
      }
    }
  });
}

}  // namespace

TEST_CASE("products of any extents") {
  product<1, 5, 3>();
  product<1, 64, 70>();
  product<2, 1, 1>();
  product<17, 131, 33>();
  product<33, 100, 16>();
  product<40, 40000, 2>();  // samples do not all fit into the workspace
}

TEST_CASE("convolutions with borders, strides and groups, and images larger than the workspace") {
  convolution<2, 3, 9, 7, op::Convolve<5, 3, 1, 1>>();
  convolution<1, 1, 12, 12, op::Convolve<20, 5, 1, 2>>();
  convolution<2, 4, 11, 11, op::Convolve<6, 3, 2, 0>>();
  convolution<1, 6, 8, 8, op::Convolve<34, 3, 2, 1, 2>>();
  convolution<1, 5, 4, 4, op::Convolve<7, 1>>();
  convolution<2, 3, 13, 21, op::Convolve<6, 3, 1, 2, 1, op::Start::He, 2>>();
  convolution<1, 8, 9, 9, op::Convolve<8, 3, 2, 3, 8, op::Start::He, 3>>();
  convolution<2, 3, 50, 9000, op::Convolve<2, 3, 2, 1>>();
}

TEST_CASE("numbers become bytes; what is not finite stays so") {
  host::Bytes8 const by(2.0f);
  CHECK(by.of(2.0f) == 127);
  CHECK(by.of(-2.0f) == -127);
  CHECK(by.of(0.0f) == 0);
  CHECK(host::Bytes8(0).scale == 0);
  float const nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (int at : {0, 3, 20, 40}) {
    for (float bad : {nan, inf, -inf}) {
      std::vector<float> x(41, 1.0f);
      x[static_cast<std::size_t>(at)] = bad;
      host::with_integers([&]<class S>(S) { CHECK(std::isnan(host::Bytes8(S::largest(x.data(), 41)).scale)); });
      CHECK(std::isnan(host::Bytes8(host::largest(x.data(), 41)).scale));
    }
  }
}
