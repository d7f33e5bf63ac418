// train/torch_weights.cpp - weights from and to files of PyTorch: by the names of modules, rows and columns exchanged.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"
#include "signs.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Linear<16>, Relu, Linear<4>,
                        CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<24>, MicroBatches<8>, Momentum, Ps...> {};
using ByData = Of<DataParallel<Sync>>;
using Cut = Of<ModelParallel<SplitCols, Ways<2>>>;
TorchNames const names{{0, "features.0"}, {1, "features.1"}, {4, "fc1"}, {6, "fc2"}};

struct File {
  scratch::Folder folder;
  std::string path = folder / "net.safetensors";
};
std::vector<float> in_file(std::string const& path, std::string const& name, std::vector<std::size_t> const& shape) {
  io::SafeTensors const file = io::load_safetensors(path);
  io::NamedTensor const* const t = file.find(name);
  REQUIRE(t);
  CHECK(t->shape == shape);
  std::vector<float> out(t->bytes.size() / sizeof(float));
  std::memcpy(out.data(), t->bytes.data(), t->bytes.size());
  return out;
}
std::vector<float> inputs() {
  std::vector<float> x(5 * 128);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  return x;
}

}  // namespace

TEST_CASE("a file has PyTorch's names, weights of Linear as (out, in), and running statistics") {
  File const file;
  Trainer<ByData> trainer(2, 7);
  trainer.train(0, 6, signs::feed<ByData>());
  trainer.save_torch(file.path, names);
  CHECK(io::load_safetensors(file.path).tensors().size() == 10);
  in_file(file.path, "features.0.weight", {4, 2, 3, 3});
  in_file(file.path, "features.1.running_var", {4});
  std::vector<float> const there = in_file(file.path, "fc2.weight", {4, 16});
  for (session::Kept const& k : session::kept<ByData>()) {
    if (k.name != "6.weight") continue;
    auto const here = session::whole(trainer, k);  // (16, 4)
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t o = 0; o < 4; ++o) CHECK(there[o * 16 + i] == here[i * 4 + o]);
  }
}
TEST_CASE("tensors of 16 bits are read, as f16 and bf16 files have them") {
  File const file;
  struct Small : Sequential<Vector<3>, Linear<2>, CrossEntropy> {};
  struct Tiny : Plan<Small, Batch<4>> {};
  auto const reads = [&]<class T>(meta::type<T>, io::Dtype dtype) {
    std::vector<T> const w{T(1.5f), T(-0.25f), T(3.0f), T(0.125f), T(-7.0f), T(0.0f)}, b{T(0.5f), T(-0.5f)};
    auto const bytes = [](std::vector<T> const& v) {
      return io::Bytes(reinterpret_cast<unsigned char const*>(v.data()), v.size() * sizeof(T));
    };
    io::save_safetensors(file.path, {{"fc.weight", dtype, {2, 3}, bytes(w)}, {"fc.bias", dtype, {2}, bytes(b)}});
    Trainer<Tiny> trainer;
    trainer.load_torch(file.path, {{0, "fc"}});
    auto const kept = session::kept<Tiny>();
    CHECK(session::whole(trainer, kept[0]) == std::vector<float>{1.5f, 0.125f, -0.25f, -7.0f, 3.0f, 0.0f});
    CHECK(session::whole(trainer, kept[1]) == std::vector<float>{0.5f, -0.5f});
    std::vector<T> const broken{T(0.5f), T(std::numeric_limits<float>::infinity())};
    io::save_safetensors(file.path, {{"fc.weight", dtype, {2, 3}, bytes(w)}, {"fc.bias", dtype, {2}, bytes(broken)}});
    CHECK_THROWS_WITH_AS(
        trainer.load_torch(file.path, {{0, "fc"}}),
        doctest::Contains(("fc.bias of " + file.path + " is not finite: element 1 of 2 is inf").c_str()), Error);
  };
  reads(meta::type<bf16>{}, io::Dtype::BF16);
  reads(meta::type<f16>{}, io::Dtype::F16);
}
TEST_CASE("what one plan writes another one and a Predictor load, with the same outputs") {
  File const file;
  Trainer<ByData> trainer(2, 7);
  trainer.train(0, 6, signs::feed<ByData>());
  trainer.save_torch(file.path, names);
  std::vector<float> const wanted = trainer.predictor()(inputs());
  Trainer<Cut> other(1, 3);
  CHECK(other.predictor()(inputs()) != wanted);
  other.load_torch(file.path, names);
  CHECK(other.predictor()(inputs()) == wanted);
  CHECK(Predictor<Net>(file.path, names)(inputs()) == wanted);
  CHECK(Predictor<Net>(file.path, names, {.threads = 2})(inputs()) == wanted);
}
TEST_CASE("layers behind the last name stay as they are, for fine-tuning") {
  File const file;
  Trainer<ByData> trainer(1, 7), other(1, 3), untouched(1, 3);
  trainer.save_torch(file.path, names);
  TorchNames const first{{0, "features.0"}, {1, "features.1"}, {4, "fc1"}};
  other.load_torch(file.path, first);
  for (session::Kept const& k : session::kept<ByData>()) {
    CAPTURE(k.name);
    bool const of_weights = k.region == backend::host::Region::Weights && k.op != "bias" && k.name.ends_with("weight");
    if (of_weights && k.name[0] == '6') CHECK(session::whole(other, k) == session::whole(untouched, k));
    if (of_weights && k.name[0] < '6') CHECK(session::whole(other, k) == session::whole(trainer, k));
  }
  CHECK_THROWS_WITH_AS(Predictor<Net>(file.path, first),
                       doctest::Contains("2 tensors of this model are of layers behind the last name"), Error);
}
TEST_CASE("names and files that do not fit are told, and change nothing") {
  File const file;
  Trainer<ByData> trainer(1, 7), other(1, 3);
  std::vector<float> const before = other.predictor()(inputs());
  trainer.save_torch(file.path, names);
  auto const told = [&](TorchNames const& by, std::string const& what) {
    std::string const text = scratch::message([&] { other.load_torch(file.path, by); });
    CAPTURE(text);
    return scratch::has(text, what);
  };
  CHECK(told({{0, "features.0"}, {4, "fc1"}}, "layer 1 has weights, but no name; add {1, \"...\"}"));
  CHECK(told({{0, "features.0"}, {0, "conv"}}, "layer 0 is named twice"));
  CHECK(told({{0, "features.0"}, {1, "features.1"}, {2, "relu"}}, "layer 2 (\"relu\") has no weights"));
  CHECK(told({{0, "conv"}}, "has no tensor conv.weight"));
  CHECK(told({{0, "features.1"}}, "tensor features.1.weight is 4, this model's is 4 x 2 x 3 x 3"));
  CHECK(
      told({{0, "features.0"}, {1, "features.1"}, {4, "fc2"}}, "tensor fc2.weight is 4 x 16, this model's is 16 x 64"));
  std::vector<float> const scale(4, 1.0f);
  io::SafeTensors const whole = io::load_safetensors(file.path);
  std::vector<io::NamedTensor> more = whole.tensors();
  more.push_back({"fc1.weight_g", io::Dtype::F32, {4}, {reinterpret_cast<unsigned char const*>(scale.data()), 16}});
  more.push_back({"features.1.num_batches_tracked", io::Dtype::F32, {4}, more.back().bytes});
  io::save_safetensors(file.folder / "more.safetensors", more);
  CHECK(scratch::has(scratch::message([&] { other.load_torch(file.folder / "more.safetensors", names); }),
                     "tensor fc1.weight_g is of module fc1, but layer 4 of this model has no such tensor"));
  CHECK(other.predictor()(inputs()) == before);
}

struct One : Sequential<Vector<2>, Linear<1>, MeanSquaredError> {};

TEST_CASE("a file without checksums, as PyTorch writes it, is read") {
  File const file;
  std::string head = R"({"fc.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                     R"("fc.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
                     R"("bn.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[12,20]}})";
  std::string bytes = std::string(1, static_cast<char>(head.size())) + std::string(7, '\0') + head;
  float const values[] = {2, 3, 0.5f};
  bytes.append(reinterpret_cast<char const*>(values), sizeof values);
  bytes.append(8, '\0');
  REQUIRE(head.size() < 256);
  io::write_file(file.path, scratch::bytes(bytes));
  CHECK(Predictor<One>(file.path, {{0, "fc"}})(std::vector<float>{10, 100})[0] == 320.5f);
}
TEST_CASE("recurrent layers and attention have the tensors of PyTorch's modules") {
  File const file;
  struct Layers : Sequential<Sequence<3, 4>, Lstm<6>, Gru<4>, Attention<2>, PerPosition<Linear<3>, CrossEntropy>> {};
  struct Some : Plan<Layers, Batch<4>> {};
  TorchNames const modules{{0, "lstm"}, {1, "gru"}, {2, "attn"}, {3, "fc"}};
  Trainer<Some> trainer(1, 7), other(1, 8);
  trainer.save_torch(file.path, modules);
  in_file(file.path, "lstm.bias_ih_l0", {24});
  in_file(file.path, "gru.weight_hh_l0", {12, 4});
  in_file(file.path, "attn.in_proj_bias", {12});
  in_file(file.path, "attn.out_proj.weight", {4, 4});
  std::vector<float> const input = in_file(file.path, "lstm.weight_ih_l0", {24, 4}),
                           heads = in_file(file.path, "attn.in_proj_weight", {12, 4});
  auto const kept = session::kept<Some>();
  auto const matches = [&](std::string const& name, std::vector<float> const& there, std::size_t columns) {
    auto const at = std::find_if(kept.begin(), kept.end(), [&](auto const& k) { return k.name == name; });
    auto const here = session::whole(trainer, *at);  // (4, columns)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t o = 0; o < columns; ++o) CHECK(there[o * 4 + i] == here[i * columns + o]);
  };
  matches("0.weight_ih_l0", input, 24);
  matches("2.in_proj_weight", heads, 12);
  other.load_torch(file.path, modules);
  for (session::Kept const& k : kept) {
    if (k.region == backend::host::Region::Weights) CHECK(session::whole(trainer, k) == session::whole(other, k));
  }
}
TEST_CASE("queries of heads that share keys and values have the order of heads there") {
  File const file;
  struct Layers : Sequential<Sequence<3, 4>, Attention<4, KeyValueHeads<2>>, PerPosition<Linear<3>, CrossEntropy>> {};
  struct Some : Plan<Layers, Batch<4>> {};
  TorchNames const modules{{0, "attn"}, {1, "fc"}};
  Trainer<Some> trainer(1, 7), other(1, 8);
  auto const kept = session::kept<Some>();
  for (long i = 0; i < 8; ++i) trainer.at(0).weights()[kept[1].offset + i] = static_cast<float>(i);
  trainer.save_torch(file.path, modules);
  CHECK(in_file(file.path, "attn.in_proj_bias", {8}) == std::vector<float>{0, 2, 1, 3, 4, 5, 6, 7});
  std::vector<float> const there = in_file(file.path, "attn.in_proj_weight", {8, 4}),
                           here = session::whole(trainer, kept[0]);  // (4, 8)
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(there[1 * 4 + i] == here[i * 8 + 2]);
    CHECK(there[2 * 4 + i] == here[i * 8 + 1]);
    CHECK(there[7 * 4 + i] == here[i * 8 + 7]);
  }
  other.load_torch(file.path, modules);
  for (session::Kept const& k : kept) {
    if (k.region == backend::host::Region::Weights) CHECK(session::whole(trainer, k) == session::whole(other, k));
  }
}

struct Tokens
    : Sequential<Vector<3>, Embedding<5, 4, Tied>, PerPosition<Linear<4>, Linear<5, NoBias, Tied>, CrossEntropy>> {};
struct Words : Plan<Tokens, Batch<4>> {};

TEST_CASE("a weight of two layers is written under both names, and read under either or both") {
  File const file;
  std::string const one = file.folder / "one.safetensors";
  TorchNames const both{{0, "emb"}, {1, "fc"}, {2, "out"}}, table{{0, "emb"}, {1, "fc"}};
  std::vector<float> const x{1, 0, 4};
  Trainer<Words> trainer(1, 7);
  std::vector<float> const wanted = trainer.predictor()(x);
  trainer.save_torch(file.path, table);
  CHECK(io::load_safetensors(file.path).tensors().size() == 3);
  CHECK(Predictor<Tokens>(file.path, table)(x) == wanted);
  trainer.save_torch(file.path, both);
  io::SafeTensors const saved = io::load_safetensors(file.path);
  CHECK(saved.tensors().size() == 4);
  CHECK(in_file(file.path, "emb.weight", {5, 4}) == in_file(file.path, "out.weight", {5, 4}));
  CHECK(in_file(file.path, "emb.weight", {5, 4}) == session::whole(trainer, session::kept<Words>()[0]));
  auto const without = [&](std::string const& name) {
    std::vector<io::NamedTensor> some = saved.tensors();
    std::erase_if(some, [&](io::NamedTensor const& t) { return t.name == name; });
    io::save_safetensors(one, some);
    return one;
  };
  auto const reads = [&](std::string const& path) {
    Trainer<Words> other(1, 3);
    other.load_torch(path, both);
    return other.predictor()(x) == wanted && Predictor<Tokens>(path, both)(x) == wanted;
  };
  CHECK(reads(file.path));
  CHECK(reads(without("out.weight")));
  CHECK(reads(without("emb.weight")));  // as safetensors.torch.save_model writes "a.weight" and not "b.weight"
  auto const refusal = [&](std::string const& path, TorchNames const& by) {
    return scratch::message([&] { trainer.load_torch(path, by); });
  };
  CHECK(scratch::has(refusal(file.path, {{0, "emb"}, {1, "fc"}, {2, "out"}, {2, "again"}}), "layer 2 is named twice"));
  CHECK(scratch::has(refusal(file.path, {{0, "emb"}, {1, "fc"}, {3, "loss"}}), "layer 3 (\"loss\") has no weights"));

  std::vector<float> changed = in_file(file.path, "out.weight", {5, 4});
  changed[6] = 0.5f;
  std::vector<io::NamedTensor> differ = saved.tensors();
  for (io::NamedTensor& t : differ)
    if (t.name == "out.weight") t.bytes = {reinterpret_cast<unsigned char const*>(changed.data()), 80};
  io::save_safetensors(one, differ);
  std::string const said = refusal(one, both);
  CAPTURE(said);
  CHECK(scratch::has(said, one + ": tensor out.weight has other numbers than emb.weight: element 6 is 0.5, not "));
  CHECK(scratch::has(said, "; layers 0 and 2 of this model have one weight; leave out Tied"));
  CHECK(trainer.predictor()(x) == wanted);
}
