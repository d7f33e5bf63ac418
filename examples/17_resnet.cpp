// 17_resnet - ResNet-20 on CIFAR-10: blocks are templates, and weight decay is of the filters and the last product alone.
// Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition", 2016, section 4.2, with projections.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

template <int C, int S> using Normed = Conv<C, 3, Stride<S>, Pad<1>, NoBias>;
template <int C> struct Block : Path<Residual<Normed<C, 1>, BatchNorm, Relu, Normed<C, 1>, BatchNorm>, Relu> {};
template <int C>  // halves the image
struct Down : Path<Branches<Plus, Path<Normed<C, 2>, BatchNorm, Relu, Normed<C, 1>, BatchNorm>,
                            Path<Conv<C, 1, Stride<2>, NoBias>, BatchNorm>>,
                   Relu> {};

struct ResNet20 : Sequential<Image<3, 32, 32>, Normed<16, 1>, BatchNorm, Relu,  //
                             Block<16>, Block<16>, Block<16>,                   // (b, 16, 32, 32)
                             Down<32>, Block<32>, Block<32>,                    // (b, 32, 16, 16)
                             Down<64>, Block<64>, Block<64>,                    // (b, 64, 8, 8)
                             GlobalAvgPool, Linear<10>, CrossEntropy> {};

struct Decay : Momentum {
  static constexpr float weight_decay = 5e-4f;
  static constexpr ParameterGroup group(Parameter p) { return {.decay = p.is_matrix() ? 1.0f : 0.0f}; }
};
struct Train : Plan<ResNet20, Batch<128>, DataParallel<Sync>, Decay> {
  static constexpr Rate rate = Rate::cosine(0.1f).warm_up(200);
  static constexpr int epochs = 10;
};
static_assert(schedule::program<Train>.weight_elements == 272'474);

int main(int argc, char** argv) { return run<Train, Cifar10>(argc, argv); }
