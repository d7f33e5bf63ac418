// backend/gpu/compare.hpp - an operation's kernels, emulated or (compiled as CUDA) on a device, against its definition in f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <cleave/backend/gpu/kernels/kernel.hpp>
#include <cleave/tensor/factor.hpp>
#include <cleave/tensor/philox.hpp>
#ifdef __CUDACC__
#include <cleave/backend/cuda/machine.hpp>
#else
#include <cleave/backend/emulate/machine.hpp>
#endif

namespace cleave::testing {

#ifdef __CUDACC__
using Machine = backend::cuda::Machine;
/// Memory of the host that a device reads and writes: both may at any time, where managed memory moves between them.
template <class E> struct Shared {
  using value_type = E;
  Shared() = default;
  template <class F> Shared(Shared<F> const&) {}
  E* allocate(std::size_t n) {
    void* p = nullptr;
    backend::cuda::check(cudaMallocHost(&p, n * sizeof(E)), "pin memory");
    return static_cast<E*>(p);
  }
  void deallocate(E* p, std::size_t) { cudaFreeHost(p); }
  friend bool operator==(Shared, Shared) { return true; }
};
template <class E> using Many = std::vector<E, Shared<E>>;
#else
using Machine = backend::emulate::Machine;
template <class E> using Many = std::vector<E>;
#endif

struct Plainly {
  template <class F> CLEAVE_HD void each([[maybe_unused]] long n, [[maybe_unused]] F const& f) const {
#ifndef __CUDA_ARCH__
    for (long i = 0; i < n; ++i) f(i);
#endif
  }
};

/// All that an operation may read or write, in one number format; outputs are poisoned.
template <class Op, op::Local L, class T> struct Tensors {
  using A = tensor::accumulate_t<T>;
  static constexpr long rows = L.rows;
  Many<T> x, x2, w0, w1, bias, y, dy, dx, dx2;
  using S = tensor::batch_sum_t<T>;
  Many<A> aux, state0, state1, dw0, dw1;
  Many<S> stats, dstats;
  Many<int> labels;
  Many<float> sample_weights;  // beside each label of a sample the same
  Many<std::int32_t> tokens;   // also such that are of no vocabulary
  Many<A> loss = {std::numeric_limits<A>::quiet_NaN()};
  Many<op::Pass> pass = {{3, 5, true}};

  template <class E> static void fill(Many<E>& v, long n, std::uint32_t which, double low = -1) {
    tensor::Random const random{11, tensor::Purpose::Augment, which};
    v.resize(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i) {  // in bf16, so that every format starts from the same numbers
      double const u = static_cast<double>(random.uniform(i)) * (1 - low) + low;
      v[i] = static_cast<E>(static_cast<float>(static_cast<bf16>(static_cast<float>(u))));
    }
  }
  template <class E> static void poison(Many<E>& v, long n) {
    v.resize(static_cast<std::size_t>(n));
    if (n > 0) std::memset(static_cast<void*>(v.data()), 0xff, v.size() * sizeof(E));
  }
  Tensors() {
    fill(x, rows * L.x.size(), 1);
    fill(x2, rows * L.x2.size(), 2);
    fill(w0, L.w0.size(), 3);
    fill(w1, L.w1.size(), 4);
    fill(bias, L.y.dims > 0 ? L.y[0] : 0, 5);
    fill(dy, rows * L.y.size(), 6);
    fill(stats, 2 * L.x[0], 7, 0.5);
    fill(state0, L.x[0], 8);
    fill(state1, L.x[0], 9, 0.25);
    fill(dstats, 2 * L.x[0], 10);
    for (std::size_t i = stats.size() / 2; i < stats.size(); ++i)
      stats[i] = S{1e3} + stats[i];  // squares: more than mean^2
    poison(y, rows * L.y.size());
    poison(dx, rows * L.x.size());
    poison(dx2, rows * L.x2.size());
    poison(aux, rows * Op::aux(L.x, L.y) + 1);
    poison(dw0, L.w0.size());
    poison(dw1, L.w1.size());
    for (long i = 0; i < rows * L.x.size(); ++i) tokens.push_back(static_cast<std::int32_t>(i * 7 % 13) - 1);
    for (long b = 0; b < rows * L.labels; ++b) labels.push_back(static_cast<int>(b * 7 % (L.x.size() / L.labels)));
    for (long b = 0; b < rows * L.labels; ++b) sample_weights.push_back(static_cast<float>(b / L.labels % 5) / 4);
  }
  op::Operands<T> operands() {
    op::Operands<T> t;
    t.x = x.data(), t.tokens = tokens.data(), t.x2 = x2.data(), t.w0 = w0.data(), t.w1 = w1.data(),
    t.bias = bias.data();
    t.y = y.data(), t.dy = dy.data(), t.dx = dx.data(), t.dx2 = dx2.data();
    t.aux = aux.data(), t.state0 = state0.data(), t.state1 = state1.data();
    t.stats = stats.data(), t.dstats = dstats.data(), t.dw0 = dw0.data(), t.dw1 = dw1.data();
    t.labels = labels.data(), t.sample_weights = sample_weights.data(), t.loss = loss.data(), t.scale = A{1} / A(rows),
    t.pass = pass.data();
    t.where.features = L.y.size();
    return t;
  }
};

/// What is undefined by one must be undefined by both; the rest agrees to `tolerance` of the largest.
template <class E, class D> void agree(char const* what, Many<E> const& got, Many<D> const& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  auto const of = [](auto v) { return static_cast<double>(static_cast<tensor::accumulate_t<decltype(v)>>(v)); };
  double most = 0, far = 0;
  std::size_t at = 0;
  for (D v : wanted) most = std::isnan(of(v)) ? most : std::max(most, std::fabs(of(v)));
  for (std::size_t i = 0; i < got.size(); ++i) {
    double const a = of(got[i]), b = of(wanted[i]);
    double const gap = std::isnan(a) && std::isnan(b) ? 0 : std::isnan(a - b) ? 1e300 : std::fabs(a - b);
    if (gap > far) far = gap, at = i;
  }
  INFO(what << " at " << at << " of " << got.size());
  CHECK(far <= tolerance * most);
}

/// What fp8 multiplies, for an oracle in f64.
template <class Op, op::Local L> void rounded(Tensors<Op, L, double>& oracle, Tensors<Op, L, fp8> const& from) {
  auto const all = [](auto const& f, Many<double>& to, Many<fp8> const& v) {
    for (std::size_t i = 0; i < v.size(); ++i) to[i] = static_cast<double>(f(v[i]));
  };
  using tensor::Factor, tensor::Role;
  constexpr bool of_adjoint = [] {  // whose gradient x is
    if constexpr (requires { Op::windows; }) return Op::windows.transposed;
    return false;
  }();
  constexpr Role of_x = of_adjoint ? Role::Gradient : Role::Value, of_dy = of_adjoint ? Role::Value : Role::Gradient;
  all(Factor<fp8, of_x>::of(from.x.data(), static_cast<long>(from.x.size())), oracle.x, from.x);
  all(Factor<fp8>::of(from.w0.data(), static_cast<long>(from.w0.size())), oracle.w0, from.w0);
  all(Factor<fp8, of_dy>::of(from.dy.data(), static_cast<long>(from.dy.size())), oracle.dy, from.dy);
}

/// Forward, backward_input and backward_weight of Op's kernels, with or without what may be merged into it.
template <class Op, op::Local L, class T, bool WithBias = false, class Map = void> void compare(double tolerance) {
  using A = tensor::accumulate_t<T>;
  Tensors<Op, L, double> oracle;
  Tensors<Op, L, T> tried;
  if constexpr (tensor::scaled<T>) rounded(oracle, tried);
  auto o = oracle.operands();
  auto t = tried.operands();
  Machine machine;
  backend::gpu::Queue<Machine> const q{&machine, machine.stream(), machine.allocate(backend::gpu::workspace_bytes)};
  using K = backend::gpu::Kernel<Op>;

  if (!Op::is_loss) o.loss = nullptr;
  Op::template forward<L>(Plainly{}, o);
  for (long e = 0; (WithBias || !std::is_void_v<Map>)&&e < L.rows * L.y.size(); ++e) {
    double v = o.y[e] + (WithBias ? o.bias[e % L.y.size() / L.y.stride(0)] : 0.0);
    if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
    o.y[e] = v;
  }
  K::template forward<L, WithBias, Map, T>(q, t);
  machine.finish();
  agree("y", tried.y, oracle.y, tolerance);
  agree("aux", tried.aux, oracle.aux, tolerance);
  agree("stats", tried.stats, oracle.stats, tolerance);
  agree("running mean", tried.state0, oracle.state0, tolerance);
  agree("running variance", tried.state1, oracle.state1, tolerance);
  if (Op::is_loss) agree("loss", tried.loss, oracle.loss, tolerance);

  oracle = {};  // what the way back reads of the way forward comes from the oracle
  tried = {};
  if constexpr (tensor::scaled<T>) rounded(oracle, tried);
  o = oracle.operands();
  t = tried.operands();
  Op::template forward<L>(Plainly{}, o);
  for (std::size_t i = 0; i < oracle.y.size(); ++i) tried.y[i] = static_cast<T>(static_cast<A>(oracle.y[i]));
  for (std::size_t i = 0; i < oracle.aux.size(); ++i) tried.aux[i] = static_cast<A>(oracle.aux[i]);
  for (std::size_t i = 0; i < oracle.stats.size(); ++i)
    tried.stats[i] = static_cast<typename Tensors<Op, L, T>::S>(static_cast<double>(oracle.stats[i]));
  if constexpr (requires { Op::template backward_input<L>(Plainly{}, o); }) {
    Op::template backward_input<L>(Plainly{}, o);
    K::template backward_input<L, T>(q, t);
    machine.finish();
    agree("dx", tried.dx, oracle.dx, tolerance);
    agree("dx2", tried.dx2, oracle.dx2, tolerance);
  }
  if constexpr (requires { Op::template backward_weight<L>(Plainly{}, o); }) {
    Op::template backward_weight<L>(Plainly{}, o);
    K::template backward_weight<L, T>(q, t);
    machine.finish();
    agree("dw0", tried.dw0, oracle.dw0, tolerance);
    agree("dw1", tried.dw1, oracle.dw1, tolerance);
    agree("dstats", tried.dstats, oracle.dstats, tolerance);
  }
}

/// The usual formats and their tolerances.
template <class Op, op::Local L, bool WithBias = false, class Map = void> void compare_all() {
  compare<Op, L, float, WithBias, Map>(1e-5);
#ifndef __CUDACC__  // twice the code to compile for what nobody trains with
  compare<Op, L, double, WithBias, Map>(1e-13);
#endif
  compare<Op, L, bf16, WithBias, Map>(1e-2);
}

/// What multiplies, in f16 and tf32 as well, as the numbers here have no more bits than that, and in fp8, which has
/// fewer.
template <class Op, op::Local L, bool WithBias = false, class Map = void> void compare_products() {
  compare_all<Op, L, WithBias, Map>();
  compare<Op, L, f16, WithBias, Map>(2e-3);
  compare<Op, L, tf32, WithBias, Map>(1e-5);
  compare<Op, L, fp8, WithBias, Map>(1e-2);
}

/// The extents of an operation on `rows` samples.
template <class Op> constexpr op::Local local(int rows, Shape x, Shape x2 = {}) {
  op::Local l{rows, rows, x, x2, {}, {}, {}};
  l.labels = Op::labels(x);
  if constexpr (Op::inputs == 2 && requires { Op::output(x, x2); }) {
    l.y = Op::output(x, x2);
  } else {
    l.y = Op::output(x);
  }
  if (Op::weights > 0) l.w0 = Op::weight(0, x).shape;
  if (Op::weights > 1) l.w1 = Op::weight(1, x).shape;
  return l;
}

}  // namespace cleave::testing
