// predict/int8.cpp - a predictor with weights of 8 bits: near the f32 outputs, a quarter of the bytes, files of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/batching_predictor.hpp>
#include <cleave/predict/int8.hpp>

#include <filesystem>

#include "../io/scratch.hpp"
#include "../train/signs.hpp"

using namespace cleave;

namespace {

struct Dense : Sequential<Vector<40>, Linear<64>, Relu, Linear<48>, Tanh, Linear<4>, CrossEntropy> {};
struct Pictures : Sequential<Image<2, 12, 12>, Conv<16, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>,
                             Residual<Conv<16, 3, Pad<1>, Groups<2>>, Relu>, LocalResponseNorm<3>, Linear<24>,
                             LayerNorm, Gelu, Linear<4>, CrossEntropy> {};
struct Words : Sequential<Sequence<5, 20>, PerPosition<Linear<48>, Gelu>,
                          Residual<PerPosition<LayerNorm, Linear<32>, Relu, Linear<48>>>, Attention<4>,
                          PerPosition<Linear<24, NoBias>>, MeanOverPositions, Linear<4>, CrossEntropy> {};
template <class N> struct Of : Plan<N, Batch<32>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};
template <class N> std::vector<float> samples(int n) {
  std::vector<float> x(static_cast<std::size_t>(n * N::input::shape.size()));
  signs::feed<Of<N>>().pixels(nullptr, 0, 0, n, x.data());
  return x;
}
double distance(std::vector<float> const& a, std::vector<float> const& b) {
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart += std::pow(static_cast<double>(a[i] - b[i]), 2);
    length += std::pow(static_cast<double>(a[i]), 2);
  }
  return std::sqrt(apart / length);
}
template <class N> void is_near_the_whole_model() {
  Trainer<Of<N>> trainer({.replicas = 1});
  trainer.train(0, 20, signs::feed<Of<N>>());
  Predictor<N> whole(trainer);
  Predictor<N, int8> small(trainer);
  auto const x = samples<N>(70);
  auto const y = whole(x), z = small(x);
  CHECK(distance(y, z) < 0.03);
  CHECK(distance(y, z) > 0);
  auto const a = whole.classes(x), b = small.classes(x);
  int same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
  CHECK(same >= 68);
  // A sample's outputs do not depend on those beside it, nor on the number of threads.
  for (std::size_t i : {0u, 33u, 69u}) {
    auto const n = static_cast<std::size_t>(whole.inputs);
    CHECK(small(std::span(x).subspan(i * n, n)) == std::vector<float>(&z[i * 4], &z[i * 4] + 4));
  }
  Predictor<N, int8> threads(trainer, {.threads = 3});
  CHECK(threads(x) == z);
  BatchingPredictor<N, int8> const batching(small);
  CHECK(batching(x) == z);
  auto broken = samples<N>(2);
  broken.back() = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(small.classes(broken), doctest::Contains("sample 1: output 0 is not a number"), Error);
}

}  // namespace

TEST_CASE("outputs are near those of f32, and do not depend on other samples") {
  is_near_the_whole_model<Dense>();
  is_near_the_whole_model<Pictures>();
  is_near_the_whole_model<Words>();
}

TEST_CASE("memory and file have about a quarter of the bytes, and the file gives the same bits") {
  struct Wide : Sequential<Vector<256>, Linear<256>, Relu, Linear<256>, Relu, Linear<10>, CrossEntropy> {};
  static_assert(Predictor<Wide, int8>::weight_bytes * 3.7 < Predictor<Wide>::weight_bytes);
  scratch::Folder const folder;
  Trainer<Of<Wide>> trainer({.replicas = 1});
  trainer.train(0, 3, signs::feed<Of<Wide>>());
  Predictor<Wide> whole(trainer);
  Predictor<Wide, int8> small(trainer);
  whole.save(folder / "whole");
  small.save(folder / "small");
  CHECK(std::filesystem::file_size(folder / "small") * 18 / 5 < std::filesystem::file_size(folder / "whole"));
  auto const x = samples<Wide>(40);
  CHECK((Predictor<Wide>(folder / "whole")(x)) == whole(x));
  CHECK((Predictor<Wide, int8>(folder / "whole")(x)) == small(x));
  CHECK((Predictor<Wide, int8>(folder / "small")(x)) == small(x));
  CHECK_THROWS_WITH_AS(
      Predictor<Wide>(folder / "small"),
      doctest::Contains(
          "0.weight has whole numbers, not floating-point ones; Predictor<Net, int8> reads weights of 8 bits"),
      Error);
}

TEST_CASE("layers in PerPosition are packed, attention is not, and files give the same bits") {
  scratch::Folder const folder;
  Trainer<Of<Words>> trainer({.replicas = 1});
  trainer.train(0, 3, signs::feed<Of<Words>>());
  Predictor<Words, int8> small(trainer);
  small.save(folder / "small");
  auto const x = samples<Words>(40);
  CHECK((Predictor<Words, int8>(folder / "small")(x)) == small(x));
  io::SafeTensors const file = io::load_safetensors(folder / "small");
  for (std::string const packed : {"0.weight", "3.weight", "5.weight", "8.weight", "10.weight"}) {
    CAPTURE(packed);
    REQUIRE(file.find(packed));
    CHECK(file.find(packed)->dtype == io::Dtype::I8);
    CHECK(file.find(packed + "_scale")->shape == std::vector{file.find(packed)->shape.back()});
  }
  CHECK(file.find("7.in_proj_weight")->dtype == io::Dtype::F32);
}

TEST_CASE("files of groups, statistics and scaling; files that do not fit") {
  scratch::Folder const folder;
  Trainer<Of<Pictures>> trainer({.replicas = 1});
  auto const x = samples<Pictures>(64);
  std::vector<int> const labels(64, 1);
  trainer.fit(x, labels, {.epochs = 1, .standardise = true});
  Predictor<Pictures, int8> small(trainer);
  small.save(folder / "small");
  CHECK((Predictor<Pictures, int8>(folder / "small")(x)) == small(x));
  CHECK_THROWS_WITH_AS((Predictor<Dense, int8>(folder / "small")), doctest::Contains("0.weight"), Error);

  io::SafeTensors const file = io::load_safetensors(folder / "small");
  auto without = [&](std::string const& name) {
    std::vector<io::NamedTensor> left;
    for (io::NamedTensor const& t : file.tensors())
      if (t.name != name) left.push_back(t);
    io::save_safetensors(folder / "left", left, {});
  };
  without("0.weight_scale");
  CHECK_THROWS_WITH_AS((Predictor<Pictures, int8>(folder / "left")),
                       doctest::Contains("has no tensor 0.weight_scale, which this model needs"), Error);
}

TEST_CASE("an output with a weight that is not finite has a scale that is not") {
  session::Packing const rows{.elements = 4, .outputs = 2, .output_of = [](long e) { return static_cast<int>(e / 2); }};
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (float const w : {nan, std::numeric_limits<float>::infinity()}) {
    session::EightBitWeight const to = rows.rounded(std::vector<float>{1, w, 2, -1}.data());
    CHECK_FALSE(std::isfinite(to.scales[0]));
    CHECK(to.scales[1] == 2.0f / 127);
    CHECK(to.values == std::vector<std::int8_t>{0, 0, 127, -64});
  }
}

TEST_CASE("an input that is not finite gives outputs that are not") {
  Trainer<Of<Dense>> trainer({.replicas = 1});
  Predictor<Dense, int8> small(trainer);
  auto x = samples<Dense>(2);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  auto const y = small(x);
  CHECK(std::isnan(y[0]));
  CHECK(std::isfinite(y[4]));
}
