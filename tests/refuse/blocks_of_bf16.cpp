// refused: Blocks: parts of a product's sum would be rounded as they are sent in a narrow format
// refused: say Precision<f32> or <f64>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Precision<bf16>, ModelParallel<SplitRows>, Blocks<4>> {};
