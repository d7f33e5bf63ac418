// benchmarks/gpu_narrow.cu - steps of narrow nets on large batches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu_nets.hpp"

namespace bench {

template <int W>
struct Narrow : Sequential<Vector<W>, Linear<W>, Relu, Linear<W>, Relu, Linear<W>, Relu, Linear<W>, Relu, Linear<W>,
                           CrossEntropy> {};
template <int W, int B> struct Large : Of<Narrow<W>, B, bf16, MicroBatches<1>, Adam> {};

void narrow_nets(Rows const& rows) {
  step<Large<64, 1 << 14>>(rows, "G2.64.16384", "cleave");
  step<Large<64, 1 << 17>>(rows, "G2.64.131072", "cleave");
  step<Large<128, 1 << 14>>(rows, "G2.128.16384", "cleave");
  step<Large<128, 1 << 17>>(rows, "G2.128.131072", "cleave");
}

}  // namespace bench
