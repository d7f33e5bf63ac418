// backend/gpu/slices.cpp - what a rank has of a batch by one kernel: the bits of one slice after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/convolve.hpp>
#include <cleave/backend/gpu/kernels/lookup.hpp>
#include <cleave/backend/gpu/kernels/move.hpp>
#include <cleave/backend/gpu/kernels/norms.hpp>
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/layer/activation.hpp>
#include <cleave/op/dropout.hpp>
#include <cleave/op/join.hpp>
#include <cleave/op/pool.hpp>
#include <cleave/op/response_norm.hpp>
#include <cleave/schedule/slices.hpp>

#include "compare.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;

namespace {

template <class N> bool equal_bits(N const* a, N const* b, long count) {
  return count == 0 || std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(N)) == 0;
}

template <class E> bool same(Many<E> const& a, Many<E> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(E)) == 0);
}

/// `Slices` of them, of One.rows samples each.
constexpr op::Local whole(op::Local one, int slices) {
  one.rows = one.batch = one.rows * slices;
  return one;
}

/// The levels of a tree of sums, one after the other.
template <class A> struct Levels {
  static constexpr int most = 8;
  long n0, n1, ns;
  using S = tensor::batch_sum_t<A>;
  Many<A> of = Many<A>(static_cast<std::size_t>(most * (n0 + n1)), A{7});
  Many<S> sums = Many<S>(static_cast<std::size_t>(most * ns), S{7});
  A* dw0(int p) { return of.data() + p * n0; }
  A* dw1(int p) { return of.data() + most * n0 + p * n1; }
  S* stats(int p) { return sums.data() + p * ns; }
};

template <class Op, op::Local L, class T> struct Both {
  using A = tensor::accumulate_t<T>;
  using K = gpu::Kernel<Op>;
  static constexpr int slices = L.batch / L.rows;
  Tensors<Op, whole(L, slices), T> at_once, by_one;
  Machine machine;
  struct Little : gpu::Queue<Machine> {
    static constexpr long workspace_bytes = 1 << 20;  // so that some parts do not fit
  };
  Little q{{&machine, machine.stream(), machine.allocate(Little::workspace_bytes)}};
  Many<A> losses0 = Many<A>(slices, A{7}), losses1 = losses0;

  op::Operands<T> operands(Tensors<Op, whole(L, slices), T>& of, Many<A>& losses) {
    op::Operands<T> t = of.operands();
    if (Op::is_loss) t.loss = losses.data();
    t.where.layer = 3;
    t.where.sample = 40;
    return t;
  }
  Both() {
    for (auto* of : {&at_once, &by_one}) {
      for (std::size_t i = 0; Op::tokens > 0 && i < of->x.size(); ++i)
        of->x[i] = static_cast<T>(static_cast<float>(i * 7 % 13) - 1);
      for (auto* v : {&of->x, &of->dy}) {
        for (std::size_t i = 0; tensor::scaled<T> && i < v->size(); ++i)  // no slice is like the one before
          (*v)[i] = T(std::ldexp(static_cast<float>((*v)[i]), static_cast<int>(i / (v->size() / slices)) * 3));
      }
    }
  }
  template <class Put> void put(Put f) {
    op::Operands<T> t = operands(at_once, losses0);
    t.slices = slices;
    f(t);
    t = operands(by_one, losses1);
    for (int i = 0; i < slices; ++i) f(op::slice_of<L>(t, i, Op::aux(L.x, L.y)));
    machine.finish();
    CHECK(same(at_once.y, by_one.y));
    CHECK(same(at_once.aux, by_one.aux));
    CHECK(same(at_once.dx, by_one.dx));
    CHECK(same(at_once.dx2, by_one.dx2));
    CHECK(same(at_once.state0, by_one.state0));
    CHECK(same(at_once.state1, by_one.state1));
    CHECK(same(losses0, losses1));
  }
  /// The sums of micro-batches [begin, begin + slices) of `all`, merged by one kernel, or by many.
  void sums(int begin, int all, bool ordered, bool rounded) {
    Levels<A> a{L.w0.size(), L.w1.size(), 2 * L.x[0]}, b = a;
    op::Operands<T> t = operands(at_once, losses0);
    gpu::Summing<T> many{
        t, {{a.dw0(0), a.dw0(2), a.n0, a.n0, 2}, {a.dw1(0), a.dw1(1), 0, a.n1}, {a.stats(0), a.stats(1), 0, a.ns}}};
    many.to.rounded = rounded;
    many.slices = slices;
    schedule::TreeSum tree{all};
    auto const merge = [&]<class E>(E* to, E* from, long n, bool round) {
      if (n == 0 || (!from && !round)) return;
      using Format = std::conditional_t<std::is_same_v<E, A>, T, E>;
      round ? q.template launch<gpu::AddTo<Format, true>>(1, {to, from, n})
            : q.template launch<gpu::AddTo<Format, false>>(1, {to, from, n});
    };
    for (int i = 0; i < slices; ++i) {
      int const p = ordered ? tree.depth : i > 0;
      op::Operands<T> one = op::slice_of<L>(t, i, Op::aux(L.x, L.y));
      one.dw0 = b.dw0(p), one.dw1 = b.dw1(p);
      (Op::sums_batch ? one.stats : one.dstats) = b.stats(p);
      if constexpr (Op::sums_batch) {
        K::template forward<L, false, void, T>(q, one);
      } else {
        K::template backward_weight<L, T>(q, one);
      }
      int merges = 0;
      auto const join = [&](int to, int from) {
        merges += from >= 0;
        merge(b.dw0(to), from < 0 ? static_cast<A*>(nullptr) : b.dw0(from), b.n0, rounded);
        merge(b.dw1(to), from < 0 ? static_cast<A*>(nullptr) : b.dw1(from), b.n1, rounded);
        if (from >= 0) merge(b.stats(to), b.stats(from), b.ns, false);
      };
      if (rounded) join(p, -1);
      if (ordered) {
        tree.push({begin + i, 1}, join);
      } else if (i > 0) {
        join(0, 1);
      }
      REQUIRE(many.to.push(merges));
    }
    K::template sum<L, T>(q, many);
    machine.finish();
    for (int p = 0; p < (ordered ? tree.depth : 1); ++p) {  // what lies above is of no use any more
      CHECK(equal_bits(a.dw0(p), b.dw0(p), a.n0));
      CHECK(equal_bits(a.dw1(p), b.dw1(p), a.n1));
      if (Op::sums_batch || std::is_same_v<Op, op::Normalise>) CHECK(equal_bits(a.stats(p), b.stats(p), a.ns));
    }
  }
};

template <class Op, op::Local L, class T, bool WithBias, class Map> void bits() {
  using K = gpu::Kernel<Op>;
  static_assert(K::takes_slices);
  Both<Op, L, T> both;
  if constexpr (!Op::sums_batch) {
    both.put([&](op::Operands<T> const& t) { K::template forward<L, WithBias, Map, T>(both.q, t); });
  }
  both.put([&](op::Operands<T> const& t) { K::template backward_input<L, T>(both.q, t); });
  if constexpr (Op::weights > 0 || Op::sums_batch) {
    static_assert(K::sums_slices);
    both.sums(1, both.slices + 2, true, sizeof(T) == 2);
    both.sums(0, both.slices, true, false);
    both.sums(0, both.slices, false, false);
  }
}
template <class Op, op::Local L, bool WithBias = false, class Map = void> void as_one_by_one() {
  bits<Op, L, float, WithBias, Map>();
  bits<Op, L, bf16, WithBias, Map>();
}
/// Products in fp8 as well: each slice has scales of its own.
template <class Op, op::Local L, bool WithBias = false, class Map = void> void products_as_one_by_one() {
  as_one_by_one<Op, L, WithBias, Map>();
  bits<Op, L, fp8, WithBias, Map>();
}
template <class Op> constexpr op::Local some(int rows, int slices, Shape x, Shape x2 = {}) {
  op::Local l = local<Op>(rows, x, x2);
  l.batch = rows * slices;
  return l;
}
struct Constants {
  static constexpr double k = 2, alpha = 1e-2, beta = 0.75;
};

}  // namespace

TEST_CASE("products: a few rows of each slice; in parts; a slice that fills tiles") {
  products_as_one_by_one<op::Product<37>, some<op::Product<37>>(3, 7, Shape(21)), true, layer::ReluFunction>();
  products_as_one_by_one<op::Product<10>, some<op::Product<10>>(2, 5, Shape(1000)), true>();
  products_as_one_by_one<op::Product<72>, some<op::Product<72>>(130, 2, Shape(40))>();
}
TEST_CASE("by warpgroups: slices one after the other, together, in parts; pieces of images") {
  products_as_one_by_one<op::Product<72>, some<op::Product<72>>(72, 5, Shape(136)), true>();
  using Long = op::Product<64>;
  constexpr op::Local l = some<Long>(256, 3, Shape(64));
  using Case = gpu::ProductWeight<l, bf16>;
  static_assert(gpu::by_groups<Case>() && gpu::group_splits<Case, float>(gpu::group_tile<Case>(), 1 << 20) > 1);
  products_as_one_by_one<Long, l>();
  constexpr op::Local images = some<op::Convolve<64, 3, 1, 1>>(1, 3, Shape(64, 8, 8));
  static_assert(gpu::by_groups<gpu::ConvolveWeight<images, 3, 1, 1, 1, bf16>>());
  products_as_one_by_one<op::Convolve<64, 3, 1, 1>, images, true>();
}
TEST_CASE("parts of sums that do not all fit the workspace at once") {
  using Op = op::Product<230>;
  constexpr op::Local l = some<Op>(128, 5, Shape(230));
  using Case = gpu::ProductWeight<l, float>;
  static_assert(gpu::small<Case, gpu::Plain, float>(1 << 20) && gpu::room<Case, float>(1 << 20) < 5);
  Both<Op, l, float>().sums(1, 7, true, false);
  constexpr op::Local longer = some<Op>(256, 5, Shape(230));  // slices past the first few look for their own maxima
  using Narrow = gpu::ProductWeight<longer, fp8>;
  static_assert(gpu::small<Narrow, gpu::Bf16Tile, float>(1 << 20) && gpu::room<Narrow, float>(1 << 20) < 5);
  Both<Op, longer, fp8>().sums(1, 7, true, true);
}
TEST_CASE("convolutions") {
  products_as_one_by_one<op::Convolve<8, 3, 2, 1, 2>, some<op::Convolve<8, 3, 2, 1, 2>>(1, 5, Shape(4, 9, 7)), true,
                         layer::ReluFunction>();
  products_as_one_by_one<op::Convolve<4, 3, 1, 1>, some<op::Convolve<4, 3, 1, 1>>(2, 4, Shape(3, 12, 12))>();
  using Gaps = op::Convolve<8, 3, 2, 3, 2, op::Start::He, 2>;
  products_as_one_by_one<Gaps, some<Gaps>(1, 5, Shape(4, 9, 7)), true, layer::ReluFunction>();
  bits<op::Convolve<4, 3>, some<op::Convolve<4, 3>>(2, 4, Shape(3, 7, 7)), tf32, false, void>();
}
TEST_CASE("sums over the batch: neighbours, terms, in parts") {
  as_one_by_one<op::Bias, some<op::Bias>(3, 5, Shape(45))>();
  as_one_by_one<op::Bias, some<op::Bias>(301, 2, Shape(45))>();
  as_one_by_one<op::Bias, some<op::Bias>(5, 3, Shape(3, 50, 41))>();
  as_one_by_one<op::BatchSums, some<op::BatchSums>(2, 6, Shape(5, 3, 3))>();
  as_one_by_one<op::Normalise, some<op::Normalise>(2, 6, Shape(5, 3, 3))>();
  as_one_by_one<op::LayerNorm, some<op::LayerNorm>(3, 5, Shape(33))>();
  as_one_by_one<op::LayerNorm, some<op::LayerNorm>(1, 3, Shape(1100))>();
  as_one_by_one<op::NormaliseGroups<2>, some<op::NormaliseGroups<2>>(3, 5, Shape(4, 3, 3))>();
  as_one_by_one<op::NormaliseGroups<3>, some<op::NormaliseGroups<3>>(3, 5, Shape(6))>();
  as_one_by_one<op::Lookup<11, 6, true>, some<op::Lookup<11, 6, true>>(3, 5, Shape(4))>();
  as_one_by_one<op::Lookup<11, 77, true>, some<op::Lookup<11, 77, true>>(3, 5, Shape(4))>();
  as_one_by_one<op::Lookup<11, 530, true>, some<op::Lookup<11, 530, true>>(1, 3, Shape(4))>();
}
TEST_CASE("losses: a block a slice, and many rows") {
  as_one_by_one<op::SoftmaxCrossEntropy, some<op::SoftmaxCrossEntropy>(3, 5, Shape(10))>();
  as_one_by_one<op::SoftmaxCrossEntropy, some<op::SoftmaxCrossEntropy>(131, 3, Shape(10))>();
  as_one_by_one<op::SoftmaxCrossEntropy, some<op::SoftmaxCrossEntropy>(2, 3, Shape(1500))>();
  as_one_by_one<op::SquaredError, some<op::SquaredError>(3, 4, Shape(13))>();
  as_one_by_one<op::SquaredError, some<op::SquaredError>(131, 2, Shape(5))>();
}
TEST_CASE("what runs by its definition") {
  as_one_by_one<op::Map<layer::GeluFunction>, some<op::Map<layer::GeluFunction>>(3, 5, Shape(77))>();
  as_one_by_one<op::Drop<30>, some<op::Drop<30>>(3, 5, Shape(77))>();
  as_one_by_one<op::MaxWindow<3, 2, 1>, some<op::MaxWindow<3, 2, 1>>(2, 3, Shape(3, 9, 7))>();
  as_one_by_one<op::ChannelMean, some<op::ChannelMean>(2, 3, Shape(3, 4, 5))>();
  as_one_by_one<op::MeanWindow<2>, some<op::MeanWindow<2>>(2, 3, Shape(3, 8, 6)), false, layer::ReluFunction>();
  as_one_by_one<op::ResponseNorm<5, Constants>, some<op::ResponseNorm<5, Constants>>(2, 3, Shape(7, 3, 3))>();
  as_one_by_one<op::Add, some<op::Add>(3, 4, Shape(17), Shape(17))>();
  as_one_by_one<op::Multiply, some<op::Multiply>(3, 4, Shape(4, 3, 3), Shape(4, 1, 1))>();
  as_one_by_one<op::Concatenate, some<op::Concatenate>(3, 4, Shape(2, 3, 3), Shape(4, 3, 3))>();
}
