// refused: Mesh: more replicas than micro-batches
// refused: replicas_have_a_micro_batch_each<16, 8>
// refused: would_do<cleave::MicroBatches<16>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, MicroBatches<8>, Mesh<Data<16>>> {};
