// int8 - prediction with weights of 8 bits beside f32: speed, bytes, and accuracy on the test sets: int8 [DIR [EPOCHS]].
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/image_set.hpp>
#include <cleave/predict/int8.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace cleave;

namespace {

struct Mlp : Sequential<Image<1, 28, 28>, Linear<512>, Relu, Linear<512>, Relu, Linear<10>, CrossEntropy> {};
struct CifarNet
    : Sequential<Image<3, 32, 32>, Conv<64, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>, Pad<1>>, Conv<64, 5, Pad<2>>, Relu,
                 MaxPool<3, Stride<2>, Pad<1>>, Linear<384>, Relu, Linear<192>, Relu, Linear<10>, CrossEntropy> {};
template <class Net> struct Train : Plan<Net, Batch<64>, DataParallel<Sync>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.02f).warm_up(50);
};

template <class F> double shortest(F f) {
  double best = 1;
  for (int round = 0; round < 15; ++round) {
    auto const begin = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best * 1e6;
}

template <class Net, class Read> void measure(char const* name, char const* folder, int epochs, Read read) {
  Trainer<Train<Net>> trainer;
  using Set = ImageSet<typename Net::input, Class<10>>;
  if (folder) {
    Set const training(read(folder, io::Split::Train));
    trainer.fit(training, {.epochs = epochs, .standardise = true});
  }
  Predictor<Net> whole(trainer);
  Predictor<Net, int8> small(trainer);
  std::printf("%s: weights of %ld bytes in f32, %ld in int8\n", name, whole.weight_bytes, small.weight_bytes);
  for (int const n : {1, 32}) {
    std::vector<float> x(static_cast<std::size_t>(n * whole.inputs)), y(static_cast<std::size_t>(n) * 10);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000) / 4;
    double f32 = 1e9, int8 = 1e9;
    for (int round = 0; round < 20; ++round) {  // in turn
      f32 = std::min(f32, shortest([&] { whole(x, y); }));
      int8 = std::min(int8, shortest([&] { small(x, y); }));
    }
    std::printf("  %2d samples: %9.2f us in f32, %9.2f us in int8: x %.2f\n", n, f32, int8, f32 / int8);
  }
  if (!folder) return;
  Set const test(read(folder, io::Split::Test));
  double const a = whole.evaluate(test, Accuracy{}).value(), b = small.evaluate(test, Accuracy{}).value();
  std::printf("  accuracy on %ld test samples: %.2f %% in f32, %.2f %% in int8\n", test.size(), 100 * a, 100 * b);
}

}  // namespace

int main(int argc, char** argv) try {
  char const* const folder = argc > 1 ? argv[1] : nullptr;
  int const epochs = argc > 2 ? std::atoi(argv[2]) : 3;
  measure<Mlp>("MNIST, dense", folder, epochs, [](std::string const& d, io::Split s) { return io::read_mnist(d, s); });
  measure<CifarNet>("CIFAR-10, convolutional", folder, epochs,
                    [](std::string const& d, io::Split s) { return io::read_cifar(d, s); });
} catch (Error const& e) {
  std::fprintf(stderr, "int8: %s\n", e.what());
  return 2;
}
