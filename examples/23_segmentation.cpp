// 23_segmentation - a class for each pixel: fully convolutional networks, rows of the images on two ranks.
// Source: Long, Shelhamer, Darrell, "Fully convolutional networks for semantic segmentation", 2015; with one narrow
// convolution before each pool.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace cleave;

constexpr int side = 64, classes = 4;  // background, square, disc, cross

template <int C> struct Stage : Path<Conv<C, 3, Pad<1>, NoBias>, BatchNorm, Relu, MaxPool<2>> {};
template <int S> using Enlarge = ConvTranspose<classes, 2 * S, Stride<S>, Pad<S / 2>, Bilinear>;
/// The scores of a stage, and beside them those of deeper ones, twice as large.
template <class... Deeper> struct Skip : Branches<Plus, Path<Deeper..., Enlarge<2>>, Path<Conv<classes, 1>>> {};
struct Deepest : Path<Stage<32>, Conv<64, 1>, Relu, Conv<classes, 1>> {};
template <class... Layers>
using Pixels = Sequential<Image<1, side, side>, Layers..., PixelsAsPositions, PerPosition<ParallelCrossEntropy>>;

struct Fcn32 : Pixels<Stage<8>, Stage<16>, Stage<16>, Stage<32>, Deepest, Enlarge<32>> {};
struct Fcn16 : Pixels<Stage<8>, Stage<16>, Stage<16>, Stage<32>, Skip<Deepest>, Enlarge<16>> {};
struct Fcn8 : Pixels<Stage<8>, Stage<16>, Stage<16>, Skip<Stage<32>, Skip<Deepest>>, Enlarge<8>> {};

template <class Net> struct Train : Plan<Net, Batch<16>, ModelParallel<SplitPositions, Ways<2>>, Adam> {
  static constexpr Rate rate = Rate::cosine(0.01f).warm_up(20);
};

/// Three shapes in front of noise, of which a later one hides an earlier one; image i is made from its number.
struct Shapes {
  using Input = Image<1, side, side>;
  using Target = Class<classes, side * side>;
  long first = 0, count = 512;
  long size() const { return count; }
  void read(long i, std::span<float> x, std::span<int> y) const {
    std::minstd_rand random(static_cast<unsigned>(first + i + 1) * 7919u);
    auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::fill(y.begin(), y.end(), 0);
    for (float& v : x) v = 0.01f * static_cast<float>(below(60));
    for (int kind = 1; kind < classes; ++kind) {
      int const r = 6 + below(6), row = r + below(side - 2 * r), column = r + below(side - 2 * r);
      float const bright = 0.4f + 0.01f * static_cast<float>(below(60));
      for (int h = -r; h <= r; ++h) {
        for (int w = -r; w <= r; ++w) {
          bool const disc = h * h + w * w <= r * r, cross = std::abs(h) <= r / 3 || std::abs(w) <= r / 3;
          if ((kind == 2 && !disc) || (kind == 3 && !cross)) continue;
          auto const at = static_cast<std::size_t>((row + h) * side + column + w);
          x[at] = 0.5f * x[at] + bright;
          y[at] = kind;
        }
      }
    }
  }
};

template <class Net> void train(char const* name, int epochs) {
  Trainer<Train<Net>> trainer;
  Shapes const training{0, 512}, test{512, 64};
  trainer.fit(training, {.epochs = epochs});
  auto const [right, iou] = trainer.evaluate(test, Accuracy{}, MeanIou{});
  std::printf("%s: %.1f %% of the pixels, mean intersection over union %.3f\n", name, 100 * right.value(), iou.value());
}

int main(int argc, char** argv) try {
  int const epochs = argc > 1 ? std::atoi(argv[1]) : 10;
  train<Fcn32>("FCN-32s", epochs);
  train<Fcn16>("FCN-16s", epochs);
  train<Fcn8>("FCN-8s", epochs);
} catch (Error const& e) {
  std::fprintf(stderr, "23_segmentation: %s\n", e.what());
  return 2;
}
