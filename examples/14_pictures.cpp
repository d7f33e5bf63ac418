// 14_pictures - two kinds of pictures from a folder for each: `14_pictures pets`, with pets/cat/*.jpg and pets/dog/*.png.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/augment.hpp>
#include <cleave/data/image_folder.hpp>

#include <cstdio>

using namespace cleave;

struct Net : Sequential<Image<3, 32, 32>, Conv<16, 3, Pad<1>>, Relu, MaxPool<2>, Conv<32, 3, Pad<1>>, Relu, MaxPool<2>,
                        Linear<64>, Relu, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<32>, DataParallel<Sync>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.02f);
};

int main(int argc, char** argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: 14_pictures FOLDER, with a folder of pictures for each class\n"), 2;
  ImageFolder<Image<3, 32, 32>, Class<2>> const pets(argv[1]);
  auto const [training, test] = split(pets, 0.2);

  Trainer<Train> trainer;
  FitOptions const how{.epochs = 20, .patience = 8, .standardise = true, .readers = 2};
  History const h = trainer.fit(augmented<Flip, Shift<3>, Brightness<20>>(training), test, how);
  trainer.save("pets.safetensors");

  auto predict = trainer.predictor();
  auto const [accuracy, matrix] = predict.evaluate(test, Accuracy{}, ConfusionMatrix{});
  std::printf("%zu epochs, accuracy %.3f\n%s", h.epochs.size(), accuracy.value(), matrix.text().c_str());
} catch (Error const& e) {
  std::fprintf(stderr, "14_pictures: %s\n", e.what());
  return 2;
}
