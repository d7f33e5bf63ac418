// backend/gpu/kernels/clip.cpp - squares piece by piece, wherever the parts of a gradient lie; the scale; a step of what is clipped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/clip.hpp>
#include <cleave/optim/adaptive.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

struct ClippedAdam : Adam {
  static constexpr float clip_norm = 2;
};
template <class G> Many<G> gradient_of(long n) {
  tensor::Random const random{11, tensor::Purpose::Augment, 5};
  Many<G> g(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < g.size(); ++i) {
    g[i] = static_cast<G>(static_cast<tensor::accumulate_t<G>>(random.uniform(i) - 0.5f));
  }
  return g;
}
/// Every part at its place in a tensor of its own; what is beside it is no number.
template <class G> backend::gpu::Sources<G> in_parts(Many<G> const& whole, int parts, std::vector<Many<G>>& store) {
  backend::gpu::Sources<G> s{parts, {}};
  auto const n = static_cast<long>(whole.size());
  for (int p = 0; p < parts; ++p) {
    G const none = static_cast<G>(std::numeric_limits<tensor::accumulate_t<G>>::quiet_NaN());
    Many<G> part(whole.size(), none);
    for (long i = op::part_begin(n, p, parts); i < op::part_begin(n, p + 1, parts); ++i) {
      part[static_cast<std::size_t>(i)] = whole[static_cast<std::size_t>(i)];
    }
    store.push_back(std::move(part));
  }
  for (int p = 0; p < parts; ++p) s.from[p] = store[store.size() - static_cast<std::size_t>(parts - p)].data();
  return s;
}
template <class G> void squares_of(long of, long first, long n) {
  INFO(n << " from " << first << " of " << of);
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  Many<G> const g = gradient_of<G>(of);
  int const pieces = backend::gpu::blocks_for(n, schedule::norm_piece);
  Many<double> one;
  for (int parts : {1, 2, 3, 7}) {
    std::vector<Many<G>> store;
    Many<double> got(static_cast<std::size_t>(pieces) + 1, -1.0);
    q.launch<backend::gpu::Squares<G>>(pieces, {got.data(), first, n, of, in_parts(g, parts, store)});
    m.finish();
    if (parts == 1) one = got;
    CHECK(got == one);
  }
  CHECK(one.back() == -1);
  for (int p = 0; p < pieces; ++p) {
    double sum = 0;
    for (long i = p * schedule::norm_piece; i < n && i < (p + 1) * schedule::norm_piece; ++i) {
      double const v =
          static_cast<double>(static_cast<tensor::accumulate_t<G>>(g[static_cast<std::size_t>(first + i)]));
      sum += v * v;
    }
    CHECK(one[static_cast<std::size_t>(p)] == doctest::Approx(sum).epsilon(1e-13));
  }
}

}  // namespace

TEST_CASE("squares have the same bits however many parts a gradient is in") {
  squares_of<float>(1, 0, 1);
  squares_of<float>(300, 17, 200);
  squares_of<float>(10000, 1234, 8766);
  squares_of<double>(9000, 0, 4096);
  squares_of<bf16>(9000, 100, 4097);
}
TEST_CASE("the scale is of the sums of all ways") {
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  Many<double> const squares = {9, 7, 0.5};
  Many<float> scale(2, -1.0f);
  using K = backend::gpu::GradientScale<ClippedAdam, float>;
  q.launch<K>(1, {scale.data(), nullptr, 2, {squares.data(), squares.data() + 1}});
  q.launch<K>(1, {scale.data() + 1, nullptr, 1, {squares.data() + 2}});
  m.finish();
  CHECK(scale[0] == static_cast<float>(2 / (4 + 1e-6)));
  CHECK(scale[1] == 1);
}
TEST_CASE("of a scaled loss the factor is divided out, and follows in its state") {
  using Scaling = optim::Unscaling<Adam, LossScale<8, 3>>;
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  Many<double> const squares = {9, std::numeric_limits<double>::infinity()};
  Many<float> scale(2, -1.0f), state = {0, 3};
  using K = backend::gpu::GradientScale<Scaling, float>;
  q.launch<K>(1, {scale.data(), state.data(), 1, {squares.data()}});
  m.finish();
  CHECK(scale[0] == 1.0f / 8);
  CHECK(state == Many<float>{1, 1});
  q.launch<K>(1, {scale.data() + 1, state.data(), 2, {squares.data(), squares.data() + 1}});
  m.finish();
  CHECK(scale[1] == 0);
  CHECK(state == Many<float>{0, 1});
}
TEST_CASE("a step of what is clipped is a step of the gradient times the scale") {
  constexpr long n = 700;
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  Many<float> const g = gradient_of<float>(n);
  Many<float> small = g, scale = {0.25f}, w(n, 1.0f), v = w, moments(2 * n), others = moments;
  for (float& s : small) s *= 0.25f;
  Many<backend::gpu::Control<float>> control(1);
  control[0].now = optim::now<ClippedAdam, float>(0.1, 0);
  using From = backend::gpu::Scaled<float, float>;
  std::vector<Many<float>> store;
  q.launch<backend::gpu::Update<ClippedAdam, float, float, From>>(
      3, {w.data(), nullptr, moments.data(), n, n, control.data(), From{in_parts(g, 3, store), scale.data()}});
  q.launch<backend::gpu::Update<ClippedAdam, float, float>>(
      3, {v.data(), nullptr, others.data(), n, n, control.data(), in_parts(small, 1, store)});
  m.finish();
  CHECK(w == v);
  CHECK(moments == others);
}
