// refused: Mesh: ways and replicas are whole numbers from 1
// refused: sizes_are_positive<-2, 0, 0, 0>
// refused: Ways<-2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitCols, Ways<-2>>> {};
