// 19_lstm - three LSTM layers, each on a rank of its own, learn to write like a text: `19_lstm plays.txt`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/text_file.hpp>
#include <cleave/predict/sample_text.hpp>

#include <cstdio>
#include <cstdlib>

using namespace cleave;

constexpr int positions = 64, letters = 128, units = 128;
struct Net : Sequential<Vector<positions>, Embedding<letters, 64>, Lstm<units>, Lstm<units>, Lstm<units>,
                        PerPosition<Linear<letters>, CrossEntropy>> {};
// Micro-batches go from layer to layer, so that all ranks work at once.
struct Train : Plan<Net, Batch<32>, MicroBatches<8>, ModelParallel<SplitLayers<3>>, Adam> {
  static constexpr Rate rate = Rate::cosine(0.004f).warm_up(50);
};
// The same on one rank has the same bits.
struct Alone : Plan<Net, Batch<32>, MicroBatches<8>, Adam> {
  static constexpr Rate rate = Train::rate;
};
static_assert(same_bits<Train, Alone>);

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: 19_lstm TEXT [EPOCHS]\n"), 2;
  TextWindows<positions, letters> const text(argv[1]);
  auto const [training, test] = split(text, 0.1);  // the end of the text
  Trainer<Train> trainer;
  trainer.fit(training, test, {.epochs = argc > 2 ? std::atoi(argv[2]) : 4}, [](Epoch const& e) {
    std::printf("epoch %d: %ld steps, loss %.3f, held out %.3f\n", e.epoch, e.steps, e.loss, e.val_loss);
  });
  std::string const written = sample_text(trainer.predictor(), "The ", 400, {.temperature = 0.8f});
  std::printf("%s\n", written.c_str());
} catch (Error const& e) {
  std::fprintf(stderr, "19_lstm: %s\n", e.what());
  return 2;
}
