// 03_split_a_layer - one layer over two devices, by columns and by rows: the traffic of each, and the same result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<1000, ModelParallel<SplitCols>>, Relu,  // each rank: 784 x 500
                        Linear<500, ModelParallel<SplitRows>>, Relu,         // reads its half: no conversion
                        Linear<10, ModelParallel<Whole>>, CrossEntropy> {};  // too small to be worth a split
struct Train : Plan<Mlp, Batch<128>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.05f).warm_up(20);
  static constexpr int epochs = 6;
};

// A layer of 1000 x 500 and a batch of 128, on two devices.
struct One : Sequential<Vector<1000>, Linear<500, NoBias>, MeanSquaredError> {};
struct ByData : Plan<One, Batch<128>, InputGradient, DataParallel<Sync>> {};
struct ByRows : Plan<One, Batch<128>, InputGradient, ModelParallel<SplitRows>> {};
struct ByCols : Plan<One, Batch<128>, InputGradient, ModelParallel<SplitCols>> {};
static_assert(traffic<ByData>.elements_per_step == 500'000);
static_assert(traffic<ByRows>.elements_per_step == 128'000);
static_assert(traffic<ByCols>.elements_per_step == 160'000);

int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
