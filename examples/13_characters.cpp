// 13_characters - the next character of a text, learnt and then drawn one after the other: `13_characters plays.txt`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/text_file.hpp>
#include <cleave/predict/sample_text.hpp>

#include <cstdio>
#include <cstdlib>

using namespace cleave;

constexpr int places = 24;  // characters that the next one follows from
struct Net : Sequential<Vector<places>, Embedding<256, 12>, Linear<192>, Relu, Linear<256>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::cosine(0.003f).warm_up(100);
};

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: 13_characters TEXT [EPOCHS]\n"), 2;
  TextFile<places> const text(argv[1]);
  auto const [training, test] = split(text, 0.05);  // the end of the text
  Trainer<Train> trainer;
  trainer.fit(training, test, {.epochs = argc > 2 ? std::atoi(argv[2]) : 2},
              [](Epoch const& e) { std::printf("epoch %d: loss %.3f, held out %.3f\n", e.epoch, e.loss, e.val_loss); });

  std::string const written = sample_text(trainer.predictor(), "to be, or not to be: that", 200, {.seed = 7});
  std::printf("%s\n", written.c_str());
} catch (Error const& e) {
  std::fprintf(stderr, "13_characters: %s\n", e.what());
  return 2;
}
