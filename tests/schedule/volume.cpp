// schedule/volume.cpp - what each way of splitting a layer sends, as constants and as counters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct One : Sequential<Vector<1000>, Linear<500, NoBias>, MeanSquaredError> {};
template <int B, int N> struct ByData : Plan<One, Batch<B>, MicroBatches<N>, InputGradient, DataParallel<Sync>> {};
template <int B, int N> struct ByRows : Plan<One, Batch<B>, InputGradient, ModelParallel<SplitRows, Ways<N>>> {};
template <int B, int N> struct ByCols : Plan<One, Batch<B>, InputGradient, ModelParallel<SplitCols, Ways<N>>> {};

template <int B, int N> constexpr long data = traffic<ByData<B, N>, N>.elements_per_step;
template <int B, int N> constexpr long rows = traffic<ByRows<B, N>>.elements_per_step;
template <int B, int N> constexpr long cols = traffic<ByCols<B, N>>.elements_per_step;

// Linear<500> of 1000 inputs with a batch of 128, on 2, 4 and 8 devices.
static_assert(data<128, 2> == 500'000);
static_assert(rows<128, 2> == 128'000);
static_assert(cols<128, 2> == 160'000);
static_assert(data<128, 4> == 750'000 && rows<128, 4> == 192'000 && cols<128, 4> == 240'000);
static_assert(data<128, 8> == 875'000 && rows<128, 8> == 224'000);  // 500 columns do not divide by 8: refused

// Closed forms for N ways, a batch of B, I inputs and O outputs: rows 2(N-1)/N BO + (N-1)/N BI,
// cols (N-1)/N BO + 2(N-1)/N BI, data 2(N-1)/N IO.
template <int N> constexpr bool closed_forms_hold() {
  constexpr long b = 40, i = 1000, o = 500;
  return data<40, N> == 2 * (N - 1) * i * o / N && rows<40, N> == (2 * (N - 1) * b * o + (N - 1) * b * i) / N &&
         cols<40, N> == ((N - 1) * b * o + 2 * (N - 1) * b * i) / N;
}
static_assert(closed_forms_hold<2>() && closed_forms_hold<4>() && closed_forms_hold<5>() && closed_forms_hold<10>() &&
              closed_forms_hold<20>());

// Split rows send nearly 4 times less than data parallelism, split columns about 3 times.
static_assert(data<128, 2> * 1000 / rows<128, 2> == 3906 && data<128, 2> * 1000 / cols<128, 2> == 3125);

// Where splitting the model stops paying: rows at a batch of 500, cols at 400, for any number of devices.
static_assert(rows<500, 2> == data<500, 2> && cols<400, 2> == data<400, 2>);
static_assert(rows<498, 2> < data<498, 2> && rows<502, 2> > data<502, 2>);
static_assert(cols<398, 2> < data<398, 2> && cols<402, 2> > data<402, 2>);
static_assert(rows<500, 4> == data<500, 4> && cols<400, 4> == data<400, 4>);

// 1000 x 1000 on 4 devices is 1000 x 250 on each.
struct Square : Sequential<Vector<1000>, Linear<1000, NoBias>, MeanSquaredError> {};
struct SquareCols : Plan<Square, Batch<128>, ModelParallel<SplitCols, Ways<4>>> {};
static_assert(SquareCols::placed.node[0].local.w0 == Shape(1000, 250));
static_assert(SquareCols::schedule.weight_elements == 1000 * 1000 / 4);

// bf16 halves the bytes sent, exactly.
struct Narrow : Plan<One, Batch<128>, InputGradient, ModelParallel<SplitRows>, Precision<bf16>> {};
static_assert(traffic<Narrow>.elements_per_step == 128'000 && traffic<Narrow>.bytes_per_step == 256'000);
static_assert(traffic<ByRows<128, 2>>.bytes_per_step == 512'000);

// One collective for each product and pass, and none where the placements already agree: columns then rows.
static_assert(traffic<ByCols<128, 2>>.messages == 2 && traffic<ByRows<128, 2>>.messages == 2);
struct Pair : Sequential<Vector<64>, Linear<128>, Relu, Linear<32>, MeanSquaredError> {};
struct ColsRows : Plan<Pair, Batch<16>, InputGradient, ModelParallel<SplitColsRows>> {};
static_assert(traffic<ColsRows>.messages == 2);  // a sum forward, a sum back
static_assert(traffic<ColsRows>[op::Verb::AllReduce] == 16 * 32 + 16 * 64);

template <class P> void counters_equal_constants(int replicas) {
  Trainer<P> trainer(replicas);
  session::Probing<P> probe;
  trainer.train(0, 3, probe.feed(), 0.01);
  CHECK(session::miscounted(trainer, 3, 0) == "");
  trainer.accuracy(probe.feed(), P::batch + 1);
  CHECK(session::miscounted(trainer, 3, 2) == "");
}

}  // namespace

TEST_CASE("at run time data, row and column splits of one layer send 500,000, 128,000 and 160,000 elements") {
  counters_equal_constants<ByData<128, 2>>(2);
  counters_equal_constants<ByRows<128, 2>>(1);
  counters_equal_constants<ByCols<128, 2>>(1);
  Trainer<ByRows<128, 2>> trainer(1);
  trainer.train(0, 1, session::Probing<ByRows<128, 2>>().feed());
  CHECK(trainer.sent(0) == 128'000);
}

TEST_CASE("counters equal constants where nothing divides: 3 replicas of 5 slices, both kinds of sums") {
  struct Odd : Sequential<Vector<7>, Linear<13>, Tanh, Linear<3>, CrossEntropy> {};
  struct Tree : Plan<Odd, Batch<15>, MicroBatches<5>, DataParallel<Sync>, InputGradient> {};
  struct Plain : Plan<Odd, Batch<15>, MicroBatches<5>, DataParallel<Sync>, Fastest, InputGradient> {};
  struct Half : Plan<Odd, Batch<15>, MicroBatches<5>, DataParallel<Sync>, Precision<bf16>, InputGradient> {};
  for (int n : {1, 2, 3, 4, 5}) {
    CAPTURE(n);
    counters_equal_constants<Tree>(n);
    counters_equal_constants<Plain>(n);
    counters_equal_constants<Half>(n);
  }
}

TEST_CASE("counters equal constants on a mesh and with one weird trick") {
  struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, BatchNorm, Relu, Linear<16>, Relu, Linear<8>, CrossEntropy> {};
  struct Grid : Plan<Net, Batch<8>, Mesh<Data<2>, Model<2>>, ModelParallel<SplitColsRows>> {};
  struct Weird : Plan<Net, Batch<8>, DataParallel<Sync>, OneWeirdTrick<2>> {};
  struct Mixed : Sequential<Image<2, 4, 4>, Conv<4, 3, ModelParallel<SplitBatch>>, Relu,
                            Linear<6, ModelParallel<SplitRows>>, CrossEntropy> {};
  struct ToAll : Plan<Mixed, Batch<16>, MicroBatches<8>, DataParallel<Sync>> {};
  static_assert(traffic<ToAll>[op::Verb::AllToAll] > 0);
  for (int n : {1, 2, 3}) counters_equal_constants<ToAll>(n);  // on 3, ways of uneven rows
  counters_equal_constants<Grid>(2);
  counters_equal_constants<Weird>(1);
  counters_equal_constants<Weird>(2);
  counters_equal_constants<Weird>(3);
}
