// 06_spares_against_stragglers - six of eight replicas make an update, while one of them is slow at times.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<128>, Relu, Linear<10>, CrossEntropy> {};

/// Every gradient takes 2 ms on a separate device; one in thirty takes 30 ms.
struct Delays {
  static void delay(int replica, long step) {
    tensor::Random const draw{9, tensor::Purpose::Shuffle, static_cast<std::uint32_t>(replica)};
    bool const slow = draw.below(30, static_cast<std::uint64_t>(step)) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(slow ? 30 : 2));
  }
};
struct Train : Plan<Mlp, Batch<96>, MicroBatches<24>, DataParallel<Sync, Spares<2>>, Momentum>, Delays {
  static constexpr Rate rate = Rate::cosine(0.05f).warm_up(20);
  static constexpr int epochs = 1;
};
struct WithoutSpares : Plan<Mlp, Batch<96>, MicroBatches<24>, DataParallel<Sync>, Shards<1>, Momentum>, Delays {
  static constexpr Rate rate = Rate::cosine(0.05f).warm_up(20);
  static constexpr int epochs = 1;
};

// ./06_spares_against_stragglers --ranks 8 --data DIR             8 replicas, 6 to an update: dropped ones are counted
// ./06_spares_against_stragglers all --ranks 6 --data DIR         6 replicas, all waited for
int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "all") return run<WithoutSpares, Mnist>(argc - 1, argv + 1);
  return run<Train, Mnist>(argc, argv);
}
