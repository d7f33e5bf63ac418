// refused: Mesh: ways and replicas are whole numbers from 1
// refused: sizes_are_positive<0, 1, 0, 1>
// refused: Mesh<cleave::Data<0>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Mesh<Data<0>>> {};
