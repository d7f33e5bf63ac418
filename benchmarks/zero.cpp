// zero - the stages of ZeRO beside plain data parallelism: time and memory of a step on two replicas, traffic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "synthetic.hpp"

using namespace cleave;

namespace {

constexpr int replicas = 2, rounds = 15, steps = 30;

struct Mlp : Sequential<Vector<784>, Linear<512>, Relu, Linear<512>, Relu, Linear<10>, CrossEntropy> {};
struct Deep : Sequential<Vector<256>, Linear<256>, Relu, Linear<256>, Relu, Linear<256>, Relu, Linear<256>, Relu,
                         Linear<256>, Relu, Linear<256>, Relu, Linear<10>, CrossEntropy> {};
template <class Net, class... Policies> struct Train : Plan<Net, Batch<128>, MicroBatches<2>, Policies...> {};

template <class P> class Stage {
 public:
  /// Microseconds of a step.
  double step() {
    auto const begin = std::chrono::steady_clock::now();
    trainer_.train(at_, steps, bench::synthetic<typename P::Net>());
    at_ += steps;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / steps * 1e6;
  }

 private:
  Trainer<P> trainer_{replicas, 7};
  long at_ = 0;
};

template <class Net, class... Policies> void measure(char const* name) {
  using Sync0 = Train<Net, DataParallel<Sync>, Policies...>;
  using Zero1 = Train<Net, DataParallel<Sync, Zero<1>>, Policies...>;
  using Zero2 = Train<Net, DataParallel<Sync, Zero<2>>, Policies...>;
  using Zero3 = Train<Net, DataParallel<Sync, Zero<3>>, Policies...>;
  Stage<Sync0> sync;
  Stage<Zero1> one;
  Stage<Zero2> two;
  Stage<Zero3> three;
  std::vector<double> times[4];
  for (int round = 0; round < rounds; ++round) {  // in turn
    times[0].push_back(sync.step());
    times[1].push_back(one.step());
    times[2].push_back(two.step());
    times[3].push_back(three.step());
  }
  schedule::Memory const memories[] = {memory<Sync0, replicas>, memory<Zero1, replicas>, memory<Zero2, replicas>,
                                       memory<Zero3, replicas>};
  long const bytes[] = {traffic<Sync0, replicas>.bytes_per_step, traffic<Zero1, replicas>.bytes_per_step,
                        traffic<Zero2, replicas>.bytes_per_step, traffic<Zero3, replicas>.bytes_per_step};
  char const* const names[] = {"Sync", "Zero<1>", "Zero<2>", "Zero<3>"};
  std::printf("%s\n", name);
  for (int stage = 0; stage < 4; ++stage) {
    std::vector<double> ratio;
    for (std::size_t r = 0; r < rounds; ++r) ratio.push_back(times[0][r] / times[stage][r]);
    std::vector<double> own = times[stage];
    std::sort(ratio.begin(), ratio.end());
    std::sort(own.begin(), own.end());
    std::printf("  %-7s %6.0f us, x %.2f; %9ld bytes a rank without workspace, %9ld sent\n", names[stage],
                own[rounds / 2], ratio[rounds / 2],
                memories[stage].total - memories[stage][schedule::Category::Workspace], bytes[stage]);
  }
}

}  // namespace

int main() {
  measure<Mlp, Adam>("784-512-512-10, f32, Adam");
  measure<Mlp, Adam, Precision<bf16>>("784-512-512-10, bf16, Adam");
  measure<Deep, Adam>("seven dense layers of 256, f32, Adam");
  measure<Mlp, Sgd>("784-512-512-10, f32, Sgd");
  measure<Deep, Sgd>("seven dense layers of 256, f32, Sgd");
}
