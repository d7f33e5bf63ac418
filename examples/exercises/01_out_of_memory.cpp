// 01_out_of_memory - a network of 300 million weights with Adam and a device of 4 GiB: what takes the memory, what helps?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
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

/// A row of the table: what a plan takes of a device, by category.
struct Row {
  char const* name;
  schedule::Memory memory;
  bool fits() const { return memory.total <= 4_GiB; }
};
template <class P> constexpr Row row(char const* name) { return {name, memory<P>}; }

int main() {
  Row const rows[] = {row<OnOne>("Adam, one device"),
                      row<Train<Momentum>>("momentum"),
                      row<ByAdamless>("plain SGD"),
                      row<Train<Adam, Precision<bf16>>>("Adam, bf16"),
                      row<Train<Adam, ModelParallel<SplitCols>>>("Adam, columns on two"),
                      row<InFour>("Adam, columns on four")};
  std::printf("%-28s", "MiB of a device");
  auto const category = [](int c) { return std::string(schedule::name(static_cast<schedule::Category>(c))); };
  for (int c = 0; c < schedule::categories; ++c) std::printf(" %13s", category(c).c_str());
  std::printf(" %13s\n", "all");
  std::string fitting;
  for (Row const& r : rows) {
    std::printf("%-28s", r.name);
    for (long bytes : r.memory.bytes) std::printf(" %13ld", bytes >> 20);
    std::printf(" %13ld%s\n", r.memory.total >> 20, r.fits() ? "" : "  does not fit");
    if (r.fits()) fitting += (fitting.empty() ? "" : "; ") + std::string(r.name);
  }
  auto const& first = rows[0].memory;
  auto const most = std::max_element(std::begin(first.bytes), std::end(first.bytes));
  std::printf("answer: %s takes %ld %% of %ld MiB; within 4096 MiB are: %s\n",
              category(static_cast<int>(most - std::begin(first.bytes))).c_str(), 100 * *most / first.total,
              first.total >> 20, fitting.c_str());
}
