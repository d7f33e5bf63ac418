// 07_forgotten_save - a network is trained around a server, and its program ends without a file: is the network lost?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdio>

#include "spirals.hpp"

using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<64>, Relu, Linear<64>, Relu, Linear<3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<50>, MicroBatches<1>, DataParallel<Async>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.05f);
  static constexpr int epochs = 40;
};

struct Points {
  static constexpr auto name = "spirals";
  static io::Samples read(std::string const&, io::Split split, std::string&) {
    Spirals const of = split == io::Split::Train ? Spirals{0, 1500} : Spirals{1500, 600};
    io::Samples all;
    std::vector<float> x(2);
    int y = 0;
    for (long i = 0; i < of.size(); ++i) of.read(i, x, y), all.add(x, y);
    return all;
  }
};

// In three terminals:
//   07_forgotten_save --serve 29742                                     the server; it goes on when a program ends
//   07_forgotten_save --join 127.0.0.1:29742 --replica 0 --out mine     trains; then: rm -r mine
//   07_forgotten_save --join 127.0.0.1:29742 --out found                not a replica: it saves what the server has
// The last of them evaluates the file that it has saved.
int main(int argc, char** argv) {
  if (int const code = run<Train, Points>(argc, argv)) return code;
  std::vector<std::string> const words(argv + 1, argv + argc);
  auto const has = [&](char const* option) { return std::find(words.begin(), words.end(), option) != words.end(); };
  auto const out = std::find(words.begin(), words.end(), "--out");
  if (!has("--join") || has("--replica") || out == words.end()) return 0;

  std::string const file = out[1] + "/checkpoint.safetensors";
  double const accuracy = Predictor<Net>(file).evaluate(Spirals{1500, 600}, Accuracy{}).value();
  std::printf("answer: %s, the server has the network: %s has an accuracy of %.3f\n", accuracy > 0.9 ? "no" : "yes",
              file.c_str(), accuracy);
}
