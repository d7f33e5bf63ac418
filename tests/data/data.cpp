// data/data.cpp - shuffling is a permutation that depends on seed and epoch; scaling gives mean 0 and deviation 1; sets that
// do not fit the model are refused before training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

TEST_CASE("an epoch shows each image once, in another order than the epoch before") {
  io::Images images;
  images.count = 40;
  images.channels = images.height = images.width = 1;
  for (int i = 0; i < 40; ++i) {
    images.pixels.push_back(static_cast<unsigned char>(i));
    images.labels.push_back(static_cast<unsigned char>(i % 10));
  }
  session::Batches batches(images, session::Scaling{{0}, {1}}, 8);
  std::vector<std::vector<float>> orders;
  for (long epoch : {0L, 1L, 0L}) {
    batches.shuffle(epoch);
    std::vector<float> order;
    for (long s = 0; s < batches.steps_per_epoch(); ++s) {
      float x[8];
      int label[8];
      auto const feed = batches.feed();
      feed.pixels(feed.self, epoch * 5 + s, 0, 8, x);
      feed.labels(feed.self, epoch * 5 + s, 0, 8, label);
      for (int i = 0; i < 8; ++i) {
        order.push_back(x[i]);
        CHECK(label[i] == static_cast<int>(x[i]) % 10);
      }
    }
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 40; ++i) REQUIRE(sorted[static_cast<std::size_t>(i)] == static_cast<float>(i));
    orders.push_back(order);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[0] == orders[2]);
}

TEST_CASE("scaled pixels have mean 0 and deviation 1; variation depends on the image, not on who asks") {
  io::Images const images = io::draw_standin(64, 5);
  session::Batches batches(images, session::Scaling::of(images), 64, 1, false);
  std::vector<float> x(64 * 3072), one(3072);
  auto const feed = batches.feed();
  feed.pixels(feed.self, 0, 0, 64, x.data());
  double sum = 0, squares = 0;
  for (float v : x) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  double const n = static_cast<double>(x.size());
  CHECK(sum / n == doctest::Approx(0).epsilon(1e-3));
  CHECK(squares / n == doctest::Approx(1).epsilon(1e-2));
  session::Batches varied(images, session::Scaling::of(images), 64, 1, false, {2, true});
  auto const moved = varied.feed();
  std::vector<float> y(64 * 3072);
  moved.pixels(moved.self, 0, 0, 64, y.data());
  moved.pixels(moved.self, 0, 17, 1, one.data());
  CHECK(std::equal(one.begin(), one.end(), y.begin() + 17 * 3072));
  CHECK(x != y);
}

namespace {

template <int Classes> struct Net : Sequential<Image<1, 4, 4>, Linear<Classes>, CrossEntropy> {};
template <int Classes> struct Train : Plan<Net<Classes>, Batch<4>> {};

io::Images dots(int count, int side) {
  io::Images images{count, 1, side, side, {}, {}, 10};
  for (int i = 0; i < count * side * side; ++i) images.pixels.push_back(static_cast<unsigned char>(i * 37 % 251));
  for (int i = 0; i < count; ++i) images.labels.push_back(static_cast<unsigned char>(i % 10));
  return images;
}
struct Dots {
  static constexpr auto name = "dots";
  static inline io::Images training, held_out;
  static io::Images read(std::string const&, io::Split split, std::string&) {
    return split == io::Split::Train ? training : held_out;
  }
};
template <class P, class Data> std::string refused() {
  try {
    session::read_for<P, Data>(stderr, "", 0);
  } catch (Error const& e) {
    return e.what();
  }
  return "accepted";
}
std::string refused_dots(io::Images training, io::Images held_out) {
  Dots::training = std::move(training);
  Dots::held_out = std::move(held_out);
  return refused<Train<10>, Dots>();
}

}  // namespace

TEST_CASE("a test set is checked like a training set") {
  io::Images const good = dots(20, 4);
  CHECK(refused_dots(good, good) == "accepted");
  CHECK(refused_dots(good, dots(20, 8)) == "dots, test set: samples of 64 values, the model takes 16");
  CHECK(refused_dots(good, dots(20, 2)) == "dots, test set: samples of 4 values, the model takes 16");
  CHECK(refused_dots(dots(20, 8), good) == "dots, training set: samples of 64 values, the model takes 16");
  io::Images turned = good;
  turned.height = 2, turned.width = 8;
  CHECK(refused_dots(good, turned) == "dots: training images are 1 x 4 x 4, test images 1 x 2 x 8");
  CHECK(refused_dots(good, dots(0, 4)) == "dots, test set: no samples");
  io::Images cut = good;
  cut.labels.pop_back();
  CHECK(refused_dots(good, cut) == "dots, test set: 19 labels for 20 samples, not 20");
  cut = good;
  cut.pixels.pop_back();
  CHECK(refused_dots(cut, good) == "dots, training set: 319 input numbers for 20 samples, not 320");
  CHECK(refused_dots(dots(3, 4), good) == "dots: 3 samples are fewer than one batch of 4");
}

TEST_CASE("a model with fewer outputs than the data have classes is refused, and so is a label that is none of them") {
  Dots::training = Dots::held_out = dots(20, 4);
  CHECK(refused<Train<5>, Dots>() ==
        "dots, training set has 10 classes, but the model ends with 5 outputs; end it with Linear<10> before the loss");
  CHECK(refused<Train<12>, Dots>() == "accepted");
  Dots::held_out.labels[7] = 10;
  CHECK(refused<Train<12>, Dots>() ==
        "dots, test set, sample 7: label 10, but there are 10 classes, 0 to 9; correct the label, or the data class's "
        "number of classes");
  Dots::training.classes = Dots::held_out.classes = 0;  // the data do not say
  CHECK(refused<Train<12>, Dots>() == "accepted");
  CHECK(refused<Train<10>, Dots>() ==
        "dots, test set, sample 7: label 10, but there are 10 classes, 0 to 9; correct the label, or give the model's "
        "last layer an output for every class");
  CHECK(io::draw_standin(4, 1).classes == 10);
  CHECK(io::draw_standin(4, 1).class_names[8] == "checkers");
}

namespace {

struct Curve : Sequential<Vector<1>, Linear<8>, Tanh, Linear<1>, MeanSquaredError> {};
struct Regress : Plan<Curve, Batch<16>, Adam> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
struct Choose : Plan<Sequential<Vector<1>, Linear<2>, CrossEntropy>, Batch<16>> {};
struct Pair : Plan<Sequential<Vector<1>, Linear<2>, MeanSquaredError>, Batch<16>> {};
struct Sine {
  static constexpr auto name = "sine";
  static inline int wrong = -1;
  static io::Samples read(std::string const&, io::Split split, std::string&) {
    io::Samples samples;
    for (int i = 0; i < 256; ++i) {
      float const x = (static_cast<float>(i - 128) + (split == io::Split::Test ? 0.5f : 0)) / 64;
      samples.add({x}, {i == wrong ? std::log(-1.0f) : std::sin(x)});
    }
    return samples;
  }
};

/// Sentences of six tokens; the class is whether the first token is above half the vocabulary, which is beyond a byte.
constexpr int vocabulary = 600;
struct Reader : Sequential<Vector<6>, Embedding<vocabulary, 8>, Linear<2>, CrossEntropy> {};
struct Read : Plan<Reader, Batch<16>, Adam> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
struct Words {
  static constexpr auto name = "words";
  static inline float last = 0;
  static io::Samples read(std::string const&, io::Split split, std::string&) {
    io::Samples samples;
    for (int i = 0; i < (split == io::Split::Train ? 1200 : 64); ++i) {
      float x[6];
      for (int t = 0; t < 6; ++t) x[t] = static_cast<float>((i * 7 + t * t * 31) % vocabulary);
      if (i == 1000) x[5] = last;
      samples.add(x, x[0] >= vocabulary / 2);
    }
    samples.classes = 2;
    samples.class_names = {"low", "high"};
    return samples;
  }
};
struct Scaled : Words {
  static constexpr auto inputs = session::InputValues::Standardised;
};

/// `run` in this process, with --json: its last line of metrics.
template <class P, class Data> std::string trained(std::string const& out, std::vector<std::string> more) {
  std::vector<std::string> words{"program", "--out", out, "--ranks", "1"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  REQUIRE(run<P, Data>(static_cast<int>(argv.size()), argv.data()) == 0);
  auto const file = io::read_file(out + "/metrics.jsonl");
  std::string const text(file.begin(), file.end());
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

/// The number under a name in one line of JSON; not a number where it has none.
double number_in(std::string const& line, std::string const& name) {
  std::size_t const at = line.find("\"" + name + "\":");
  return at == std::string::npos ? std::nan("") : std::strtod(line.c_str() + at + name.size() + 3, nullptr);
}

}  // namespace

TEST_CASE("run learns numbers, and tells the held-out loss where there are no classes") {
  scratch::Folder const folder;
  std::string const line = trained<Regress, Sine>(folder / "sine", {"--epochs", "40"});
  CHECK(std::isnan(number_in(line, "accuracy")));
  CHECK(number_in(line, "held_out_loss") < 1e-2);
  CHECK(refused<Choose, Sine>() ==
        "sine, training set has target numbers, but cross_entropy compares with classes; end the model with "
        "MeanSquaredError");
  CHECK(refused<Pair, Sine>() ==
        "sine, training set has 1 targets a sample, but the model ends with 2 outputs; end it with Linear<1> before "
        "the loss");
  Sine::wrong = 9;
  CHECK(refused<Regress, Sine>() ==
        "sine, training set, sample 9: target 0 is not a finite number; leave the sample out");
}

TEST_CASE("run trains an Embedding on tokens as they are given") {
  scratch::Folder const folder;
  CHECK(number_in(trained<Read, Words>(folder / "words", {"--epochs", "5"}), "accuracy") > 0.95);
  auto const saved = session::saved_preprocessing(folder / "words/checkpoint.safetensors");
  REQUIRE(saved);
  CHECK(saved->scaling.empty());
  CHECK(saved->class_names == std::vector<std::string>{"low", "high"});
  CHECK(refused<Read, Scaled>().find(
            "words, training set: Embedding and Masking take numbers as they are, but the inputs are "
            "standardised; say in the data class") == 0);
  Words::last = 600;
  CHECK(refused<Read, Words>() ==
        "words, training set, sample 1000: number 5 is 600, which is no token of Embedding<600, ...>; tokens are "
        "whole, 0 to 599");
  Words::last = 2.5f;
  CHECK(refused<Read, Words>().find("sample 1000: number 5 is 2.5, which is no token") != std::string::npos);
}
