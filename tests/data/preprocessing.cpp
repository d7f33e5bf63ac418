// data/preprocessing.cpp - means, deviations and class names are kept with the weights, and used when a run goes on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Image<3, 32, 32>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<32>> {
  static constexpr Rate rate = Rate::constant(0.001f);
};
/// Pictures that grow brighter: the first of them have another mean than all.
struct Brighter {
  static constexpr auto name = "brighter";
  static io::Images read(std::string const&, io::Split split, std::string&) {
    io::Images images = io::draw_standin(320, split == io::Split::Train ? 1 : 2);
    for (std::size_t i = 0; i < images.pixels.size(); ++i)
      images.pixels[i] = static_cast<unsigned char>(images.pixels[i] / 2 * (i / images.stride()) / 320);
    return images;
  }
};
auto sets(int limit, std::string const& resume = {}, std::FILE* say = stderr) {
  return session::read_for<Train, Brighter>(say, "", limit, resume);
}
double loss(Trainer<Train>& trainer, session::Sets<io::Images> const& s) {
  session::Batches const test(s.held_out, s.preprocessing.scaling, Train::batch, 1, false);
  return trainer.score(test.feed(), s.held_out.count).loss;
}
std::string told(int limit, std::string const& resume, session::Sets<io::Images>& out) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const say = ::open_memstream(&text, &size);
  out = sets(limit, resume, say);
  std::fclose(say);
  std::string const said(text, size);
  std::free(text);
  return said;
}

}  // namespace

TEST_CASE("the same weights say the same, whatever --limit a resumed run is given") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  auto const all = sets(0), few = sets(64);
  CHECK(all.preprocessing.scaling.mean[0] > 1.5f * few.preprocessing.scaling.mean[0]);
  Trainer<Train> trainer(1);
  session::Batches batches(all.training, all.preprocessing.scaling, Train::batch);
  trainer.train(0, 10, batches.feed());
  double const before = loss(trainer, all);
  CHECK(std::fabs(loss(trainer, few) - before) > 1e-3);  // it matters
  session::save(trainer, path, 1, true, &all.preprocessing);

  Trainer<Train> again(1);
  session::load(again, path);
  session::Sets<io::Images> resumed;
  CHECK(told(64, path, resumed) == "");
  CHECK(resumed.training.count == 64);
  CHECK(resumed.preprocessing.scaling.mean == all.preprocessing.scaling.mean);
  CHECK(resumed.preprocessing.scaling.deviation == all.preprocessing.scaling.deviation);
  CHECK(resumed.preprocessing.class_names == all.preprocessing.class_names);
  CHECK(resumed.preprocessing.class_names[4] == "cross");
  CHECK(loss(again, resumed) == before);
}

TEST_CASE("a checkpoint holds them as tensors and metadata") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<Train> trainer(1);
  session::Preprocessing const p{{{1, 2, 3}, {4, 5, 6}}, {"a b", "", "c"}};
  session::save(trainer, path, 1, true, &p);
  io::SafeTensors const file = io::load_safetensors(path);
  REQUIRE(file.find("preprocessing.mean"));
  REQUIRE(file.find("preprocessing.deviation"));
  CHECK(file.find("preprocessing.mean")->shape == std::vector<std::size_t>{3});
  CHECK(file.find("preprocessing.mean")->dtype == io::Dtype::F32);
  CHECK(*file.find_metadata("inputs") == "standardised");
  CHECK(*file.find_metadata("class_names") == "a b\n\nc");
  auto const saved = session::saved_preprocessing(path);
  REQUIRE(saved);
  CHECK(saved->scaling.mean == p.scaling.mean);
  CHECK(saved->scaling.deviation == p.scaling.deviation);
  CHECK(saved->class_names == p.class_names);
}

TEST_CASE("a checkpoint without them loads; they are then of the training set, and a line says so") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<Train> trainer(1);
  session::save(trainer, path, 1);  // as version 0.1 wrote it
  CHECK(!session::saved_preprocessing(path));
  session::Sets<io::Images> resumed;
  CHECK(told(64, path, resumed) ==
        path + " does not say how its inputs were scaled: means and deviations are taken from the training set\n");
  CHECK(resumed.preprocessing.scaling.mean == sets(64).preprocessing.scaling.mean);
  Trainer<Train> again(1);
  session::load(again, path);
}

TEST_CASE("what was saved with other data is told or refused") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<Train> trainer(1);
  auto const saved_with = [&](session::Preprocessing const& p) { session::save(trainer, path, 1, true, &p); };
  session::Sets<io::Images> resumed;
  saved_with({{{1}, {2}}, {}});
  CHECK_THROWS_WITH_AS(sets(0, path), doctest::Contains("saved with inputs of 1 channels, these have 3"), Error);
  saved_with({{{1, 2, 3}, {4, 5, 6}}, {"cat", "dog"}});
  CHECK(told(0, path, resumed) == path + " was trained on other classes (cat, ...) than these (disc, ...)\n");
  saved_with({{{1, 2, 3}, {4, 0, 6}}, {}});
  CHECK_THROWS_WITH_AS(sets(0, path), doctest::Contains("preprocessing.deviation holds a number that is not above 0"),
                       Error);
  saved_with({{{1, 2}, {4, 5, 6}}, {}});
  CHECK_THROWS_WITH_AS(sets(0, path), doctest::Contains("2 means, but 3 deviations"), Error);
}

TEST_CASE("numbers far from 0 are scaled without loss") {
  io::Samples samples;
  for (int i = 0; i < 100; ++i) samples.add({10000.0f + static_cast<float>(i % 2), 3}, 0);
  auto const s = session::Scaling::of(samples);
  CHECK(s.mean == std::vector<float>{10000.5f, 3});
  CHECK(s.deviation == std::vector<float>{0.5f, 1});
}

TEST_CASE("class names of any characters keep their numbers") {
  std::vector<std::string> const names{"a\nb", "", "c\\n", "\\", "d\\\ne", "f"};
  CHECK(session::names_in(session::lines_of(names)) == names);
  CHECK(session::lines_of({"cat", "dog"}) == "cat\ndog");
  CHECK(session::names_in("cat\nC:\\dog") == std::vector<std::string>{"cat", "C:\\dog"});
}

TEST_CASE("of a sequence each feature has a mean over all positions") {
  session::ScalingSum sum(2, true);
  sum.add(std::span<float const>(std::vector<float>{1, 10, 3, 20}));
  sum.add(std::span<float const>(std::vector<float>{1, 30, 3, 40}));
  CHECK(sum.result().mean == std::vector<float>{2, 25});
  CHECK(sum.result().deviation[0] == 1);
}
