// backend/host/shard.cpp - a shard's ledger and arithmetic under many threads: sent = applied + dropped, exactly.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/backend/host/shard.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <thread>

#include "cleave/agree/averaging.hpp"
#include "cleave/agree/free.hpp"
#include "cleave/agree/quorum.hpp"
#include "cleave/optim/sgd.hpp"

using namespace cleave;
using namespace cleave::agree;
using backend::host::Pushed, backend::host::Shard;

static_assert(std::is_same_v<Pushed<bf16, Change::Step>, bf16> && std::is_same_v<Pushed<bf16, Change::Average>, f32>);
static_assert(std::is_same_v<Pushed<tf32, Change::Step>, f32>);  // what is sent is no factor of a product

namespace {

template <class Keeper, class T, Change How, int Percent = 0> struct Tried : Shard<T, Pushed<T, How>, Keeper::most> {
  Tried(Keeper const& keeper, T const* weights, long count)
      : Tried::Shard(std::make_unique<DeciderOf<Keeper>>(keeper),
                     {How, Percent, {}, has_quorum<Keeper>, Sgd::moments, &backend::host::step_shard<Sgd, T>}, weights,
                     count) {}
};

}  // namespace

TEST_CASE("8 workers push 250,000 gradients each: every one is applied or dropped, and the weights say so") {
  using Keeper = Free<8, Stale<Drop<6>>>;
  std::vector<double> const zero(3);
  Tried<Keeper, double, Change::Step> shard({}, zero.data(), 3);
  std::mutex mutex;
  long applied = 0, dropped = 0, oldest = 0;
  auto const hear = [&](Event const& e, double* g) {
    Actions<8> out;
    std::lock_guard lock(mutex);
    shard.hear(
        e, g,
        [](int) {
          return optim::Now<double>{1.0, 1, 1, 1};
        },
        out);
    for (Action const& a : out) {
      applied += a.what == Done::Take;
      dropped += a.what == Done::Drop;
      if (a.what == Done::Take) oldest = std::max<long>(oldest, a.age);
    }
    return shard.version();
  };
  int const pushes = 250'000;
  std::vector<std::thread> workers;
  for (int w = 0; w < 8; ++w) {
    workers.emplace_back([&, w] {
      double g[] = {1, 2, 3};
      int version = hear({Heard::Joined, w, 1}, nullptr);
      for (int i = 0; i < pushes; ++i) {
        int const read = version;  // sometimes with weights of a while ago
        if (i % 5 != w % 5) version = hear({Heard::Asked, w, 1}, nullptr);
        hear({Heard::Pushed, w, 1, i % 5 != w % 5 ? version : read, i}, g);
      }
    });
  }
  for (auto& t : workers) t.join();
  CHECK(applied + dropped == 8L * pushes);
  CHECK(dropped > 0);
  CHECK(oldest <= 6);
  CHECK(shard.version() == applied);
  for (int i = 0; i < 3; ++i) CHECK(shard.weights()[i] == -(i + 1.0) * static_cast<double>(applied));
}
TEST_CASE("an optimizer that keeps nothing steps every piece of a long shard") {  // UBSan: of no moments there is no
                                                                                  // second piece
  std::vector<float> const zero(1300);
  Tried<Free<1>, float, Change::Step> shard({}, zero.data(), 1300);
  Actions<1> joined, pushed;
  auto const now = [](int) { return optim::Now<float>{0.5f, 1, 1, 1}; };
  shard.hear({Heard::Joined, 0, 1}, nullptr, now, joined);
  std::vector<float> g(1300, 2);
  shard.hear({Heard::Pushed, 0, 1, 0, 0}, g.data(), now, pushed);
  CHECK(std::all_of(shard.weights(), shard.weights() + 1300, [](float w) { return w == -1; }));
}
TEST_CASE("gradients of a quorum are summed in the order of the workers, whoever came first") {
  using Keeper = Quorum<4>;
  Keeper three;
  three.workers = 4;
  three.quorum = 3;
  float const zero = 0, g[] = {1e8f, -1e8f, 1.0f, 0.5f};
  auto const after = [&](std::initializer_list<int> order) {
    Tried<Keeper, float, Change::Step> shard(three, &zero, 1);
    auto const hear = [&](Event const& e, float* g_of) {
      Actions<4> out;
      shard.hear(
          e, g_of,
          [](int) {
            return optim::Now<float>{1, 1, 1, 1};
          },
          out);
    };
    for (int w = 0; w < 4; ++w) hear({Heard::Joined, w, 1}, nullptr);
    for (int w : order) {
      float mine = g[w];
      hear({Heard::Pushed, w, 1, 0}, &mine);
    }
    CHECK(shard.version() == 1);
    return shard.weights()[0];
  };
  CHECK(after({0, 1, 2}) == -1.0f);
  CHECK(after({2, 0, 1}) == -1.0f);
  CHECK(after({2, 1, 0}) == -1.0f);
  CHECK(after({3, 0, 1}) == -0.5f);
}
TEST_CASE("means of weights; the elastic centre and its replica move towards each other") {
  double const zero = 0;
  Quorum<2> both;
  both.workers = both.quorum = 2;
  Tried<Quorum<2>, double, Change::Average> mean(both, &zero, 1);
  Tried<Free<2>, double, Change::Elastic, 25> centre({}, &zero, 1);
  auto const now = [](int) { return optim::Now<double>{}; };
  auto const hear = [&](auto& shard, Event const& e, double* x) {
    Actions<2> out;
    shard.hear(e, x, now, out);
  };
  for (int w = 0; w < 2; ++w) {
    hear(mean, {Heard::Joined, w, 1}, nullptr);
    hear(centre, {Heard::Joined, w, 1}, nullptr);
  }
  double a = 3, b = 5, x = 8;
  hear(mean, {Heard::Pushed, 0, 1, 0}, &a);
  hear(mean, {Heard::Pushed, 1, 1, 0}, &b);
  CHECK(mean.weights()[0] == 4);
  hear(centre, {Heard::Pushed, 0, 1, 0}, &x);
  CHECK(centre.weights()[0] == 2);
  CHECK(x == 6);
}
TEST_CASE("DiLoCo: the server steps towards the mean with Nesterov momentum") {
  double const start[] = {1, -2};
  Quorum<2> both;
  both.workers = both.quorum = 2;
  using Outer = Shard<double, double, 2>;
  agree::OuterStep const outer = DiLoCo<4>::outer;
  Outer shard(std::make_unique<DeciderOf<Quorum<2>>>(both), {Change::Average, 0, outer, true, 1, nullptr}, start, 2);
  double x[] = {1, -2}, v[] = {0, 0};
  Actions<2> out;
  for (int w = 0; w < 2; ++w)
    shard.hear(
        {Heard::Joined, w, 1}, nullptr, [](int) { return optim::Now<double>{}; }, out);
  for (int round = 0; round < 3; ++round) {
    double a[] = {0.5 * round, 3}, b[] = {0.25, -1.0 * round};
    for (int i = 0; i < 2; ++i) {
      double const pull = x[i] - 0.5 * (a[i] + b[i]);
      v[i] = 0.9 * v[i] + pull;
      x[i] -= 0.7 * (pull + 0.9 * v[i]);
    }
    for (int w = 0; w < 2; ++w) {
      Actions<2> done;
      shard.hear(
          {Heard::Pushed, w, 1, round}, w == 0 ? a : b, [](int) { return optim::Now<double>{}; }, done);
    }
    CHECK(shard.version() == round + 1);
    for (int i = 0; i < 2; ++i) {
      CHECK(shard.weights()[i] == doctest::Approx(x[i]).epsilon(1e-14));
      CHECK(shard.moments()[i] == doctest::Approx(v[i]).epsilon(1e-14));
    }
  }
}
