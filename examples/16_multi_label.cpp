// 16_multi_label - several labels a sample, from arrays that NumPy has saved: `16_multi_label x.npy y.npy`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/npy.hpp>

#include <cstdio>

using namespace cleave;

struct Net : Sequential<Vector<20>, Linear<64>, Relu, Linear<5>, BinaryCrossEntropy> {};
struct Train : Plan<Net, Batch<64>, DataParallel<Sync>, AdamW> {
  static constexpr Rate rate = Rate::cosine(0.005f);
};

int main(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: 16_multi_label X.npy Y.npy\n"), 2;
  Npy<Vector<20>, Values<5>> const songs(argv[1], argv[2]);  // (n, 20) and (n, 5); the files are mapped, not read
  auto const [training, test] = split(songs, 0.2);

  Trainer<Train> trainer;
  trainer.fit(training, test, {.epochs = 40, .patience = 10, .standardise = true});
  trainer.save("songs.safetensors");

  auto const [accuracy, f1] = trainer.predictor().evaluate(test, Accuracy{}, MacroF1{});
  std::printf("of %ld songs: accuracy %.3f, F1 %.3f\n", test.size(), accuracy.value(), f1.value());
} catch (Error const& e) {
  std::fprintf(stderr, "16_multi_label: %s\n", e.what());
  return 2;
}
