// benchmarks/gpu_dense.cu - steps of dense nets: MNIST's, and a small one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu_nets.hpp"

namespace bench {

struct Digits : Sequential<Vector<784>, Linear<128>, Relu, Linear<10>, CrossEntropy> {};

void dense_nets(Rows const& rows) {
  step<Alone<MnistNet, 64, f32>>(rows, "mnist.64.f32", "cleave");
  step<Alone<MnistNet, 64, bf16>>(rows, "mnist.64.bf16", "cleave");
  step<Alone<MnistNet, 1024, f32>>(rows, "mnist.1024.f32", "cleave");
  step<Alone<MnistNet, 1024, bf16>>(rows, "mnist.1024.bf16", "cleave");

  step<Alone<Digits, 32, f32>>(rows, "G4.mlp.32.f32", "cleave");
  step<Alone<Digits, 256, f32>>(rows, "G4.mlp.256.f32", "cleave");
}

}  // namespace bench
