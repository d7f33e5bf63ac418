// backend/gpu/exchange.cpp - compressed and scheduled all-reduces of gradients on a device, compared with threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../io/scratch.hpp"
#include "../../train/on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

struct Small : Sequential<Vector<20>, Linear<24>, Relu, Linear<4>, CrossEntropy> {};
template <class... Ps> using On = Of<Small, DataParallel<Sync>, Fastest, Ps...>;

/// Five words to a sample.
backend::host::Feed const words{nullptr,
                                [](void const*, long step, long first, int count, float* out) {
                                  for (long s = 5 * (step * 24 + first); count > 0; --count) {
                                    for (int t = 0; t < 5; ++t, ++s) *out++ = static_cast<float>(s * s % 37);
                                  }
                                },
                                [](void const*, long, long first, int count, int* out) {
                                  for (long s = first; s < first + count; ++s) *out++ = static_cast<int>(s % 4);
                                }};

/// Losses, weights and bytes, and the same again whatever the order in which kernels run that no event orders.
template <class P>
void close(double tolerance, std::initializer_list<int> replicas, backend::host::Feed const& from = feed<P>()) {
  for (int r : replicas) {
    INFO(r << " replicas x " << P::ways << " ways");
    Outcome const got = outcome(DeviceTrainer<P, OnDevice>(r, 7, device(r)), 3, from);
    CHECK(got == outcome(DeviceTrainer<P, OnDevice>(r, 7, device(r + 50)), 3, from));
    CHECK(far(got, outcome(Trainer<P>(r, 7), 3, from)) <= tolerance);
  }
}

}  // namespace

TEST_CASE("int8 gradients, with error feedback and without, train as on threads") {
  close<On<Compress<Int8>, Momentum>>(1e-3, {1, 2, 3});
#ifndef __CUDACC__  // on a GPU the same kernels, and twice the code to compile
  close<On<Compress<Int8, NoFeedback>, ModelParallel<SplitCols>>>(1e-3, {2});
#endif
}
TEST_CASE("one-bit gradients, and bf16 gradients of a bf16 plan in buckets, train as on threads") {
  close<On<Compress<OneBit>>>(1e-2, {2, 4});
  close<On<Compress<bf16>, Precision<bf16>, Buckets<4096>>>(1e-2, {3});
}
TEST_CASE("top-k gradients, which every rank reads from every other, train as on threads") {
  close<On<Compress<TopK<100>>, Momentum>>(1e-5, {1, 2, 3});
#ifndef __CUDACC__
  close<On<Compress<TopK<200>, NoFeedback>, ModelParallel<SplitCols>>>(1e-5, {2});
  close<On<Compress<TopK<300>>, Precision<bf16>, Buckets<4096>>>(1e-2, {3});
#endif
}
TEST_CASE("ring, halving-doubling and hierarchical all-reduce train as on threads") {
  close<On<ReduceBy<Ring>>>(1e-5, {1, 2, 3, 4});
  close<On<ReduceBy<HalvingDoubling>, ModelParallel<SplitRows>>>(1e-5, {4});
  close<On<ReduceBy<Hierarchical<2>>, Precision<bf16>>>(1e-2, {4});
}
struct Said : Sequential<Vector<5>, Embedding<40, 6>, Linear<8, SendFactors>, Tanh, Linear<4>, CrossEntropy> {};

TEST_CASE("gradients that threads send as rows or factors are sent whole, with the same sums") {
  using P = Of<Said, DataParallel<Sync>, Momentum>;
  close<P>(1e-5, {1, 2, 3}, words);
  CHECK(outcome(DeviceTrainer<P, OnDevice>(3, 7, device(3)), 3, words) ==
        outcome(DeviceTrainer<P, OnDevice>(1, 7, device(1)), 3, words));
}
TEST_CASE("gradients of rows or factors are neither compressed nor scheduled where the others are") {
#ifndef __CUDACC__
  close<Of<Said, DataParallel<Sync>, Fastest, Compress<OneBit>>>(1e-3, {3}, words);
#endif
  close<Of<Said, DataParallel<Sync>, Fastest, Compress<Int8>, Precision<bf16>>>(1e-2, {2}, words);
  close<Of<Said, DataParallel<Sync>, Fastest, ReduceBy<Ring>>>(1e-5, {3}, words);
}
TEST_CASE("where each rank sums one branch, a tree or halving-doubling has the bits of one rank") {
  struct OnOne : Plan<Small, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Precision<bf16>> {};
  struct Treed
      : Plan<Small, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Precision<bf16>, Mesh<Data<4>>, ReduceBy<Tree>> {};
  struct Halved : Plan<Small, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Precision<bf16>, Mesh<Data<4>>,
                       ReduceBy<HalvingDoubling>> {};
  Outcome const one = outcome(DeviceTrainer<OnOne, OnDevice>(1, 7, device(1)));
  CHECK(outcome(DeviceTrainer<Treed, OnDevice>(4, 7, device(4))) == one);
  CHECK(outcome(DeviceTrainer<Halved, OnDevice>(4, 7, device(4))) == one);
}

namespace {

template <class Trained> std::vector<std::vector<float>> owed(Trained& t) {
  std::vector<std::vector<float>> all;
  for (int r = 0; r < t.ranks().world(); ++r) all.push_back(t.residuals(r));
  return all;
}
/// What is left of a message is in a checkpoint, from and to devices and threads.
template <class P> void goes_on(backend::host::Feed const& from) {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors", back = folder / "back.safetensors";
  using Device = DeviceTrainer<P, OnDevice>;
  Device whole(3, 7), first(3, 7), second(3, 9);
  whole.train(0, 5, from);
  first.train(0, 3, from);
  session::save(first, path, 7);
  second.train(0, 2, from);  // what it owes is forgotten
  Trainer<P> threads(3, 5);
  session::load(threads, path);
  CHECK(owed(threads) == owed(first));
  session::save(threads, back, 7);
  session::load(second, back);
  CHECK(owed(second) == owed(first));
  CHECK(second.train(3, 2, from) == first.train(3, 2, from));
  CHECK(owed(second) == owed(whole));
  for (auto const& k : session::kept<P>()) CHECK(session::whole(second, k) == session::whole(whole, k));
}

}  // namespace

TEST_CASE("residuals of compression are saved and loaded with a checkpoint") {
  goes_on<On<Compress<OneBit>, Momentum>>(feed<On<>>());
  goes_on<Of<Said, DataParallel<Sync>, Fastest, Compress<Int8>>>(words);
  goes_on<On<Compress<TopK<100>>>>(feed<On<>>());
}
