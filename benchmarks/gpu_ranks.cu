// benchmarks/gpu_ranks.cu - steps of one rank against eight on one device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu_nets.hpp"

namespace bench {

template <class Net, int B, class T> struct Ranks : Of<Net, B, T, MicroBatches<8>, DataParallel<Sync>, Momentum> {};

template <class Net, class T> void ranks(Rows const& rows, std::string const& row) {
  step<Ranks<Net, 1024, T>>(rows, row, "cleave", 8);
  step<Ranks<Net, 1024, T>>(rows, row, "cleave 1 rank", 1);
  step<Alone<Net, 1024, T>>(rows, row, "cleave 1 rank, 1 micro-batch");
}

void many_ranks(Rows const& rows) {
  ranks<MnistNet, f32>(rows, "ranks.mnist.1024.f32");
  ranks<CifarNet, bf16>(rows, "ranks.cifar.1024.bf16");
}

}  // namespace bench
