// refused: Experts: its own options are TopExperts, CapacityPercent and LoadBalance, each once
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 8>, Experts<4, NoBias, Linear<8>>, PerPosition<Linear<2>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
