// backend/gpu/kernels/pack.cpp - what streams through a kernel in packs: any length, from any place, the bits of one by one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/move.hpp>
#include <cleave/backend/gpu/kernels/update.hpp>
#include <cleave/optim/adaptive.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;
using namespace cleave::backend;

namespace {

constexpr long lengths[] = {1, 2, 3, 5, 8, 17, 1031};

/// Of what is drawn here nothing is rounded, in whatever order it is made.
struct Exact : optim::Optimizer<Exact, 2> {
  template <class P, class A> CLEAVE_HD static void step(A& w, A g, A& m0, A& m1, optim::Now<A> const& now) {
    m0 = m0 / 2 + g;
    m1 += g / 4;
    w -= now.rate * m0 + m1;
  }
};

/// n values that begin `at` elements behind a boundary of 16 bytes, with others around them.
template <class T> struct Line {
  Many<T> all;
  long first;
  Line(long n, int at, int seed) : all(static_cast<std::size_t>(n + 40), T(-7)) {
    auto const lies = reinterpret_cast<std::uintptr_t>(all.data()) / sizeof(T);
    constexpr long w = static_cast<long>(16 / sizeof(T));
    first = (w - static_cast<long>(lies) % w) % w + w + at;
    for (long i = 0; i < n; ++i) (*this)[i] = T(static_cast<float>((i * 37 + seed * 11) % 64 - 32) / 8);
  }
  T* data() { return all.data() + first; }
  T& operator[](long i) { return all[static_cast<std::size_t>(first + i)]; }
  /// Nothing around it was touched.
  bool whole(long n) const {
    for (long i = 0; i < static_cast<long>(all.size()); ++i) {
      if ((i < first || i >= first + n) && static_cast<float>(all[static_cast<std::size_t>(i)]) != -7) return false;
    }
    return true;
  }
};

template <class K> void run(typename K::Args const& args) {
  static Machine m;
  gpu::stream<K>(gpu::Queue<Machine>{&m, m.stream(), nullptr}, args);
  m.finish();
}

template <class T, class G> void updates() {
  using A = tensor::accumulate_t<T>;
  using K = gpu::Update<Exact, T, G>;
  Many<gpu::Control<A>> control(1);
  control[0].now.rate = A(0.5);
  for (long n : lengths) {
    for (int at = 0; at < 4; ++at) {
      for (int parts : {1, 3}) {
        long const apart = n + at;  // the second moment lies anywhere
        Line<A> w(n, at, 1), wanted(n, 0, 1), moments(apart + n, at, 2), kept(apart + n, 0, 2);
        Line<T> copy(n, at, 3);
        std::vector<Line<G>> from;
        for (int p = 0; p < parts; ++p) from.emplace_back(n, (at + p / 2) % 4, 4 + p);
        typename K::Args args{
            w.data(),   sizeof(T) < sizeof(A) ? copy.data() : nullptr, moments.data(), apart, n, control.data(),
            {parts, {}}};
        for (int p = 0; p < parts; ++p) args.gradient.from[p] = from[static_cast<std::size_t>(p)].data();
        run<K>(args);
        bool same = w.whole(n) && moments.whole(apart + n) && copy.whole(n);
        for (int p = 0; p < parts; ++p) {
          for (long i = op::part_begin(n, p, parts); i < op::part_begin(n, p + 1, parts); ++i) {
            Exact::step<Exact, A>(wanted[i], static_cast<A>(from[static_cast<std::size_t>(p)][i]), kept[i],
                                  kept[apart + i], control[0].now);
            same = same && w[i] == wanted[i] && moments[i] == kept[i] && moments[apart + i] == kept[apart + i];
            if (sizeof(T) < sizeof(A))
              same = same && static_cast<A>(copy[i]) == static_cast<A>(static_cast<T>(wanted[i]));
          }
        }
        CHECK(same);
      }
    }
  }
}

}  // namespace

TEST_CASE("the optimizer's step: gradients in one part and in several, in either format") {
  updates<float, float>();
  updates<bf16, bf16>();
  updates<bf16, float>();
  updates<double, double>();
}
TEST_CASE("a step has the same bits in a pack and alone: how many ranks there are decides which") {
  using K = gpu::Update<AdamW, float, float>;
  constexpr long n = 1031;
  Many<gpu::Control<float>> control(1);
  control[0].now = optim::now<AdamW, float>(0.013, 2);
  std::vector<float> first;
  for (int at = 0; at < 4; ++at) {
    Line<float> w(n, at, 1), moments(2 * n, at, 2), g(n, at, 3);
    for (long i = 0; i < 2 * n; ++i) moments[i] = std::fabs(moments[i]) / 3;
    for (long i = 0; i < n; ++i) g[i] /= 7;
    run<K>({w.data(), nullptr, moments.data(), n, n, control.data(), {1, {g.data()}}});
    std::vector<float> const got(w.data(), w.data() + n);
    if (at == 0) first = got;
    CHECK(got == first);
  }
}
TEST_CASE("copies between formats, sums and values added, from places that do not match") {
  for (long n : lengths) {
    for (int at = 0; at < 8; ++at) {
      int const other = at / 2;
      Line<float> x(n, other, 1), sum(n, at % 4, 2), sum0(n, at % 4, 2);
      Line<bf16> narrow(n, at, 3), value(n, other, 4), value0(n, other, 4);
      run<gpu::Copy<bf16, float>>({narrow.data(), x.data(), n});
      run<gpu::AddTo<bf16, true>>({sum.data(), x.data(), n});
      run<gpu::AddValues<bf16>>({value.data(), narrow.data(), n});
      bool same = narrow.whole(n) && sum.whole(n) && value.whole(n);
      for (long i = 0; i < n; ++i) {
        same = same && static_cast<float>(narrow[i]) == static_cast<float>(static_cast<bf16>(x[i])) &&
               sum[i] == static_cast<float>(static_cast<bf16>(sum0[i] + x[i])) &&
               static_cast<float>(value[i]) ==
                   static_cast<float>(static_cast<bf16>(static_cast<float>(value0[i]) + static_cast<float>(narrow[i])));
      }
      CHECK(same);
    }
  }
}
/// A kernel of complete trees has the bits of the one of any tree.
template <class T, class Wire, bool Rounded, int Leaves> bool complete_tree(long n, int at) {
  std::vector<Line<Wire>> leaf;
  for (int l = 0; l < Leaves; ++l) leaf.emplace_back(n, (at + l) % 4, l + 1);
  Line<Wire> any(n, at, 9), to(n, at, 10);
  typename gpu::SumLeaves<T, Wire, Rounded>::Args all{any.data(), n, Leaves, {}, {}};
  typename gpu::SumLeaves<T, Wire, Rounded, Leaves>::Args args{to.data(), n, Leaves, {}, {}};
  for (int l = 0; l < Leaves; ++l) {
    all.from[l] = args.from[l] = leaf[static_cast<std::size_t>(l)].data();
    for (int left = l + 1; left % 2 == 0; left /= 2) ++all.merges[l];
  }
  CHECK(gpu::is_complete(Leaves, all.merges));
  run<gpu::SumLeaves<T, Wire, Rounded>>(all);
  run<gpu::SumLeaves<T, Wire, Rounded, Leaves>>(args);
  bool same = any.whole(n) && to.whole(n);
  for (long i = 0; i < n; ++i) same = same && static_cast<float>(any[i]) == static_cast<float>(to[i]);
  return same;
}
TEST_CASE("complete trees of 2, 4 and 8 leaves") {
  for (long n : lengths) {
    for (int at = 0; at < 4; ++at) {
      CHECK(complete_tree<float, float, false, 2>(n, at));
      CHECK(complete_tree<bf16, float, true, 4>(n, at));
      CHECK(complete_tree<bf16, bf16, true, 8>(n, at));
    }
  }
  signed char const other[] = {0, 1, 1, 1};
  CHECK(!gpu::is_complete(4, other));
}
TEST_CASE("leaves in the order of a tree, and what a route brings") {
  for (long n : lengths) {
    for (int at = 0; at < 4; ++at) {
      Line<float> a(n, at, 1), b(n, at, 2), d(n, (at + 1) % 4, 3), to(n, at, 4), sum(n, at, 5), sum0(n, at, 5);
      Line<bf16> wire(n, 2 * at, 6), from(n, at, 7);
      run<gpu::SumLeaves<float, float, false>>({to.data(), n, 3, {a.data(), b.data(), d.data()}, {0, 1, 1}});
      run<gpu::Take<bf16, bf16, false>>({sum.data(), wire.data(), from.data(), n});
      bool same = to.whole(n) && sum.whole(n) && wire.whole(n);
      for (long i = 0; i < n; ++i) {
        float const v = sum0[i] + static_cast<float>(from[i]);
        same = same && to[i] == (a[i] + b[i]) + d[i] && sum[i] == v &&
               static_cast<float>(wire[i]) == static_cast<float>(static_cast<bf16>(v));
      }
      CHECK(same);
    }
  }
}
