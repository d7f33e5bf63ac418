// benchmarks/gpu_conv.cu - steps of convolutional nets: the examples' on CIFAR-10, one rank against eight, and LeNet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu.hpp"

namespace {

using namespace cleave;

struct Cifar
    : Sequential<Image<3, 32, 32>, Conv<64, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>, Pad<1>>, Conv<64, 5, Pad<2>>, Relu,
                 MaxPool<3, Stride<2>, Pad<1>>, Linear<384>, Relu, Linear<192>, Relu, Linear<10>, CrossEntropy> {};
struct LeNet : Sequential<Image<1, 28, 28>, Conv<6, 5, Pad<2>>, Relu, MaxPool<2>, Conv<16, 5>, Relu, MaxPool<2>,
                          Linear<120>, Relu, Linear<84>, Relu, Linear<10>, CrossEntropy> {};

template <class Net, int B, class T, class... Ps> struct Of : Plan<Net, Batch<B>, Precision<T>, Momentum, Ps...> {
  static constexpr Rate rate = Rate::constant(1e-3f);
};
template <class Net, int B, class T> struct Alone : Of<Net, B, T, MicroBatches<1>> {};
template <int B, class T> struct Libraries : Of<Cifar, B, T, MicroBatches<1>, Fastest, Workspace<512_MiB>> {};
template <int B, class T> struct Ranks : Of<Cifar, B, T, MicroBatches<8>, DataParallel<Sync>> {};

/// Beside a row of our own kernels, where the benchmark was built with cuBLASLt or cuDNN.
template <class P> void by_libraries(bench::Rows const& rows, std::string const& row, std::string const& side = "cleave libraries") {
  if constexpr (!std::is_same_v<Cuda::Machine, bench::Machine>) {
    bench::step<P, Cuda::Machine>(rows, row, side);
  }
}

}  // namespace

void bench::convolutional_nets(Rows const& rows) {
  step<Alone<Cifar, 128, bf16>>(rows, "cifar.128.bf16", "cleave");
  step<Alone<Cifar, 1024, bf16>>(rows, "cifar.1024.bf16", "cleave");
  step<Alone<Cifar, 128, f32>>(rows, "cifar.128.f32", "cleave");
  step<Alone<Cifar, 1024, f32>>(rows, "cifar.1024.f32", "cleave");

  by_libraries<Libraries<1024, bf16>>(rows, "cifar.1024.bf16");
  by_libraries<Libraries<1024, tf32>>(rows, "cifar.1024.f32", "cleave libraries tf32");
  by_libraries<Libraries<1024, f32>>(rows, "cifar.1024.f32");

  step<Ranks<1024, bf16>>(rows, "ranks.cifar.1024.bf16", "cleave", 8);
  step<Ranks<1024, bf16>>(rows, "ranks.cifar.1024.bf16", "cleave 1 rank", 1);
  step<Alone<Cifar, 1024, bf16>>(rows, "ranks.cifar.1024.bf16", "cleave 1 rank, 1 micro-batch");

  step<Alone<LeNet, 32, f32>>(rows, "G4.lenet.32.f32", "cleave");
  step<Alone<LeNet, 256, f32>>(rows, "G4.lenet.256.f32", "cleave");
}
