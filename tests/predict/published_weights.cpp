// predict/published_weights.cpp - files of the Python package transformers, in published/ (tests/torch/published.py wrote
// them): imported they compute what transformers computed, exported they are the same.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/generator.hpp>
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
struct TiedGpt2
    : Sequential<Vector<positions>, Embedding<vocabulary, features, Tied>, PositionEmbedding, Repeat<2, Gpt2Block>,
                 PerPosition<LayerNorm, Linear<vocabulary, NoBias, Tied>, CrossEntropy>> {};
struct LlamaBlock : Path<Residual<PerPosition<RmsNorm>, Attention<2, Causal, Rotary, NoBias>>,
                         Residual<PerPosition<RmsNorm, SwiGlu<24>, Linear<features, NoBias>>>> {};
struct Llama : Sequential<Vector<positions>, Embedding<vocabulary, features>, Repeat<2, LlamaBlock>,
                          PerPosition<RmsNorm, Linear<vocabulary, NoBias>, CrossEntropy>> {};
template <class... Options>
struct Shared : Path<Residual<PerPosition<RmsNorm>, Attention<4, Causal, Rotary, NoBias, Options...>>,
                     Residual<PerPosition<RmsNorm, SwiGlu<8>, Linear<2 * features, NoBias>>>> {};
template <class... Options>
struct LlamaOfGroups : Sequential<Vector<positions>, Embedding<vocabulary, 2 * features>, Shared<Options...>,
                                  PerPosition<RmsNorm, Linear<vocabulary, NoBias>, CrossEntropy>> {};
using Grouped = LlamaOfGroups<KeyValueHeads<2>>;
template <class Net> struct Train : Plan<Net, Batch<4>, DataParallel<Sync>, AdamW> {};

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
TEST_CASE("a Llama whose heads share keys and values computes the same here, and is exported as it was") {
  scratch::Folder const folder;
  std::string const here = folder / "here.safetensors", there = folder / "there.safetensors";
  import_weights<Grouped>(published("llama_grouped"), here, llama_names());
  CHECK(difference(Predictor<Grouped>(here), "llama_grouped") < 1e-5);
  export_weights<Grouped>(here, there, llama_names());
  check_equal(there, "llama_grouped");
  Generator<Grouped> generate(here);
  std::vector<float> const tokens = values(opened(published("llama_grouped_outputs")), "tokens"),
                           wanted = values(opened(published("llama_grouped_outputs")), "outputs");
  for (std::size_t p = 0; p < positions; ++p) {
    auto const got = generate(static_cast<int>(tokens[p]));
    for (std::size_t k = 0; k < vocabulary; ++k) CHECK(std::abs(got[k] - wanted[p * vocabulary + k]) < 1e-5);
  }
}
TEST_CASE("queries, keys and values in one tensor, and their biases, have the order of heads there") {
  struct Block : Path<Residual<PerPosition<RmsNorm>, Attention<4, Causal, KeyValueHeads<2>>>> {};
  struct Net : Sequential<Vector<3>, Embedding<5, 8>, Block, PerPosition<Linear<5, NoBias>, CrossEntropy>> {};
  PublishedNames names{"a model",
                       "",
                       {{"embedding", {"e"}}},
                       {{"rms_norm", {"#.n"}},
                        {"into_heads", {"#.all"}},
                        {"bias", {"#.q", "#.k", "#.v"}},
                        {"out_of_heads", {"#.o"}},
                        {"bias", {"#.p"}}},
                       {{"product", {"out"}}},
                       {}};
  scratch::Folder const folder;
  Trainer<Plan<Net, Batch<4>>> trainer(1, 3);
  auto const kept = session::kept<Plan<Net, Batch<4>>>();
  for (long i = 0; i < 16; ++i) trainer.at(0).weights()[kept[3].offset + i] = static_cast<float>(i);
  trainer.save(folder / "here.safetensors");
  export_weights<Net>(folder / "here.safetensors", folder / "there.safetensors", names);
  io::SafeTensors const there = opened(folder / "there.safetensors");
  // Here query 0 of groups 0 and 1, query 1 of them, two keys, two values.
  CHECK(values(there, "0.q") == std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(values(there, "0.k") == std::vector<float>{8, 9, 10, 11});
  CHECK(values(there, "0.v") == std::vector<float>{12, 13, 14, 15});
  std::vector<float> const all = values(there, "0.all"), mine = session::whole(trainer, kept[2]);
  for (std::size_t row = 0; row < 8; ++row) {
    CHECK(all[row * 16 + 2] == mine[row * 16 + 4]);
    CHECK(all[row * 16 + 4] == mine[row * 16 + 2]);
    CHECK(all[row * 16 + 15] == mine[row * 16 + 15]);
  }
  import_weights<Net>(folder / "there.safetensors", folder / "again.safetensors", names);
  io::SafeTensors const before = opened(folder / "here.safetensors"), again = opened(folder / "again.safetensors");
  for (session::Kept const& k : kept)
    if (k.region == backend::host::Region::Weights) CHECK(values(before, k.name) == values(again, k.name));
}
TEST_CASE(
    "a trainer continues from published weights; what it has learnt is exported with an output weight of its own") {
  scratch::Folder const folder;
  std::string const here = folder / "here.safetensors", there = folder / "there.safetensors";
  import_weights<Gpt2<2>>(published("gpt2"), here, gpt2_names());
  Trainer<Train<Gpt2<2>>> trainer({.replicas = 2});
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
TEST_CASE("a model with one weight for both stays one that transformers has, also when it has learnt") {
  scratch::Folder const folder;
  std::string const here = folder / "here.safetensors", there = folder / "there.safetensors";
  import_weights<TiedGpt2>(published("gpt2"), here, gpt2_names());
  CHECK(difference(Predictor<TiedGpt2>(here), "gpt2") < 1e-5);
  export_weights<TiedGpt2>(here, there, gpt2_names());
  check_equal(there, "gpt2");
  Trainer<Train<TiedGpt2>> trainer({.replicas = 2});
  trainer.load_weights(here);
  std::vector<float> x(8 * positions, 3);
  std::vector<int> y(8 * positions, 4);
  trainer.fit(x, y, {.epochs = 1});
  trainer.save(here);
  export_weights<TiedGpt2>(here, there, gpt2_names());
  CHECK(opened(there).tensors().size() == opened(published("gpt2")).tensors().size());
  CHECK_FALSE(opened(there).find("lm_head.weight"));

  std::vector<float> const table = values(opened(published("gpt2")), "transformer.wte.weight");
  auto const with = [&](std::vector<float> const& head) {
    io::Bytes const bytes(reinterpret_cast<unsigned char const*>(head.data()), head.size() * sizeof(float));
    auto const all = [](io::NamedTensor const&) { return true; };
    return changed(folder, "gpt2", all, {{"lm_head.weight", io::Dtype::F32, {vocabulary, features}, bytes}});
  };
  import_weights<TiedGpt2>(with(table), here, gpt2_names());
  CHECK(difference(Predictor<TiedGpt2>(here), "gpt2") < 1e-5);
  std::vector<float> other = table;
  other[5] += 1;
  std::string const text =
      scratch::message([&, from = with(other)] { import_weights<TiedGpt2>(from, folder / "x", gpt2_names()); });
  CHECK(scratch::has(text, "lm_head.weight has other numbers than transformer.wte.weight"));
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
       "GPT-2: weight 1 of this model is 1.weight, a weight of rms_norm of 8; the published model has "
       "wpe.weight here, a weight of positions");
  told(meta::type<Gpt2<2>>{}, published("llama"), llama_names(),
       "Llama: weight 1 of this model is 1.bias, a weight of positions of 6 x 8; the published model has "
       "layers.0.input_layernorm.weight here, a weight of rms_norm");
  told(meta::type<LlamaOfGroups<>>{}, published("llama_grouped"), llama_names(),
       "k_proj.weight is 8 x 16, this model's is 16 x 16");
  told(meta::type<LlamaOfGroups<KeyValueHeads<1>>>{}, published("llama_grouped"), llama_names(),
       "k_proj.weight is 8 x 16, this model's is 4 x 16");
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
