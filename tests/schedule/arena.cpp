// schedule/arena.cpp - the layout is exact, no two live tensors share a byte, and it is what is allocated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct Deep : Sequential<Image<3, 8, 8>, Conv<8, 3, Pad<1>>, BatchNorm, Relu, Residual<Conv<8, 3, Pad<1>>, Tanh>,
                         Branches<Concat, Path<Conv<4, 1>>, Path<MaxPool<3, Stride<1>, Pad<1>>>>, AvgPool<2>,
                         Linear<32>, Gelu, Dropout<10>, Linear<8>, CrossEntropy> {};
struct Tower : Sequential<Image<3, 8, 8>, Conv<8, 3, Pad<1>>, LayerNorm, Relu, Residual<Conv<8, 3, Pad<1>>, Tanh>,
                          MaxPool<2>, Linear<32>, Gelu, Linear<8>, CrossEntropy> {};
struct Short : Sequential<Vector<8>, Residual<Tanh>, Residual<Dropout<20>, Residual<Sigmoid>>, Linear<8>,
                          Residual<layer::Chain<op::Bias>>, Linear<4>, CrossEntropy> {};
struct Sums : Plan<Short, Batch<16>> {};
struct Slim : Sequential<Vector<24>, Linear<32>, Gelu, Linear<16>, Dropout<20>, Residual<Linear<16>>, Linear<8>, Relu,
                         Linear<4>, CrossEntropy> {};
struct Narrow : Plan<Slim, Batch<16>, DataParallel<Sync>> {};
struct Alone : Plan<Deep, Batch<16>, DataParallel<Sync>, Adam> {};
struct Rounds : Plan<Tower, Batch<16>, Accumulate<2>, DataParallel<Sync>, OneWeirdTrick<2>, Momentum> {};
struct Split : Plan<Deep, Batch<16>, DataParallel<Sync>, OneWeirdTrick<2>, Momentum, Precision<bf16>> {};

/// By taking over one that took over, and so on.
template <class P> bool stands_for(int later, int first) {
  while (later > first) later = P::schedule.buffer[later].takes_over;
  return later == first;
}
/// In no step is a value overwritten that an operation done later in the step still reads.
template <class P> void nothing_is_lost(int replicas) {
  auto const& s = P::schedule;
  auto const l = schedule::layout(s, P::lives, P::request, P::format, {replicas, P::ways});
  auto const value = [&](int node) { return node < 0 ? s.input_value : s.value[node]; };
  for (int k = 0; k < P::placed.count; ++k) {
    for (int i = 0; i < s.forward_tail[k]; ++i) {
      int const reader = s.behind(k, false, i), other = P::placed.node[reader].in1;
      for (int before = k; other > -2 && before < reader; ++before) {
        if (before > other && value(before) != value(other)) CHECK(l.buffer[value(before)] != l.buffer[value(other)]);
      }
    }
  }
}
/// What linked steps write has its place from the first of them on. Returns how many are linked.
template <class P> int linked_steps() {
  auto const& s = P::schedule;
  int linked = 0;
  for (int first = 0; first < s.steps; ++first) {
    linked += s.links(first);
    for (int b = 0; b < s.buffers; ++b) {
      schedule::Life const& of = P::lives.of[b];
      if (of.written > first && of.written <= first + s.links(first)) CHECK(of.birth == first);
    }
  }
  return linked;
}
template <class P> void nothing_overlaps(int replicas) {
  auto const l = schedule::layout(P::schedule, P::lives, P::request, P::format, {replicas, P::ways});
  schedule::Share const share = P::share({replicas, P::ways});
  auto const bytes = [&](schedule::Buffer const& b) {
    if (!b.per_slice) return b.elements * P::format.batch_sum;
    return b.elements * share.most(b.batch_axes) * (b.wide ? P::format.sum : P::format.data);
  };
  int pairs = 0;
  for (int i = 0; i < P::schedule.buffers; ++i) {
    auto const& a = P::schedule.buffer[i];
    CHECK(l.buffer[i] % schedule::alignment == 0);
    CHECK(l.buffer[i] + bytes(a) <= l.memory.total);
    for (int k = i + 1; k < P::schedule.buffers; ++k) {
      auto const& b = P::schedule.buffer[k];
      schedule::Life const &x = P::lives.of[i], &y = P::lives.of[k];
      bool const meet = x.birth <= y.death && y.birth <= x.death && !stands_for<P>(k, i);
      bool const apart = l.buffer[i] + bytes(a) <= l.buffer[k] || l.buffer[k] + bytes(b) <= l.buffer[i];
      if (meet) CHECK(apart);
      pairs += meet;
    }
  }
  CHECK(pairs > 10);
  long sum = 0;
  for (long b : l.memory.bytes) sum += b;
  CHECK(sum == l.memory.total);
  Trainer<P> trainer(replicas);
  for (int r = 0; r < trainer.ranks().world(); ++r) CHECK(trainer.allocated(r) == l.memory.total);
}

// A net of 300 million parameters with Adam takes 16 bytes each, and four ranks share them.
struct Big : Sequential<Vector<10'000>, Linear<20'000, NoBias>, Linear<5'000, NoBias>, CrossEntropy> {};
struct BigAlone : Plan<Big, Batch<8>, Adam> {};
struct BigSplit : Plan<Big, Batch<8>, Adam, ModelParallel<SplitColsRows, Ways<4>>> {};
static_assert(BigAlone::schedule.weight_elements == 300'000'000);
static_assert(memory<BigAlone>[schedule::Category::Weights] + memory<BigAlone>[schedule::Category::Gradients] +
                  memory<BigAlone>[schedule::Category::Optimizer] ==
              300'000'000L * 16);
static_assert(memory<BigAlone>.total > 4_GiB);
static_assert(fits<BigSplit, 4_GiB>);
static_assert(memory<BigSplit>.total < memory<BigAlone>.total / 3);

// A plan of more than 10^9 parameters compiles without a device.
struct Huge : Sequential<Vector<32'768>, Linear<32'768>, Relu, Linear<8'192>, Relu, Linear<1'000>, CrossEntropy> {};
struct HugeSplit : Plan<Huge, Batch<64>, ModelParallel<SplitColsRows, Ways<8>>, Momentum> {};
static_assert(memory<HugeSplit>.total < 3_GiB);

}  // namespace

TEST_CASE("no two tensors that live at once share a byte, and the constant is what is allocated") {
  for (int n : {1, 2, 3, 4}) nothing_overlaps<Alone>(n);
  for (int n : {1, 2, 4}) nothing_overlaps<Split>(n);
  for (int n : {1, 2}) nothing_overlaps<Rounds>(n);
  nothing_overlaps<Sums>(1);
  for (int n : {1, 3}) nothing_overlaps<Narrow>(n);
  CHECK(linked_steps<Narrow>() == 4 + 2);
  CHECK(linked_steps<Alone>() == 0);
  nothing_is_lost<Sums>(1);
  nothing_is_lost<Alone>(2);
  nothing_is_lost<Split>(2);
}

TEST_CASE("liveness is used: activations are fewer than the sum of all tensors") {
  long all = 0;
  for (int i = 0; i < Alone::schedule.buffers; ++i) all += Alone::schedule.buffer[i].elements * 8 * 4;
  CHECK(memory<Alone>[schedule::Category::Activations] < all * 8 / 10);
}

TEST_CASE("a heap gives back what it was given, joined") {
  schedule::Heap<16> heap;
  long const a = heap.take(64), b = heap.take(128), c = heap.take(64);
  CHECK(heap.top == 256);
  heap.give(a, 64);
  heap.give(c, 64);
  CHECK(heap.gaps == 2);
  heap.give(b, 128);
  CHECK(heap.gaps == 1);
  CHECK(heap.take(256) == 0);
  CHECK(heap.top == 256);
}
