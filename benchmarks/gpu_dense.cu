// benchmarks/gpu_dense.cu - steps of dense nets: MNIST's, one rank against eight, and narrow ones on large batches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu.hpp"

namespace {

using namespace cleave;

struct MnistNet : Sequential<Image<1, 28, 28>, Linear<512>, Relu, Linear<512>, Relu, Linear<10>, CrossEntropy> {};
template <int W>
struct Narrow : Sequential<Vector<W>, Linear<W>, Relu, Linear<W>, Relu, Linear<W>, Relu, Linear<W>, Relu, Linear<W>,
                           CrossEntropy> {};
struct Digits : Sequential<Vector<784>, Linear<128>, Relu, Linear<10>, CrossEntropy> {};

template <class Net, int B, class T, class... Ps> struct Of : Plan<Net, Batch<B>, Precision<T>, Ps...> {
  static constexpr Rate rate = Rate::constant(1e-3f);
};
template <class Net, int B, class T> struct Alone : Of<Net, B, T, MicroBatches<1>, Momentum> {};
template <int B, class T> struct Ranks : Of<MnistNet, B, T, MicroBatches<8>, DataParallel<Sync>, Momentum> {};
template <int W, int B> struct Large : Of<Narrow<W>, B, bf16, MicroBatches<1>, Adam> {};

}  // namespace

void bench::dense_nets(Rows const& rows) {
  step<Alone<MnistNet, 64, f32>>(rows, "mnist.64.f32", "cleave");
  step<Alone<MnistNet, 64, bf16>>(rows, "mnist.64.bf16", "cleave");
  step<Alone<MnistNet, 1024, f32>>(rows, "mnist.1024.f32", "cleave");
  step<Alone<MnistNet, 1024, bf16>>(rows, "mnist.1024.bf16", "cleave");

  step<Ranks<1024, f32>>(rows, "ranks.mnist.1024.f32", "cleave", 8);
  step<Ranks<1024, f32>>(rows, "ranks.mnist.1024.f32", "cleave 1 rank", 1);
  step<Alone<MnistNet, 1024, f32>>(rows, "ranks.mnist.1024.f32", "cleave 1 rank, 1 micro-batch");

  step<Large<64, 1 << 14>>(rows, "G2.64.16384", "cleave");
  step<Large<64, 1 << 17>>(rows, "G2.64.131072", "cleave");
  step<Large<128, 1 << 14>>(rows, "G2.128.16384", "cleave");
  step<Large<128, 1 << 17>>(rows, "G2.128.131072", "cleave");

  step<Alone<Digits, 32, f32>>(rows, "G4.mlp.32.f32", "cleave");
  step<Alone<Digits, 256, f32>>(rows, "G4.mlp.256.f32", "cleave");
}
