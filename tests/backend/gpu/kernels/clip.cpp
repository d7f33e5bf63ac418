// backend/gpu/kernels/clip.cpp - squares piece by piece, with the digits that threads find; the scale; a step of what is clipped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/clip.hpp>
#include <cleave/backend/host/gradients/exact_squares.hpp>
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
template <class G> using Digits = tensor::SquareDigits<tensor::accumulate_t<G>>;
/// The words of these squares, as threads add them.
template <class G> std::vector<double> on_threads(G const* g, long n) {
  backend::host::ExactSquares<tensor::accumulate_t<G>> sum;
  std::vector<double> words(Digits<G>::words);
  sum.add(g, n);
  sum.write(words.data());
  return words;
}
template <class G> bool same(double const* words, std::vector<double> const& wanted) {
  if (std::isnan(wanted.back())) return std::isnan(words[Digits<G>::digits]);
  return std::equal(wanted.begin(), wanted.end(), words);
}
template <class G> void squares_of(Many<G> const& g, long first, long n) {
  auto const of = static_cast<long>(g.size());
  INFO(n << " from " << first << " of " << of);
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  int const pieces = backend::gpu::blocks_for(n, schedule::norm_piece);
  for (int parts : {1, 2, 3, 7}) {
    std::vector<Many<G>> store;
    Many<double> got(static_cast<std::size_t>(pieces * Digits<G>::words) + 1, -1.0);
    q.launch<backend::gpu::Squares<G>>(pieces, {got.data(), first, n, of, in_parts(g, parts, store)});
    m.finish();
    CHECK(got.back() == -1);
    for (long p = 0; p < pieces; ++p) {
      long const begin = p * schedule::norm_piece, count = std::min(n - begin, schedule::norm_piece);
      CHECK(same<G>(got.data() + p * Digits<G>::words, on_threads(g.data() + first + begin, count)));
    }
  }
}
template <class G> void squares_of(long of, long first, long n) { squares_of(gradient_of<G>(of), first, n); }
/// Numbers of all sizes that the format has, and some of `others`.
template <class G> Many<G> of_all_sizes(long n, std::vector<G> const& others) {
  Many<G> g = gradient_of<G>(n);
  for (std::size_t i = 0; i < g.size(); ++i) {
    int const lowest = sizeof(G) == 8 ? -1073 : -148, highest = sizeof(G) == 8 ? 1023 : 127;
    g[i] = std::ldexp(g[i], lowest + static_cast<int>(i * 7919 % static_cast<std::size_t>(highest - lowest + 1)));
  }
  for (std::size_t i = 0; i < others.size(); ++i) g[i * 301 + 7] = others[i];
  return g;
}
template <class A> void sums_of(long n) {
  INFO(n);
  using Add = backend::gpu::AddDigits<A>;
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  Many<A> const g = gradient_of<A>(3 * n);
  Many<double> words, to(Add::Digits::words), rounded(1);
  for (long i = 0; i < n; ++i) {
    for (double w : on_threads(g.data() + 3 * i, 3)) words.push_back(w);
  }
  int const blocks = Add::blocks(n);
  if (blocks > 1) q.launch<Add>(blocks, {words.data(), n, nullptr, false});
  q.launch<Add>(1, {words.data(), blocks > 1 ? blocks : n, to.data(), false});
  q.launch<Add>(1, {words.data(), blocks > 1 ? blocks : n, rounded.data(), true});
  m.finish();
  auto const wanted = on_threads(g.data(), 3 * n);
  CHECK(same<A>(to.data(), wanted));
  CHECK(rounded[0] == Add::Digits::value(wanted.data()));
}

}  // namespace

TEST_CASE("squares have the digits that threads find, however many parts a gradient is in") {
  squares_of<float>(1, 0, 1);
  squares_of<float>(300, 17, 200);
  squares_of<float>(20000, 1234, 18766);
  squares_of<double>(9000, 0, 4096);
  squares_of<bf16>(9000, 100, 8193);
}
TEST_CASE("of numbers of all sizes, and of what is no number") {
  float const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  squares_of(of_all_sizes<float>(3000, {}), 0, 3000);
  squares_of(of_all_sizes<float>(3000, {inf, -inf}), 0, 3000);
  squares_of(of_all_sizes<float>(3000, {inf, nan}), 0, 3000);
  squares_of(of_all_sizes<double>(1500, {}), 0, 1500);  // some squares are infinite
  Many<double> small = of_all_sizes<double>(1500, {});
  for (double& v : small) v = std::abs(v) < 1e150 ? v : 0;
  squares_of(small, 0, 1500);
}
TEST_CASE("digits of many pieces are added, by one block or by several") {
  for (long n : {1, 2, 100, 700}) sums_of<float>(n);
  for (long n : {3, 600}) sums_of<double>(n);
}
TEST_CASE("the scale is of the sums of all ways") {
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  Many<double> const squares = {9, 7, 0.5};
  Many<float> scale(2, -1.0f);
  using K = backend::gpu::GradientScale<ClippedAdam, float>;
  q.launch<K>(1, {scale.data(), nullptr, 2, false, {squares.data(), squares.data() + 1}});
  q.launch<K>(1, {scale.data() + 1, nullptr, 1, false, {squares.data() + 2}});
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
  q.launch<K>(1, {scale.data(), state.data(), 1, false, {squares.data()}});
  m.finish();
  CHECK(scale[0] == 1.0f / 8);
  CHECK(state == Many<float>{1, 1});
  q.launch<K>(1, {scale.data() + 1, state.data(), 2, false, {squares.data(), squares.data() + 1}});
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
