// backend/gpu/fleet.cpp - rows 17, 48, 74, 75: split layers on the ranks of one device, with the bits of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../run/on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

TEST_CASE("columns split, with data parallel") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitCols>, AdamW>>(1e-5, {1, 2, 3});
}
TEST_CASE("rows split, in rounds") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitRows>, Accumulate<2>>>(1e-6, {1, 2, 3});
}
TEST_CASE("columns, then rows, in bf16") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitColsRows>, Precision<bf16>, Momentum>>(1e-2, {1, 2, 4});
}
TEST_CASE("batch cut over both axes") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitBatch>, Nesterov>>(1e-6, {1, 2});
}
