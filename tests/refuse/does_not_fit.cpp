// refused: the plan does not fit
// refused: the_plan_fits_its_memory
// refused: weights_take<
// refused: optimizer_takes<
// refused: precision_bf16_saves<
// refused: plain_sgd_saves<
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, Adam> {};
static_assert(fits<Train, 64_MiB>);
