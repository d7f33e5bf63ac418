// examples/stop.cpp - a small program that trains for some seconds, for stop.sh to stop: `stop train`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net
    : Sequential<Image<1, 8, 8>, Conv<4, 3>, BatchNorm, Relu, Linear<64>, Relu, Dropout<20>, Linear<4>, CrossEntropy> {
};
struct Train : Plan<Net, Batch<16>, MicroBatches<4>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.001f);
};
/// Goes on from checkpoints of Train, and loses everything in a step.
struct Diverge : Train {
  static constexpr Rate rate = Rate::constant(1e38f);
};
struct Plain : Sequential<Image<1, 8, 8>, Conv<4, 3>, Relu, Linear<64>, Relu, Linear<4>, CrossEntropy> {};
struct Around : Plan<Plain, Batch<16>, MicroBatches<4>, DataParallel<Async>, Sgd> {
  static constexpr Rate rate = Rate::constant(0.01f);
};

struct InStep : Plan<Plain, Batch<16>, MicroBatches<4>, DataParallel<Sync>, Shards<1>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.01f);
};
/// The same, which loses everything, at the largest rate that a server takes.
struct DivergeInStep : InStep {
  static constexpr Rate rate = Rate::constant(1000);
};
struct Portion : Plan<Plain, Batch<16>, MicroBatches<4>, DataParallel<Async>> {};

/// Squares at four places.
struct Squares {
  static constexpr auto name = "squares";
  static constexpr session::Variation variation{1, false};
  static io::Images read(std::string const&, io::Split split, std::string&) {
    io::Images all;
    all.count = split == io::Split::Train ? 128 : 64;
    all.channels = 1;
    all.height = all.width = 8;
    for (int i = 0; i < all.count; ++i) {
      int const of = i * 7 % 4;
      all.labels.push_back(static_cast<unsigned char>(of));
      for (int p = 0; p < 64; ++p) {
        bool const inside = p / 32 == of / 2 && p % 8 / 4 == of % 2;
        all.pixels.push_back(static_cast<unsigned char>((inside ? 150 : 50) + (i * 13 + p * 31) % 60));
      }
    }
    return all;
  }
};

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "";
  if (what == "train") return run<Train, Squares>(argc - 1, argv + 1);
  if (what == "diverge") return run<Diverge, Squares>(argc - 1, argv + 1);
  if (what == "served") return run<Around, Squares>(argc - 1, argv + 1);
  if (what == "portions") return run<Sandblaster<Portion>, Squares>(argc - 1, argv + 1);
  if (what == "in-step") return run<InStep, Squares>(argc - 1, argv + 1);
  if (what == "diverge-in-step") return run<DivergeInStep, Squares>(argc - 1, argv + 1);
  std::fprintf(stderr, "stop train|diverge|served|in-step|diverge-in-step|portions OPTIONS\n");
  return 2;
}
