// schedule/buffers.cpp - which tensors have memory, and which take another's place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

// The values of product, bias and map are one tensor; back, the gradient of the map's input takes its output's place.
struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2>, CrossEntropy> {};
struct Plain : Plan<Net, Batch<8>, MicroBatches<2>> {};
static_assert(Plain::buffer_table.value[0] == Plain::buffer_table.value[1] &&
              Plain::buffer_table.value[1] == Plain::buffer_table.value[2]);
static_assert(Plain::buffer_table.gradient[0] == Plain::buffer_table.gradient[2]);
static_assert(Plain::buffer_table.value[5] == -1 &&
              Plain::buffer_table.gradient[5] == -1);  // a loss is a number of the step
static_assert(Plain::buffer_table.buffers == 5 && Plain::buffer_table.buffer[0].elements == 4 * 8);

// An operation on elements may write where it reads; where a later one still reads the value, it may not.
struct Drops : Sequential<Vector<8>, Linear<8>, LayerNorm, Dropout<20>, Linear<2>, CrossEntropy> {};
struct DropsPlan : Plan<Drops, Batch<8>> {};
template <class P> constexpr int node_of(std::string_view name) {
  int k = 0;
  while (P::placed.node[k].op < 0 || P::signatures.op[P::placed.node[k].op].name != name) ++k;
  return k;
}
constexpr int dropped = node_of<DropsPlan>("dropout");
static_assert(DropsPlan::buffer_table.value[dropped] != DropsPlan::buffer_table.value[dropped - 1]);
static_assert(DropsPlan::buffer_table.buffer[DropsPlan::buffer_table.value[dropped]].takes_over ==
              DropsPlan::buffer_table.value[dropped - 1]);
struct Res : Sequential<Vector<8>, Linear<8>, Residual<Dropout<20>>, Linear<2>, CrossEntropy> {};
struct ResPlan : Plan<Res, Batch<8>> {};
static_assert(ResPlan::buffer_table.buffer[ResPlan::buffer_table.value[2]].takes_over == -1);

// What conversions write is memory for communication.
struct Halves : Plan<Net, Batch<8>, ModelParallel<SplitColsRows>> {};
template <class P> int of_communication() {
  int n = 0;
  for (int b = 0; b < P::buffer_table.buffers; ++b) {
    n += P::buffer_table.buffer[b].category == schedule::Category::Communication;
  }
  return n;
}

}  // namespace

TEST_CASE("what conversions write is memory for communication") {
  CHECK(of_communication<Plain>() == 0);
  CHECK(of_communication<Halves>() == 1);
}
