// benchmarks/gpu_conv.cu - steps of convolutional nets: the example's on CIFAR-10, and LeNet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu_nets.hpp"

namespace bench {

struct LeNet : Sequential<Image<1, 28, 28>, Conv<6, 5, Pad<2>>, Relu, MaxPool<2>, Conv<16, 5>, Relu, MaxPool<2>,
                          Linear<120>, Relu, Linear<84>, Relu, Linear<10>, CrossEntropy> {};

void convolutional_nets(Rows const& rows) {
  step<Alone<CifarNet, 128, bf16>>(rows, "cifar.128.bf16", "cleave");
  step<Alone<CifarNet, 1024, bf16>>(rows, "cifar.1024.bf16", "cleave");
  step<Alone<CifarNet, 128, f32>>(rows, "cifar.128.f32", "cleave");
  step<Alone<CifarNet, 1024, f32>>(rows, "cifar.1024.f32", "cleave");

  step<Alone<LeNet, 32, f32>>(rows, "G4.lenet.32.f32", "cleave");
  step<Alone<LeNet, 256, f32>>(rows, "G4.lenet.256.f32", "cleave");
}

}  // namespace bench
