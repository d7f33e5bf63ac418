// parameter_server/sandblaster.cpp - L-BFGS by a coordinator without parameters equals the serial one, by any division of work.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>

using namespace cleave;

namespace {

struct Line : Sequential<Vector<5>, Linear<3>, MeanSquaredError> {};  // its loss is quadratic
struct Net : Sequential<Vector<5>, Linear<6>, Tanh, Linear<3>, MeanSquaredError> {};
struct Quadratic : Plan<Line, Batch<4>, DataParallel<Async>, Precision<f64>> {};
template <int Shards_ = 2, class Number = f64>
struct Curved : Plan<Net, Batch<4>, DataParallel<Async>, Shards<Shards_>, Precision<Number>> {};
constexpr int portions = 12;

float value(long sample, int i) {
  tensor::Random const random{7, tensor::Purpose::Augment, static_cast<std::uint32_t>(i)};
  constexpr float wide[] = {1, 1, 1, 2, 6};  // so that neither is solved after fifteen iterations
  return wide[i] * (2 * random.uniform(static_cast<std::uint64_t>(sample)) - 1);
}
int label(long sample) { return (value(sample, 0) > 0) + (value(sample, 1) + value(sample, 2) > 0); }
backend::host::Feed feed() {
  return {nullptr,
          [](void const*, long step, long first, int count, float* out) {
            for (long s = first; s < first + count; ++s) {
              for (int i = 0; i < 5; ++i) *out++ = value(step * 4 + s, i);
            }
          },
          [](void const*, long step, long first, int count, int* out) {
            for (long s = first; s < first + count; ++s) *out++ = label(step * 4 + s);
          }};
}

using Numbers = std::vector<double>;
double dot(Numbers const& a, Numbers const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
Numbers plus(Numbers a, double f, Numbers const& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += f * b[i];
  return a;
}
/// The mean over all samples and its gradient, as sums over indices: x -> [tanh(x W + b) ->] V + c.
template <class P> double plain(Numbers const& w, Numbers& gradient, int* correct = nullptr) {
  constexpr bool deep = P::schedule.weights == 4;
  constexpr int hidden = deep ? 6 : 0, in = deep ? hidden : 5, last = deep ? 2 : 0;
  auto const at = [](int i) { return static_cast<std::size_t>(P::schedule.weight[i].offset); };
  gradient.assign(w.size(), 0);
  double loss = 0;
  long const samples = 4 * portions;
  for (long s = 0; s < samples; ++s) {
    double x[5], h[6], out[3], dh[6] = {};
    for (int i = 0; i < 5; ++i) x[i] = h[i] = static_cast<double>(value(s, i));
    for (int j = 0; j < hidden; ++j) {
      double sum = w[at(1) + static_cast<std::size_t>(j)];
      for (int i = 0; i < 5; ++i) sum += x[i] * w[at(0) + static_cast<std::size_t>(i * hidden + j)];
      h[j] = std::tanh(sum);
    }
    for (int o = 0; o < 3; ++o) {
      out[o] = w[at(last + 1) + static_cast<std::size_t>(o)];
      for (int i = 0; i < in; ++i) out[o] += h[i] * w[at(last) + static_cast<std::size_t>(i * 3 + o)];
      double const gap = out[o] - (o == label(s)), d = 2 * gap / 3 / static_cast<double>(samples);
      loss += gap * gap / 3 / static_cast<double>(samples);
      gradient[at(last + 1) + static_cast<std::size_t>(o)] += d;
      for (int i = 0; i < in; ++i) {
        gradient[at(last) + static_cast<std::size_t>(i * 3 + o)] += d * h[i];
        dh[i] += d * w[at(last) + static_cast<std::size_t>(i * 3 + o)];
      }
    }
    if (correct) *correct += std::max_element(out, out + 3) - out == label(s);
    for (int j = 0; j < hidden; ++j) {
      double const d = dh[j] * (1 - h[j] * h[j]);
      gradient[at(1) + static_cast<std::size_t>(j)] += d;
      for (int i = 0; i < 5; ++i) gradient[at(0) + static_cast<std::size_t>(i * hidden + j)] += d * x[i];
    }
  }
  return loss;
}
/// Nocedal & Wright, algorithm 7.5, in one place.
template <class P> Numbers serial(Numbers x, int iterations, std::size_t memory, double& loss) {
  Numbers g, next;
  loss = plain<P>(x, g);
  struct Pair {
    Numbers s, y;
  };
  std::deque<Pair> history;
  for (int k = 0; k < iterations; ++k) {
    Numbers d = plus(Numbers(x.size()), -1, g), alpha(history.size());
    for (std::size_t i = history.size(); i-- > 0;) {
      auto const& [s, y] = history[i];
      alpha[i] = dot(s, d) / dot(s, y);
      d = plus(d, -alpha[i], y);
    }
    if (!history.empty()) {
      auto const& [s, y] = history.back();
      for (double& v : d) v *= dot(s, y) / dot(y, y);
    }
    for (std::size_t i = 0; i < history.size(); ++i) {
      auto const& [s, y] = history[i];
      d = plus(d, alpha[i] - dot(y, d) / dot(s, y), s);
    }
    double const slope = dot(g, d);
    double low = 0, high = -1, at = history.empty() ? std::min(1.0, 1 / std::sqrt(dot(g, g))) : 1.0;
    for (int trial = 0;; ++trial) {
      REQUIRE(trial < 30);
      Numbers const there = plus(x, at, d);
      double const here = plain<P>(there, next);
      if (here > loss + 1e-4 * at * slope) {
        high = at;
      } else if (dot(next, d) < 0.9 * slope) {
        low = at;
      } else {
        history.push_back({plus(there, -1, x), plus(next, -1, g)});
        x = there, g = next, loss = here;
        break;
      }
      at = high < 0 ? 2 * low : (low + high) / 2;
    }
    if (history.size() > memory) history.pop_front();
  }
  return x;
}
template <class P, int Memory> void compare(int iterations) {
  Sandblaster<P, Memory> t(2, portions, 3);
  double loss = 0;
  Numbers const expected = serial<P>(t.weights(), iterations, Memory, loss);
  for (int k = 0; k < iterations; ++k) t.step(feed());
  CHECK(t.loss() == doctest::Approx(loss).epsilon(1e-9));
  Numbers const got = t.weights();
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  Numbers gradient;
  int correct = 0;
  plain<P>(got, gradient, &correct);
  CHECK(t.accuracy(feed(), 4 * portions) == doctest::Approx(correct / (4.0 * portions)));
}
template <class P> auto trained(int replicas, int iterations, bool delays = false) {
  Sandblaster<P> t(replicas, portions, 3);
  if (delays) {
    t.set_patience(std::chrono::microseconds(0));
    t.before_finish([](int r, int pass, int portion) {
      tensor::Random const draw{5, tensor::Purpose::Shuffle, static_cast<std::uint32_t>(100 * pass + portion)};
      std::this_thread::sleep_for(std::chrono::microseconds(draw.below(600, static_cast<std::uint64_t>(r))));
    });
  }
  for (int k = 0; k < iterations; ++k) t.step(feed());
  t.rest();
  auto const l = t.ledger();
  CHECK(l.issued == l.taken + l.dropped);
  CHECK(l.taken == l.passes * portions);
  CHECK(l.gradients_sent == l.taken * P::schedule.weight_elements);
  CHECK(l.weights_sent <= l.passes * replicas * P::schedule.weight_elements);
  return t.weights();
}

template <class N, class... Split>
struct SplitNet : Plan<N, Batch<4>, DataParallel<Async>, Shards<2>, Precision<f64>, Split...> {};
/// All weights of a model, whichever ranks have them.
template <class T> Numbers whole(T& t) {
  Numbers all;
  for (session::Kept const& k : session::kept<typename T::plan>()) {
    for (double v : session::whole(t, k)) all.push_back(v);
  }
  return all;
}
template <class N, class... Split> void split_as() {
  Sandblaster<SplitNet<N>> one(1, portions, 3);
  using P = SplitNet<N, Split...>;
  Sandblaster<P> split(1, portions, 3), three(3, portions, 3);
  CHECK(whole(split) == whole(one));
  for (int k = 0; k < 12; ++k) {
    one.step(feed());
    split.step(feed());
    three.step(feed());
  }
  Numbers const wanted = whole(one), got = whole(split);
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-8));
  CHECK(three.weights() == split.weights());
  CHECK(three.loss() == split.loss());
  CHECK(three.accuracy(feed(), 4 * portions) == one.accuracy(feed(), 4 * portions));
  CHECK(three.ledger().weights_sent > 0);
  CHECK(three.ledger().weights_sent % (P::schedule.weight_elements * P::ways) == 0);
  Numbers const all = split.weights();  // where a way has all of a weight, all have the same
  schedule::Program const& p = schedule::program<P>;
  for (int w = 1; w < P::ways; ++w) {
    for (int i = 0; i < p.norms; ++i) {
      int const first = w - p.mesh.with_replicas(1).index(w, p.norm[i].alike);
      for (long e = p.norm[i].offset; e < p.norm[i].offset + p.norm[i].count; ++e)
        REQUIRE(all[static_cast<std::size_t>(w * p.weight_elements + e)] ==
                all[static_cast<std::size_t>(first * p.weight_elements + e)]);
    }
  }
}

}  // namespace

TEST_CASE("iterates are those of the serial algorithm, written as plain loops, with and without a full history") {
  compare<Quadratic, 10>(15);
  compare<Quadratic, 3>(15);
  compare<Curved<>, 10>(15);
  compare<Curved<3>, 4>(15);
}
TEST_CASE("a quadratic is solved: the gradient vanishes, and the next step says that nothing is lower") {
  Sandblaster<Quadratic> t(2, portions, 3);
  for (int k = 0; k < 60 && !t.converged(); ++k) t.step(feed());
  CHECK(t.converged());
  Numbers gradient, before = t.weights();
  plain<Quadratic>(before, gradient);
  CHECK(dot(gradient, gradient) < 1e-12);
  t.step(feed());
  CHECK(t.weights() == before);
}
TEST_CASE("the same bits for any number of replicas and any delays; four shards differ from one by rounding") {
  Numbers const one = trained<Curved<4>>(1, 12);
  CHECK(trained<Curved<4>>(2, 12) == one);
  CHECK(trained<Curved<4>>(5, 12) == one);
  for (int replicas : {2, 5}) CHECK(trained<Curved<4>>(replicas, 12, true) == one);
  Numbers const whole = trained<Curved<1>>(3, 12);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(whole[i] == doctest::Approx(one[i]).epsilon(1e-10));
}
TEST_CASE("replicas with a split model: the iterates of a whole one, the same bits for any number, copies alike") {
  using Wide =
      Sequential<Vector<5>, Linear<6>, Tanh, Linear<5, ModelParallel<Whole>>, Tanh, Linear<3>, MeanSquaredError>;
  split_as<Wide>();
  split_as<Wide, ModelParallel<SplitCols>>();
  split_as<Wide, ModelParallel<SplitColsRows, Ways<3>>>();  // of 5 and of 6 features
  split_as<Wide, ModelParallel<SplitBatch, Ways<2>>>();
}
TEST_CASE("a portion that is late is issued again; the copy counts and the late one is dropped") {
  using P = Curved<4>;
  Sandblaster<P> t(2, portions, 3);
  t.set_patience(std::chrono::microseconds(0));
  session::CrewLedger seen;
  t.before_finish([&](int r, int pass, int portion) {
    if (pass != 1 || portion != 0) return;
    if (r == 1) seen = t.ledger();  // all others are taken, and this is the copy
    while (r == 0 && t.ledger().taken < portions) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  for (int k = 0; k < 12; ++k) t.step(feed());
  t.rest();
  CHECK(seen.issued == portions + 1);
  CHECK(seen.again == 1);
  CHECK(seen.taken_from == std::vector<long>{0, portions - 1});
  CHECK(t.ledger().dropped >= 1);
  CHECK(t.weights() == trained<P>(1, 12));
}
TEST_CASE("a crash changes no bit; when all are dead that is told, and restarted ones go on from the last iteration") {
  using P = Curved<4>;
  Sandblaster<P> t(3, portions, 3);
  std::atomic<int> dying{-1};  // 3: all
  t.before_finish([&](int r, int, int) {
    if (dying == r || dying == 3) throw Sandblaster<P>::Crash{};
  });
  for (int k = 0; k < 4; ++k) t.step(feed());
  t.rest();
  dying = 0;
  for (int k = 0; k < 4; ++k) t.step(feed());
  CHECK(t.weights() == trained<P>(1, 8));
  CHECK(t.ledger().again >= 1);
  dying = 3;
  CHECK_THROWS_WITH_AS(t.step(feed()), doctest::Contains("no replica lives, and 12 of 12 portions of pass"), Error);
  CHECK_THROWS_WITH_AS(t.step(feed()), doctest::Contains("have no gradient; restart one"), Error);
  CHECK(t.weights() == trained<P>(1, 8));
  dying = -1;
  for (int r : {0, 2}) t.restart(r);
  for (int k = 0; k < 4; ++k) t.step(feed());
  CHECK(t.weights() == trained<P>(1, 12));
}
TEST_CASE("the coordinator knows scalars only, and has done what the algorithm needs") {
  constexpr int memory = 4;
  using Small = Sandblaster<Quadratic, memory>;
  using Large = Sandblaster<Curved<4>, memory>;
  static_assert(std::is_same_v<Small::Coordinator, Large::Coordinator>);  // whatever the model
  static_assert(std::is_trivially_copyable_v<Large::Coordinator>);        // and nothing behind a pointer
  static_assert(sizeof(Large::Coordinator) <= (2 * memory + 6) * sizeof(double));
  Large t(2, portions, 3);
  t.set_patience(std::chrono::hours(1));
  long passes = 1, dots = 0, axpys = 0, scales = 0, copies = 0, points = 0;
  for (int k = 0; k < 10; ++k) {
    t.step(feed());
    long const pairs = std::min(k, memory), trials = t.coordinator().trials;
    passes += trials;
    dots += 2 * pairs + 1 + trials + 2;  // two loops, the slope, that of each trial, s.y and y.y
    axpys += 2 * pairs;
    scales += 1 + (pairs > 0);
    copies += 2;
    points += trials + 2;  // each trial, s and y
  }
  CHECK(t.coordinator().forgotten == 0);
  CHECK(t.operations(optim::Verb::Dot) == dots);
  CHECK(t.operations(optim::Verb::Axpy) == axpys);
  CHECK(t.operations(optim::Verb::Scale) == scales);
  CHECK(t.operations(optim::Verb::Copy) == copies);
  CHECK(t.operations(optim::Verb::Point) == points);
  auto const l = t.ledger();
  CHECK(l.passes == passes);
  CHECK(l.issued == passes * portions);  // nobody was late
  CHECK(l.again + l.dropped == 0);
}
TEST_CASE("f32, bf16 and tf32 learn, and another batch is another function") {
  Sandblaster<Curved<2, f32>> t(3, portions, 3);
  Sandblaster<Curved<2, bf16>> narrow(3, portions, 3);
  Sandblaster<Curved<2, tf32>> rounded(3, portions, 3);
  double const first = t.step(feed());
  double const first_narrow = narrow.step(feed());
  rounded.step(feed());
  for (int k = 0; k < 60; ++k) t.step(feed()), narrow.step(feed()), rounded.step(feed());
  CHECK(t.loss() < first / 3);
  CHECK(narrow.loss() < first_narrow / 1.5);
  CHECK(rounded.loss() < first / 2);
  CHECK(t.accuracy(feed(), 4 * portions) >= 0.8);
  double const here = t.loss();
  t.step(feed(), portions);
  CHECK(t.loss() != here);
}
TEST_CASE("what is wrong is told: numbers, samples that are not finite, replicas that hang") {
  using P = Curved<2>;
  CHECK_THROWS_WITH_AS(Sandblaster<P>(0, 4), doctest::Contains("1 to 1024 replicas, got 0"), Error);
  CHECK_THROWS_WITH_AS(Sandblaster<P>(2, 5000), doctest::Contains("1 to 4096 portions, got 5000"), Error);
  auto bad = feed();
  bad.pixels = [](void const*, long, long, int count, float* out) {
    std::fill_n(out, 5 * count, std::numeric_limits<float>::quiet_NaN());
  };
  Sandblaster<P> t(2, 4);
  CHECK_THROWS_WITH_AS(t.step(bad), doctest::Contains("the loss is not finite at the weights of iteration 0"),
                       Diverged);
  bad.pixels = [](void const*, long, long, int, float*) { throw Error("no such picture"); };
  CHECK_THROWS_WITH_AS(t.step(bad), doctest::Contains(": no such picture"), Error);

  Sandblaster<P> slow(1, 4, 1, std::chrono::milliseconds(100));
  slow.before_finish([](int, int, int) { std::this_thread::sleep_for(std::chrono::milliseconds(900)); });
  CHECK_THROWS_WITH_AS(slow.step(feed()), doctest::Contains("for 100 ms none of the 1 live replicas"), Error);
}
