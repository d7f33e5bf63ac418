// predict/published_files.cpp - a model in several files with an index reads as one file; what does not fit is told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/published_weights.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

struct Block : Path<Residual<PerPosition<RmsNorm>, Attention<2, Causal, Rotary, NoBias>>,
                    Residual<PerPosition<RmsNorm, SwiGlu<24>, Linear<8, NoBias>>>> {};
struct Llama : Sequential<Vector<6>, Embedding<11, 8>, Repeat<2, Block>,
                          PerPosition<RmsNorm, Linear<11, NoBias>, CrossEntropy>> {};

std::string published(std::string const& name) {
  char const* const folder = std::getenv("CLEAVE_PUBLISHED");
  REQUIRE_MESSAGE(folder, "CLEAVE_PUBLISHED is to name tests/predict/published");
  return std::string(folder) + "/" + name + ".safetensors";
}
/// The Llama of transformers in two files and their index, as that package writes them; change(name, which file the
/// index says).
struct Parts {
  scratch::Folder folder;
  std::string index = folder / "model.safetensors.index.json";

  explicit Parts(auto change) {
    io::SafeTensors const whole = io::load_safetensors(published("llama"), io::Checksum::IfPresent);
    std::vector<io::NamedTensor> parts[2];
    std::string map;
    for (std::size_t i = 0; i < whole.tensors().size(); ++i) {
      io::NamedTensor const& t = whole.tensors()[i];
      parts[i % 2].push_back(t);
      std::string const file = change(t.name, "model-0000" + std::to_string(i % 2 + 1) + "-of-00002.safetensors");
      map += (map.empty() ? "\"" : ", \"") + t.name + "\": \"" + file + "\"";
    }
    for (int k = 0; k < 2; ++k)
      io::save_safetensors(folder / ("model-0000" + std::to_string(k + 1) + "-of-00002.safetensors"), parts[k]);
    std::ofstream(index) << R"({"metadata": {"total_size": 9}, "weight_map": {)" << map << "}}\n";
  }
  std::string refused() const {
    try {
      session::PublishedFiles const files(index);
    } catch (Error const& e) {
      return e.what();
    }
    return "";
  }
};
auto const as_it_is = [](std::string const&, std::string const& file) { return file; };

}  // namespace

TEST_CASE("two files and their index are imported as one file") {
  Parts const parts(as_it_is);
  import_weights<Llama>(published("llama"), parts.folder / "one.safetensors", llama_names());
  import_weights<Llama>(parts.index, parts.folder / "two.safetensors", llama_names());
  CHECK(io::read_file(parts.folder / "one.safetensors") == io::read_file(parts.folder / "two.safetensors"));
}
TEST_CASE("an index that names another file, or none") {
  Parts const swapped([](std::string const& name, std::string const& file) {
    if (name != "lm_head.weight") return file;
    return std::string(file[10] == '1' ? "model-00002-of-00002.safetensors" : "model-00001-of-00002.safetensors");
  });
  CHECK(swapped.refused().find("/model.safetensors.index.json: tensor lm_head.weight is not in model-0000") !=
        std::string::npos);
  Parts const outside([](std::string const&, std::string const& file) { return "../" + file; });
  CHECK(outside.refused().find("the file ../model-0000") != std::string::npos);
  Parts const missing([](std::string const&, std::string const&) { return std::string("model-3.safetensors"); });
  CHECK(missing.refused().find("model-3.safetensors") != std::string::npos);
  Parts const none(as_it_is);
  std::ofstream(none.index) << "{\"weights\": {}}";
  CHECK(none.refused().find("no weight_map that names the files of tensors") != std::string::npos);
}
TEST_CASE("a tensor that two files have") {
  Parts const parts(as_it_is);
  std::filesystem::copy_file(published("llama"), parts.folder / "model-00002-of-00002.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(parts.refused().find(" and in ") != std::string::npos);
}
