// 21_alexnet - AlexNet of 2012 in its two towers, one on each of two ranks: they meet at the third convolution and the dense
// layers only. Trained on ships and frogs of CIFAR-10, enlarged to 227 x 227: about 90 % of 250 others after 3 epochs
// of 1,000. Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks",
// 2012.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cstdio>
#include <cstdlib>
using namespace cleave;

using TowerNorm = LocalResponseNorm<5, Groups<2>>;
template <int Classes>
struct AlexNet
    : Sequential<Image<3, 227, 227>,                                                       //
                 Conv<96, 11, Stride<4>>, Relu, TowerNorm, MaxPool<3, Stride<2>>,          // (b, 96, 27, 27)
                 Conv<256, 5, Pad<2>, Groups<2>>, Relu, TowerNorm, MaxPool<3, Stride<2>>,  // (b, 256, 13, 13)
                 Conv<384, 3, Pad<1>>, Relu,                                               // of both towers
                 Conv<384, 3, Pad<1>, Groups<2>>, Relu,                                    //
                 Conv<256, 3, Pad<1>, Groups<2>>, Relu, MaxPool<3, Stride<2>>,             // (b, 256, 6, 6)
                 Linear<4096>, Relu, Dropout<50>, Linear<4096>, Relu, Dropout<50>,         //
                 Linear<Classes, ModelParallel<Whole>>, CrossEntropy> {};

/// Columns of a convolution are its filters, of one with groups its groups: half of them on each rank.
template <int Classes, class... Policies> struct Towers : Plan<AlexNet<Classes>, Batch<32>, Policies...> {};
using OneRank = Towers<1000>;
using TwoRanks = Towers<1000, ModelParallel<SplitCols, Ways<2>>>;
static_assert(schedule::program<OneRank>.weight_elements == 60'965'224);
// Forward, a rank sends its half of what the third convolution and the dense layers read; backward, half of each one's
// gradient, but not of the last one's, which both ranks compute.
static_assert(traffic<TwoRanks, 1>.elements_per_step == 32 * (2 * (256 * 13 * 13 + 256 * 6 * 6 + 4096) / 2 + 4096 / 2));

/// Two classes of a set of pictures, enlarged by linear interpolation; values from -1 to 1.
class Enlarged {
 public:
  using Input = Image<3, 227, 227>;
  using Target = Class<2>;

  Enlarged(io::Images images, int first, int second, int each) : images_(std::move(images)) {
    int taken[2]{};
    for (int i = 0; i < images_.count; ++i) {
      int const label = images_.labels[static_cast<std::size_t>(i)];
      int const as = label == first ? 0 : label == second ? 1 : -1;
      if (as >= 0 && taken[as]++ < each) of_.push_back({i, as});
    }
  }
  long size() const { return static_cast<long>(of_.size()); }
  void read(long i, std::span<float> x, int& y) const {
    auto const [image, label] = of_[static_cast<std::size_t>(i)];
    unsigned char const* const from =
        images_.pixels.data() + std::size_t{3 * 32 * 32} * static_cast<std::size_t>(image);
    std::size_t e = 0;
    for (int c = 0; c < 3; ++c) {
      for (int row = 0; row < 227; ++row) {
        for (int col = 0; col < 227; ++col) x[e++] = at(from + c * 32 * 32, row, col);
      }
    }
    y = label;
  }

 private:
  static float at(unsigned char const* plane, int row, int col) {
    float const h = static_cast<float>(row) * 31 / 226, w = static_cast<float>(col) * 31 / 226;
    int const r = h < 30 ? static_cast<int>(h) : 30, c = w < 30 ? static_cast<int>(w) : 30;
    float const dh = h - static_cast<float>(r), dw = w - static_cast<float>(c);
    auto const line = [&](unsigned char const* p) {
      return static_cast<float>(p[0]) * (1 - dw) + static_cast<float>(p[1]) * dw;
    };
    unsigned char const* const p = plane + 32 * r + c;
    return (line(p) * (1 - dh) + line(p + 32) * dh) / 127.5f - 1;
  }
  struct Picture {
    int image, label;
  };
  io::Images images_;
  std::vector<Picture> of_;
};

struct Train : Towers<2, ModelParallel<SplitCols, Ways<2>>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.01f).warm_up(30);
};

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "21_alexnet CIFAR-10-FOLDER [pictures of each class, 500] [epochs, 3]\n");
    return 2;
  }
  int const each = argc > 2 ? std::atoi(argv[2]) : 500, epochs = argc > 3 ? std::atoi(argv[3]) : 3;
  try {
    int const ship = 8, frog = 6;
    Enlarged const train(io::read_cifar(argv[1], io::Split::Train), ship, frog, each);
    Enlarged const test(io::read_cifar(argv[1], io::Split::Test), ship, frog, each / 4);
    std::printf("%ld pictures to learn from, %ld held out\n", train.size(), test.size());
    Trainer<Train> trainer;
    trainer.fit(train, test, {.epochs = epochs}, ProgressBar());
  } catch (Error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
