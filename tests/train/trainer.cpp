// train/trainer.cpp - every way to split a net trains it to the whole net's weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

// clang++'s ThreadSanitizer has its own operator new, which cannot be replaced: nothing is counted there.
#if defined(__has_feature)
#if !__has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS
#endif
#else
#define COUNTS_ALLOCATIONS
#endif

using namespace cleave;

namespace {

[[maybe_unused]] std::atomic<long> allocations{0};

struct Dense : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Mixed : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, Relu, MaxPool<2>, Conv<8, 3, Pad<1>, NoBias>, BatchNorm,
                          Relu, Linear<16>, Relu, Linear<8>, Dropout<20>, Linear<4>, CrossEntropy> {};

struct Alone : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum> {};
struct ByData : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>> {};
struct Quick : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>, Fastest> {};
struct Cols : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, ModelParallel<SplitCols>> {};
struct Cols4 : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, ModelParallel<SplitCols, Ways<4>>> {};
struct Rows : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, ModelParallel<SplitRows>> {};
struct Turns : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, ModelParallel<SplitColsRows>> {};
struct ByBatch : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, ModelParallel<SplitBatch>> {};
struct Grid : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, Mesh<Data<2>, Model<2>>, ModelParallel<SplitColsRows>> {
};
struct Ieee : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>, Precision<f16>, LossScale<>> {};
struct Half : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>, Precision<bf16>> {};
struct Rounded : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>, Precision<tf32>> {};
struct Eight : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>, Precision<fp8>> {};
struct EightCols : Plan<Dense, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>, Precision<fp8>,
                        ModelParallel<SplitColsRows>> {};

struct Pictures : Plan<Mixed, Batch<16>, MicroBatches<8>, Momentum> {};
struct PicturesData : Plan<Mixed, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>> {};
struct PicturesEight : Plan<Mixed, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>, Precision<fp8>> {};
struct PicturesWeird : Plan<Mixed, Batch<16>, MicroBatches<8>, Momentum, DataParallel<Sync>, OneWeirdTrick<2>> {};
struct PicturesWeird4 : Plan<Mixed, Batch<16>, MicroBatches<8>, Momentum, OneWeirdTrick<4>> {};

template <class P> std::vector<float> weights_after(int replicas, int steps, double* loss = nullptr) {
  Trainer<P> trainer(replicas, 11);
  session::Probing<P> probe;
  auto const& losses = trainer.train(0, steps, probe.feed());
  CHECK(session::miscounted(trainer, steps) == "");
  if (loss) *loss = losses.back();
  std::vector<float> all;
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(trainer, k)) all.push_back(static_cast<float>(v));
  }
  // After every step all replicas hold the same bits.
  for (int r = P::ways; r < trainer.ranks().world(); ++r) {
    for (long i = 0; i < P::schedule.weight_elements; ++i) {
      REQUIRE(trainer.at(r).weights()[i] == trainer.at(r % P::ways).weights()[i]);
    }
  }
  return all;
}

template <class P> void agrees(std::vector<float> const& wanted, int replicas, float relative) {
  std::vector<float> const got = weights_after<P>(replicas, 20);
  REQUIRE(got.size() == wanted.size());
  float worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, std::fabs(got[i] - wanted[i]) / (1e-2f + std::fabs(wanted[i])));
  }
  CHECK(worst <= relative);
}

}  // namespace

// Counts, and hands on to malloc.
#if defined(COUNTS_ALLOCATIONS)
void* operator new(std::size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(n > 0 ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

TEST_CASE("under Ordered, 1 to 8 replicas give the bits of one") {
  auto const whole = weights_after<Alone>(1, 20);
  for (int n = 1; n <= 8; ++n) {
    CAPTURE(n);
    agrees<ByData>(whole, n, 0);
  }
}

TEST_CASE("weights stepped as their gradients are made, or after: the same bits") {
  struct Fused : Plan<Dense, Batch<16>, Adam> {};
  struct Apart : Plan<Dense, Batch<16>, MicroBatches<2>, Adam, DataParallel<Sync>, Fastest> {};
  struct Either : Plan<Dense, Batch<16>, MicroBatches<1>, Adam, DataParallel<Sync>> {};
  auto const whole = weights_after<Fused>(1, 20);
  agrees<Either>(whole, 1, 0);
  agrees<Apart>(whole, 1, 2e-2f);
}

TEST_CASE("under Fastest, 1 to 8 replicas equal one up to rounding") {
  auto const whole = weights_after<Alone>(1, 20);
  for (int n : {1, 2, 3, 8}) agrees<Quick>(whole, n, 1e-4f);
}

TEST_CASE("splits by columns, rows, both in turn, and batch equal the unsplit net") {
  auto const whole = weights_after<Alone>(1, 20);
  agrees<Cols>(whole, 1, 1e-4f);
  agrees<Cols4>(whole, 1, 1e-4f);
  agrees<Rows>(whole, 1, 1e-4f);
  agrees<Turns>(whole, 1, 1e-4f);
  agrees<ByBatch>(whole, 1, 0);
}

TEST_CASE("as threads: two replicas of two ways, one of four ways and four of one way equal one rank") {
  auto const alone = weights_after<Alone>(1, 20);
  agrees<Grid>(alone, 2, 1e-4f);
  agrees<Cols4>(alone, 1, 1e-4f);
  agrees<ByData>(alone, 4, 0);
}

TEST_CASE("bf16 under Ordered gives the same bits on 1, 2, 3 and 8 replicas, and stays near f32") {
  auto const one = weights_after<Half>(1, 20);
  for (int n : {2, 3, 8}) agrees<Half>(one, n, 0);
  double narrow = 0, full = 0;
  weights_after<Half>(2, 100, &narrow);
  weights_after<Alone>(1, 100, &full);
  CHECK(narrow == doctest::Approx(full).epsilon(0.02));
}

TEST_CASE("f16 under Ordered gives the same bits on 1, 2, 3 and 8 replicas, and stays nearer to f32 than bf16") {
  auto const one = weights_after<Ieee>(1, 20), full = weights_after<Alone>(1, 20), half = weights_after<Half>(1, 20);
  for (int n : {2, 3, 8}) agrees<Ieee>(one, n, 0);
  double near = 0, far = 0;
  for (std::size_t i = 0; i < full.size(); ++i) {
    near = std::max(near, std::fabs(static_cast<double>(one[i]) - static_cast<double>(full[i])));
    far = std::max(far, std::fabs(static_cast<double>(half[i]) - static_cast<double>(full[i])));
  }
  CHECK(near > 0);
  CHECK(near < far / 2);
}

TEST_CASE("tf32 under Ordered gives the same bits on any number of replicas, others than f32, and stays near it") {
  auto const one = weights_after<Rounded>(1, 20);
  for (int n : {2, 3, 8}) agrees<Rounded>(one, n, 0);
  CHECK(one != weights_after<Alone>(1, 20));
  double rounded = 0, full = 0;
  weights_after<Rounded>(2, 100, &rounded);
  weights_after<Alone>(1, 100, &full);
  CHECK(rounded == doctest::Approx(full).epsilon(0.005));
}

TEST_CASE("fp8 under Ordered gives the same bits on any number of replicas, others than bf16, and stays near it") {
  auto const one = weights_after<Eight>(1, 20);
  for (int n : {2, 3, 8}) agrees<Eight>(one, n, 0);
  CHECK(one != weights_after<Half>(1, 20));
  auto const pictures = weights_after<PicturesEight>(1, 20);
  for (int n : {2, 3, 8}) agrees<PicturesEight>(pictures, n, 0);
  auto const cut = weights_after<EightCols>(1, 20);
  for (int n : {2, 3}) agrees<EightCols>(cut, n, 0);
  double eight = 0, full = 0;
  weights_after<Eight>(2, 100, &eight);
  weights_after<Alone>(1, 100, &full);
  CHECK(eight == doctest::Approx(full).epsilon(0.05));
}

TEST_CASE("images, batch norm and dropout: data parallel bit for bit, one weird trick to rounding") {
  auto const whole = weights_after<Pictures>(1, 20);
  for (int n : {1, 2, 3, 4}) agrees<PicturesData>(whole, n, 0);
  agrees<PicturesWeird>(whole, 1, 1e-3f);
  agrees<PicturesWeird>(whole, 2, 1e-3f);
  agrees<PicturesWeird4>(whole, 1, 1e-3f);
}

TEST_CASE("a step allocates nothing and starts no thread") {
  Trainer<PicturesWeird> trainer(2, 1);
  session::Probing<PicturesWeird> probe;
  trainer.train(0, 4, probe.feed());
  auto const threads = [] {
    auto const status = io::read_file("/proc/self/status");
    std::string const text(status.begin(), status.end());
    return std::atoi(text.c_str() + text.find("Threads:") + 8);
  };
  int const before_threads = threads();
  [[maybe_unused]] long const before = allocations.load();
  trainer.train(4, 50, probe.feed());
#if defined(COUNTS_ALLOCATIONS)
  CHECK(allocations.load() == before);
#endif
  CHECK(threads() == before_threads);
  trainer.trace(20);
  [[maybe_unused]] long const before_traced = allocations.load();
  trainer.train(54, 30, probe.feed());
#if defined(COUNTS_ALLOCATIONS)
  CHECK(allocations.load() == before_traced);
#endif
  CHECK(trainer.at(1).timeline().spans().size() > 10 * static_cast<std::size_t>(PicturesWeird::schedule.steps));
  CHECK(trainer.at(1).timeline().lost() == 0);
  CHECK(session::miscounted(trainer, 84) == "");
}

TEST_CASE("the loss falls") {
  double first = 0, last = 0;
  weights_after<ByData>(2, 1, &first);
  weights_after<ByData>(2, 200, &last);
  CHECK(last < 0.5 * first);
}

TEST_CASE("an evaluation counts samples by label and by the class of their largest output") {
  auto const pairs = [](auto plan, int replicas) {
    using P = typename decltype(plan)::type;
    Trainer<P> trainer(replicas, 11);
    session::Probing<P> probe;
    trainer.train(0, 20, probe.feed());
    return trainer.score(probe.feed(), 40);
  };
  auto const one = pairs(std::type_identity<Alone>{}, 1);
  REQUIRE(one.confusion.size() == 16);
  long all = 0, right = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    all += one.confusion[i];
    if (i % 5 == 0) right += one.confusion[i];
  }
  CHECK(all == 40);
  CHECK(static_cast<double>(right) / 40 == one.accuracy);
  CHECK(pairs(std::type_identity<ByData>{}, 3).confusion == one.confusion);
  CHECK(pairs(std::type_identity<Cols>{}, 1).confusion == one.confusion);
}

TEST_CASE("mistakes are told, not waited for") {
  CHECK_THROWS_WITH_AS(Trainer<ByData>(9), doctest::Contains("cannot share 8 micro-batches"), Error);
  CHECK_THROWS_WITH_AS(Trainer<ByData>(0), doctest::Contains("replicas from 1 on, got 0"), Error);
  CHECK_THROWS_WITH_AS(Trainer<Grid>(3), doctest::Contains("exactly 2 replicas, got 3"), Error);
  Trainer<ByData> trainer(2);
  session::Probing<ByData> probe;
  CHECK_THROWS_WITH_AS(trainer.train(0, 50, probe.feed(), 1e39), doctest::Contains("not finite"), Error);
  CHECK_THROWS_WITH_AS(trainer.train(0, 1000, probe.feed()), doctest::Contains("at most 256 steps"), Error);
  auto broken = probe.feed();
  broken.pixels = [](void const*, long, long, int, float*) { throw Error("no such picture"); };
  Trainer<ByData> fresh(2);
  CHECK_THROWS_WITH_AS(fresh.train(0, 1, broken), doctest::Contains("no such picture"), Error);
  CHECK_THROWS_WITH_AS(fresh.train(0, 1, probe.feed()), doctest::Contains("an earlier step has failed"), Error);
}
