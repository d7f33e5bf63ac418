// 01_out_of_memory - a network of 300 million weights with Adam and a device of 4 GiB: what takes the memory, what helps?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cstdio>
#include <string>

using namespace cleave;

struct Net
    : Sequential<Vector<4096>, Linear<12288>, Relu, Linear<12288>, Relu, Linear<8192>, Relu, Linear<16>, CrossEntropy> {
};
template <class... Words> struct Train : Plan<Net, Batch<128>, MicroBatches<1>, Words...> {};
static_assert(schedule::program<Train<Adam>>.weight_elements > 300'000'000);

// Written as `static_assert(fits<Train<Adam>, 4_GiB>);` the first would not compile: the error lists the memory by
// category and what bf16, plain SGD and more replicas would save.
using OnOne = Train<Adam>;
using ByAdamless = Train<>;
using InFour = Train<Adam, ModelParallel<SplitCols, Ways<4>>>;
static_assert(memory<OnOne>.total > 4_GiB);
static_assert(fits<ByAdamless, 4_GiB>);  // no moments: a third of the state
static_assert(fits<InFour, 4_GiB>);      // a quarter of every layer on each of four devices

template <class P> void print(char const* name) {
  std::printf("%-28s", name);
  for (long bytes : memory<P>.bytes) std::printf(" %13ld", bytes >> 20);
  std::printf(" %13ld%s\n", memory<P>.total >> 20, memory<P>.total > 4_GiB ? "  does not fit" : "");
}

int main() {
  std::printf("%-28s", "MiB of a device");
  for (int c = 0; c < schedule::categories; ++c)
    std::printf(" %13s", std::string(schedule::name(static_cast<schedule::Category>(c))).c_str());
  std::printf(" %13s\n", "all");
  print<OnOne>("Adam, one device");
  print<Train<Momentum>>("momentum");
  print<ByAdamless>("plain SGD");
  print<Train<Adam, Precision<bf16>>>("Adam, bf16");
  print<Train<Adam, ModelParallel<SplitCols>>>("Adam, columns on two");
  print<InFour>("Adam, columns on four");
}
