// benchmarks/gpu_nets.hpp - the nets whose steps are measured on a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "gpu.hpp"

namespace bench {

using namespace cleave;

struct MnistNet : Sequential<Image<1, 28, 28>, Linear<512>, Relu, Linear<512>, Relu, Linear<10>, CrossEntropy> {};
struct CifarNet
    : Sequential<Image<3, 32, 32>, Conv<64, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>, Pad<1>>, Conv<64, 5, Pad<2>>, Relu,
                 MaxPool<3, Stride<2>, Pad<1>>, Linear<384>, Relu, Linear<192>, Relu, Linear<10>, CrossEntropy> {};

template <class Net, int B, class T, class... Ps> struct Of : Plan<Net, Batch<B>, Precision<T>, Ps...> {
  static constexpr Rate rate = Rate::constant(1e-3f);
};
template <class Net, int B, class T> struct Alone : Of<Net, B, T, MicroBatches<1>, Momentum> {};

}  // namespace bench
