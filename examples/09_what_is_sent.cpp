// 09_what_is_sent - gradients by a ring, with one bit an element, and as factors: each rank's traffic, before and after a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

template <class... Options>
struct Mlp : Sequential<Image<3, 32, 32>, Linear<512, Options...>, Relu, Linear<512, Options...>, Relu, Linear<10>,
                        CrossEntropy> {};
template <class Net, class... Words>
struct Of : Plan<Net, Batch<128>, DataParallel<Sync>, Fastest, Momentum, Words...> {
  static constexpr Rate rate = Rate::cosine(0.02f).warm_up(20);
  static constexpr int epochs = 2;
};
struct ByRing : Of<Mlp<>, ReduceBy<Ring>> {};
struct OneBitEach : Of<Mlp<>, Compress<OneBit>> {};
struct Factored : Of<Mlp<SendCheapest>> {};

// Bytes that each of four ranks sends in a step.
static_assert(traffic<ByRing, 4>.bytes_per_step == 2 * 3 * (3073 * 512 + 513 * 512 + 513 * 10) / 4 * 4);
static_assert(traffic<OneBitEach, 4>.bytes_per_step * 28 < traffic<ByRing, 4>.bytes_per_step);
static_assert(traffic<Factored, 4>.bytes_per_step * 4 < traffic<ByRing, 4>.bytes_per_step);

// ./09_what_is_sent [ring|bit|factors] --ranks 4
int main(int argc, char** argv) {
  std::string const how = argc > 1 ? argv[1] : "";
  if (how == "bit") return run<OneBitEach, Cifar10>(argc - 1, argv + 1);
  if (how == "factors") return run<Factored, Cifar10>(argc - 1, argv + 1);
  return how == "ring" ? run<ByRing, Cifar10>(argc - 1, argv + 1) : run<ByRing, Cifar10>(argc, argv);
}
