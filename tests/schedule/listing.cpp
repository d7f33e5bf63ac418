// schedule/listing.cpp - a plan as text is stable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2, NoBias>, CrossEntropy> {};
struct Halves : Plan<Net, Batch<8>, ModelParallel<SplitColsRows>> {};
}  // namespace

TEST_CASE("the listing of columns then rows") {
  CHECK(schedule::listing<Halves>({1, 2}) ==
        "   0  forward         0.product+bias+relu               (b, 2)              shard<0>\n"
        "   1  forward         2.product                         (b, 2)              partial\n"
        "   2  convert         partial -> invariant                                  all_reduce     over 2 ways, sends "
        "16 elements\n"
        "   3  forward         3.cross_entropy\n"
        "   4  backward_input  3.cross_entropy\n"
        "   5  backward_input  2.product+relu\n"
        "   6  backward_weight 2.product\n"
        "   7  start           2.product                         4 weights           all_reduce     over 1 replicas, "
        "sends 0 elements\n"
        "   8  backward_weight 0.bias\n"
        "   9  backward_weight 0.product\n"
        "  10  start           0.product                         18 weights          all_reduce     over 1 replicas, "
        "sends 0 elements\n"
        "  11  update          2.product                         4 weights\n"
        "  12  update          0.product                         18 weights\n");
}
