// 03_split_a_layer - one matrix over two devices, by columns and by rows: what each sends, and that the result is the same.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<1000, ModelParallel<SplitCols>>, Relu,  // each rank: 784 x 500
                        Linear<500, ModelParallel<SplitRows>>, Relu,         // meets its half: no conversion
                        Linear<10, ModelParallel<Whole>>, CrossEntropy> {};  // too narrow to be worth a cut
struct Train : Plan<Mlp, Batch<128>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.05f).warm_up(20);
  static constexpr int epochs = 6;
};

// The numbers of the source: a layer of 1000 x 500 and a batch of 128, on two devices.
struct One : Sequential<Vector<1000>, Linear<500, NoBias>, MeanSquaredError> {};
struct ByData : Plan<One, Batch<128>, InputGradient, DataParallel<Sync>> {};
struct ByRows : Plan<One, Batch<128>, InputGradient, ModelParallel<SplitRows>> {};
struct ByCols : Plan<One, Batch<128>, InputGradient, ModelParallel<SplitCols>> {};
static_assert(traffic<ByData>.elements_per_step == 500'000);
static_assert(traffic<ByRows>.elements_per_step == 128'000);
static_assert(traffic<ByCols>.elements_per_step == 160'000);

int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
