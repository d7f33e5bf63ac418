// predict/published_weights.cpp - files of the Python package transformers, in published/ (tests/torch/published.py wrote
// them): imported they compute what transformers computed, exported they are the same.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/layer/gelu_tanh.hpp>
#include <cleave/predict/published_weights.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

constexpr int positions = 6, vocabulary = 11, features = 8;

struct Gpt2Block : Path<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                        Residual<PerPosition<LayerNorm, Linear<4 * features>, GeluTanh, Linear<features>>>> {};
template <int Blocks>
struct Gpt2 : Sequential<Vector<positions>, Embedding<vocabulary, features>, PositionEmbedding,
                         Repeat<Blocks, Gpt2Block>, PerPosition<LayerNorm, Linear<vocabulary, NoBias>, CrossEntropy>> {
};
struct LlamaBlock : Path<Residual<PerPosition<RmsNorm>, Attention<2, Causal, Rotary, NoBias>>,
                         Residual<PerPosition<RmsNorm, SwiGlu<24>, Linear<features, NoBias>>>> {};
struct Llama : Sequential<Vector<positions>, Embedding<vocabulary, features>, Repeat<2, LlamaBlock>,
                          PerPosition<RmsNorm, Linear<vocabulary, NoBias>, CrossEntropy>> {};
struct Train : Plan<Gpt2<2>, Batch<4>, DataParallel<Sync>, AdamW> {};

std::string published(std::string const& name) {
  char const* const folder = std::getenv("CLEAVE_PUBLISHED");
  REQUIRE_MESSAGE(folder, "CLEAVE_PUBLISHED is to name tests/predict/published");
  return std::string(folder) + "/" + name + ".safetensors";
}
std::vector<float> values(io::SafeTensors const& file, std::string const& name) {
  io::NamedTensor const* const t = file.find(name);
  REQUIRE_MESSAGE(t, name);
  std::vector<float> out(t->bytes.size() / sizeof(float));
  std::memcpy(out.data(), t->bytes.data(), t->bytes.size());
  return out;
}
io::SafeTensors opened(std::string const& path) { return io::load_safetensors(path, io::Checksum::IfPresent); }

/// The largest difference from what transformers computed.
double difference(auto&& predict, std::string const& name) {
  io::SafeTensors const file = opened(published(name + "_outputs"));
  std::vector<float> const wanted = values(file, "outputs"), got = predict(values(file, "tokens"));
  REQUIRE(got.size() == wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(double{got[i]} - double{wanted[i]}));
  return worst;
}
/// All tensors of `path` are those of the published file; learned positions are its first.
void check_equal(std::string const& path, std::string const& name) {
  io::SafeTensors const ours = opened(path), theirs = opened(published(name));
  CHECK(ours.tensors().size() == theirs.tensors().size());
  for (io::NamedTensor const& t : ours.tensors()) {
    CAPTURE(t.name);
    std::vector<float> const a = values(ours, t.name);
    std::vector<float> b = values(theirs, t.name);
    if (t.name.ends_with("wpe.weight")) b.resize(a.size());
    CHECK(a == b);
    auto const* const other = theirs.find(t.name);
    CHECK(std::equal(t.shape.begin() + 1, t.shape.end(), other->shape.begin() + 1, other->shape.end()));
  }
}
/// The tensors of a published file as `change` leaves them, in a file of their own.
std::string changed(scratch::Folder const& folder, std::string const& name, auto change,
                    std::vector<io::NamedTensor> tensors = {}) {
  io::SafeTensors const file = opened(published(name));
  for (io::NamedTensor t : file.tensors())
    if (change(t)) tensors.push_back(std::move(t));
  io::save_safetensors(folder / "changed.safetensors", tensors);
  return folder / "changed.safetensors";
}

}  // namespace

TEST_CASE("a GPT-2 of transformers computes the same here, and is exported as it was") {
  scratch::Folder const folder;
  std::string const here = folder / "here.safetensors", there = folder / "there.safetensors";
  import_weights<Gpt2<2>>(published("gpt2"), here, gpt2_names());
  CHECK(difference(Predictor<Gpt2<2>>(here), "gpt2") < 1e-5);
  export_weights<Gpt2<2>>(here, there, gpt2_names());
  check_equal(there, "gpt2");
  CHECK_FALSE(opened(there).find("lm_head.weight"));  // it is wte.weight
}
TEST_CASE("a Llama of transformers computes the same here, and is exported as it was") {
  scratch::Folder const folder;
  std::string const here = folder / "here.safetensors", there = folder / "there.safetensors";
  import_weights<Llama>(published("llama"), here, llama_names());
  CHECK(difference(Predictor<Llama>(here), "llama") < 1e-5);
  export_weights<Llama>(here, there, llama_names());
  check_equal(there, "llama");
}
TEST_CASE(
    "a trainer continues from published weights; what it has learnt is exported with an output weight of its own") {
  scratch::Folder const folder;
  std::string const here = folder / "here.safetensors", there = folder / "there.safetensors";
  import_weights<Gpt2<2>>(published("gpt2"), here, gpt2_names());
  Trainer<Train> trainer({.replicas = 2});
  trainer.load_weights(here);
  CHECK(difference(trainer.predictor(), "gpt2") < 1e-5);
  std::vector<float> x(8 * positions, 3);
  std::vector<int> y(8 * positions, 4);
  trainer.fit(x, y, {.epochs = 1});
  trainer.save(here);
  export_weights<Gpt2<2>>(here, there, gpt2_names());
  io::SafeTensors const file = opened(there);
  CHECK(file.tensors().size() == opened(published("gpt2")).tensors().size() + 1);
  CHECK(values(file, "lm_head.weight") != values(file, "transformer.wte.weight"));
  CHECK(file.find("lm_head.weight")->shape == std::vector<std::size_t>{vocabulary, features});
  import_weights<Gpt2<2>>(there, folder / "again.safetensors", gpt2_names());
  CHECK(difference(Predictor<Gpt2<2>>(folder / "again.safetensors"), "gpt2") > 1e-5);
}
TEST_CASE("names without the prefix are read, and tensors that are no weights are not") {
  scratch::Folder const folder;
  std::vector<float> const mask(positions * positions, 1);
  io::Bytes const bytes(reinterpret_cast<unsigned char const*>(mask.data()), mask.size() * sizeof(float));
  auto const rename = [](io::NamedTensor& t) { return t.name.erase(0, std::string("transformer.").size()), true; };
  std::string const from =
      changed(folder, "gpt2", rename, {{"h.0.attn.bias", io::Dtype::F32, {positions, positions}, bytes}});
  import_weights<Gpt2<2>>(from, folder / "here.safetensors", gpt2_names());
  CHECK(difference(Predictor<Gpt2<2>>(folder / "here.safetensors"), "gpt2") < 1e-5);
}
TEST_CASE("what does not fit is told, and nothing is written") {
  scratch::Folder const folder;
  std::string const to = folder / "to.safetensors";
  auto const told = [&]<class Net>(meta::type<Net>, std::string const& from, PublishedNames const& names,
                                   std::string const& what) {
    std::string const text = scratch::message([&] { import_weights<Net>(from, to, names); });
    CAPTURE(text);
    CHECK(scratch::has(text, what));
    CHECK_FALSE(std::filesystem::exists(to));
  };
  told(meta::type<Gpt2<1>>{}, published("gpt2"), gpt2_names(), "has no place in this model");
  told(meta::type<Gpt2<3>>{}, published("gpt2"), gpt2_names(), "has no tensor h.2.ln_1.weight, which this model needs");
  told(meta::type<Llama>{}, published("gpt2"), gpt2_names(),
       "GPT-2: weight 1 of this model is 1.weight, a weight of rms_norm of 8; there stands wpe.weight, of positions");
  told(meta::type<Gpt2<2>>{}, published("llama"), llama_names(),
       "Llama: weight 1 of this model is 1.bias, a weight of positions of 6 x 8; there stands");
  std::string const fewer =
      changed(folder, "llama", [](io::NamedTensor const& t) { return t.name != "lm_head.weight"; });
  import_weights<Llama>(fewer, folder / "tied.safetensors", llama_names());
  CHECK(difference(Predictor<Llama>(folder / "tied.safetensors"), "llama") > 1e-2);
  std::string const grouped = changed(folder, "llama", [](io::NamedTensor& t) {
    if (!t.name.ends_with("1.self_attn.k_proj.weight")) return true;
    t.shape[0] /= 2;
    t.bytes = t.bytes.first(t.bytes.size() / 2);
    return true;
  });
  told(meta::type<Llama>{}, grouped, llama_names(), "k_proj.weight is 4 x 8, this model's is 8 x 8");
}
