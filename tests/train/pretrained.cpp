// train/pretrained.cpp - the first layers of a trained model in another one: what is loaded, what stays, what is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"
#include "signs.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Linear<16>, Relu, Linear<4>,
                        CrossEntropy> {};
struct OtherHead : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Linear<16>, Relu,
                              Linear<3>, CrossEntropy> {};
struct Wider : Sequential<Image<2, 8, 8>, Conv<5, 3, Pad<1>>, BatchNorm, Relu, Linear<4>, CrossEntropy> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
using Source = Of<Net, Adam>;
using Target = Of<OtherHead, Freeze<5>, ModelParallel<SplitCols, Ways<1>>, Precision<bf16>, Momentum>;

template <class P> std::vector<float> values_of(Trainer<P>& t, std::string const& name) {
  for (session::Kept const& k : session::kept<P>()) {
    if (k.name == name) {
      auto const values = session::whole(t, k);
      return {values.begin(), values.end()};
    }
  }
  return {};
}
}  // namespace

TEST_CASE("the layers that are asked for are loaded, by another plan in another format; the others stay") {
  scratch::Folder const folder;
  std::string const path = folder / "net.safetensors";
  Trainer<Source> source(2, 7);
  source.train(0, 8, signs::feed<Source>());
  source.save(path);
  Trainer<Target> target(3, 9), untouched(3, 9);
  target.load_weights(path, 5);
  for (char const* name : {"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "4.weight"}) {
    CAPTURE(name);
    CHECK(!values_of(source, name).empty());
    CHECK(values_of(target, name) == values_of(source, name));
  }
  CHECK(values_of(target, "6.weight") == values_of(untouched, "6.weight"));
  CHECK(target.steps() == 0);
  target.train(0, 8, signs::feed<Target>());
  CHECK(values_of(target, "0.weight") == values_of(source, "0.weight"));
  CHECK(values_of(target, "6.weight") != values_of(untouched, "6.weight"));

  Trainer<Of<Net, Sgd>> same(1, 3);
  same.load_weights(path);
  CHECK(values_of(same, "6.weight") == values_of(source, "6.weight"));
}
TEST_CASE("what does not fit is an error, and changes nothing") {
  scratch::Folder const folder;
  std::string const path = folder / "net.safetensors";
  Trainer<Source>(1, 7).save(path);
  Trainer<Target> target(1, 9), untouched(1, 9);
  CHECK_THROWS_WITH_AS(target.load_weights(path),
                       doctest::Contains("tensor 6.weight is 16 x 4, this model's is 16 x 3"), Error);
  CHECK(values_of(target, "0.weight") == values_of(untouched, "0.weight"));
  Trainer<Of<Wider>> wider(1, 9);
  CHECK_THROWS_WITH_AS(wider.load_weights(path, 1), doctest::Contains("tensor 0.weight is 4 x"), Error);
  CHECK_THROWS_WITH_AS(target.load_weights(path, 0), doctest::Contains("the first 0 layers; say at least 1"), Error);
  CHECK_THROWS_WITH_AS(target.load_weights(path, -1), doctest::Contains("the first -1 layers; say at least 1"), Error);
  CHECK_THROWS_WITH_AS(target.load_weights(path, 99),
                       "load_weights: the first 99 layers, but this model has 8, with its loss", Error);
  CHECK_THROWS_AS(target.load_weights(path + ".no", 5), Error);
  Trainer<Source> all(1, 9);
  CHECK_NOTHROW(all.load_weights(path, 8));
  CHECK_THROWS_WITH_AS(all.load_weights(path, 9), doctest::Contains("this model has 8"), Error);
}
