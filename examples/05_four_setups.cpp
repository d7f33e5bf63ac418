// 05_four_setups - in one program or between processes, synchronous or asynchronous: four types, one main.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <cstring>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<256>, Relu, Linear<10>, CrossEntropy> {};

// In one program that owns all replicas: sums by all-reduce, or asynchronous replicas.
struct InSync : Plan<Mlp, Batch<64>, DataParallel<Sync>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.05f).warm_up(50);
};
struct InAsync : Plan<Mlp, Batch<32>, DataParallel<Async>, Sgd> {
  static constexpr Rate rate = Rate::cosine(0.1f).warm_up(50);
};
// Between processes that know an address and a name: the server has the optimizer, and the client's code is the same.
struct BetweenSync : Plan<Mlp, Batch<64>, DataParallel<Sync>, Shards<1>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.05f).warm_up(50);
};
struct BetweenAsync : Plan<Mlp, Batch<32>, DataParallel<Async>, Shards<2>, Sgd> {
  static constexpr Rate rate = Rate::cosine(0.1f).warm_up(50);
};

// ./05_four_setups in-sync --data DIR --ranks 2                    threads; under mpirun, processes
// ./05_four_setups in-async --data DIR --ranks 2
// ./05_four_setups between-sync --serve 29500 --ranks 2 &          the server; then, anywhere, each client:
// ./05_four_setups between-sync --join localhost:29500 --container mnist --replica 0 --ranks 2 --data DIR
// ./05_four_setups between-sync --join localhost:29500 --container mnist --replica 1 --ranks 2 --data DIR
int main(int argc, char** argv) {
  char const* const setup = argc > 1 && argv[1][0] != '-' ? argv[1] : "in-sync";
  if (argc > 1 && setup == argv[1]) {  // the rest are the flags of every example
    for (int i = 1; i < argc; ++i) argv[i] = argv[i + 1];
    --argc;
  }
  if (std::strcmp(setup, "in-sync") == 0) return run<InSync, Mnist>(argc, argv);
  if (std::strcmp(setup, "in-async") == 0) return run<InAsync, Mnist>(argc, argv);
  if (std::strcmp(setup, "between-sync") == 0) return run<BetweenSync, Mnist>(argc, argv);
  if (std::strcmp(setup, "between-async") == 0) return run<BetweenAsync, Mnist>(argc, argv);
  std::fprintf(stderr, "05_four_setups: no set-up '%s'; say in-sync, in-async, between-sync or between-async\n", setup);
  return 2;
}
