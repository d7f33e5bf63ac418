// predict/published_weights.hpp - import_weights, export_weights: weights of a transformer under the names of its publisher.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../train/torch_weights.hpp"
#include "predictor.hpp"
#include "published_files.hpp"

namespace cleave {

/// A weight of this library and what a published file calls it.
struct PublishedWeight {
  std::string_view op;             ///< name of the operation that has it: "product", "bias", "embedding", ...
  std::vector<std::string> names;  ///< of its tensors, beside one another in its columns; # is the number of a block;
                                   ///< of heads of queries, keys and values one of all, or one of each
  bool exchanged = false;          ///< the file has rows and columns exchanged, (out, in)
  std::string tied{};              ///< the tensor of the same shape that it is, where the file has none of its own
};
/// The weights of a model in their order: before its equal blocks, of each of these, and after them.
struct PublishedNames {
  std::string_view model;
  std::string prefix;  ///< of all names but tied ones; a file without it is read, too
  std::vector<PublishedWeight> before, block, after;
  std::vector<std::string_view> unread;  ///< ends of the names of tensors that are no weights
};

/// GPT-2, as `GPT2LMHeadModel` of the Python package transformers has it:
///
///   struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<12, Causal>>,
///                       Residual<PerPosition<LayerNorm, Linear<3072>, GeluTanh, Linear<768>>>> {};
///   struct Gpt2 : Sequential<Vector<1024>, Embedding<50257, 768>, PositionEmbedding, Repeat<12, Block>,
///                            PerPosition<LayerNorm, Linear<50257, NoBias, Tied>, CrossEntropy>> {};
///
/// With Embedding<50257, 768, Tied>; or both without Tied, which then are two weights from the same numbers.
inline PublishedNames gpt2_names() {
  return {"GPT-2",
          "transformer.",
          {{"embedding", {"wte.weight"}}, {"positions", {"wpe.weight"}}},
          {{"layer_norm", {"h.#.ln_1.weight"}},
           {"layer_norm", {"h.#.ln_1.bias"}},
           {"into_heads", {"h.#.attn.c_attn.weight"}},
           {"bias", {"h.#.attn.c_attn.bias"}},
           {"out_of_heads", {"h.#.attn.c_proj.weight"}},
           {"bias", {"h.#.attn.c_proj.bias"}},
           {"layer_norm", {"h.#.ln_2.weight"}},
           {"layer_norm", {"h.#.ln_2.bias"}},
           {"product", {"h.#.mlp.c_fc.weight"}},
           {"bias", {"h.#.mlp.c_fc.bias"}},
           {"product", {"h.#.mlp.c_proj.weight"}},
           {"bias", {"h.#.mlp.c_proj.bias"}}},
          {{"layer_norm", {"ln_f.weight"}},
           {"layer_norm", {"ln_f.bias"}},
           {"product", {"lm_head.weight"}, true, "wte.weight"}},
          {".attn.bias", ".attn.masked_bias"}};
}

/// A model of the kind of Llama, as `LlamaForCausalLM` has it; with `num_key_value_heads` of its own, of 4 say, its
/// attention is Attention<12, Causal, Rotary, NoBias, KeyValueHeads<4>>:
///
///   struct Block : Path<Residual<PerPosition<RmsNorm>, Attention<12, Causal, Rotary, NoBias>>,
///                       Residual<PerPosition<RmsNorm, SwiGlu<2048>, Linear<768, NoBias>>>> {};
///   struct Llama : Sequential<Vector<1024>, Embedding<32000, 768>, Repeat<12, Block>,
///                             PerPosition<RmsNorm, Linear<32000, NoBias>, CrossEntropy>> {};
inline PublishedNames llama_names() {
  return {
      "Llama",
      "model.",
      {{"embedding", {"embed_tokens.weight"}}},
      {{"rms_norm", {"layers.#.input_layernorm.weight"}},
       {"into_heads",
        {"layers.#.self_attn.q_proj.weight", "layers.#.self_attn.k_proj.weight", "layers.#.self_attn.v_proj.weight"},
        true},
       {"out_of_heads", {"layers.#.self_attn.o_proj.weight"}, true},
       {"rms_norm", {"layers.#.post_attention_layernorm.weight"}},
       {"product", {"layers.#.mlp.gate_proj.weight"}, true},
       {"product", {"layers.#.mlp.up_proj.weight"}, true},
       {"product", {"layers.#.mlp.down_proj.weight"}, true}},
      {{"rms_norm", {"norm.weight"}}, {"product", {"lm_head.weight"}, true, "embed_tokens.weight"}},
      {".rotary_emb.inv_freq"}};
}

namespace session {

/// A weight of a model, and the tensors of a file that it is, beside one another: `rows` by `columns` seen from here.
struct PublishedTensor {
  Kept here;
  std::vector<std::string> names;
  bool exchanged = false;
  std::string tied;
  bool matrix = false;
  long rows = 1, columns = 1;
  HeadColumns heads{};

  /// Columns of tensor `part`: where heads share keys and values, queries have more than these.
  long columns_of(std::size_t part) const {
    long const equal = columns / static_cast<long>(names.size()), shared = heads.groups * heads.width;
    return heads.shared == 1 || names.size() != 3 ? equal : part == 0 ? shared * heads.shared : shared;
  }
  Kept there(std::size_t part) const { return there(part, names[part]); }
  Kept there(std::size_t part, std::string const& name) const {
    auto const r = static_cast<int>(rows), c = static_cast<int>(columns_of(part));
    return {name, !matrix ? Shape(c) : exchanged ? Shape(c, r) : Shape(r, c), {}, 0, {}, {}};
  }
  /// Calls copy(element here, element of tensor `part`) for all of them.
  void each(std::size_t part, auto copy) const {
    long const width = columns_of(part);
    long first = 0;
    for (std::size_t before = 0; before < part; ++before) first += columns_of(before);
    std::vector<long> column(static_cast<std::size_t>(width));  // here
    for (long c = 0; c < columns; ++c) {
      long const at = heads.there(c) - first;
      if (at >= 0 && at < width) column[static_cast<std::size_t>(at)] = c;
    }
    for (long r = 0; r < rows; ++r)
      for (long c = 0; c < width; ++c) {
        copy(static_cast<std::size_t>(r * columns + column[static_cast<std::size_t>(c)]),
             static_cast<std::size_t>(exchanged ? c * rows + r : r * width + c));
      }
  }
};

inline std::string text_of(Kept const& k) {
  std::string out = k.name + ", a weight of " + std::string(k.op) + " of";
  for (int d = 0; d < k.shape.dims; ++d) meta::append(out, {d > 0 ? " x " : " ", k.shape[d]});
  return out;
}

/// Throws Error if the weights are of other operations than those of the published model.
inline std::vector<PublishedTensor> published_tensors(std::vector<Kept> const& kept, PublishedNames const& names) {
  std::size_t const fixed = names.before.size() + names.after.size();
  std::size_t const each = std::max<std::size_t>(names.block.size(), 1);
  std::size_t const blocks = kept.size() <= fixed ? 0 : (kept.size() - fixed) / each;
  std::vector<PublishedTensor> out;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    std::size_t const in = i - names.before.size(), block = in / each;
    PublishedWeight const* w = nullptr;
    if (i < names.before.size())
      w = &names.before[i];
    else if (block < blocks && !names.block.empty())
      w = &names.block[in % each];
    else if (in - blocks * each < names.after.size())
      w = &names.after[in - blocks * each];
    auto const numbered = [&](std::string name) {
      if (auto const at = name.find('#'); at != std::string::npos) name.replace(at, 1, std::to_string(block));
      return name;
    };
    if (!w || w->op != kept[i].op)
      throw Error({names.model, ": weight ", i, " of this model is ", text_of(kept[i]), "; the published model has ",
                   w ? numbered(w->names[0]) + " here, a weight of " + std::string(w->op) : "no more weights"});
    PublishedTensor t{kept[i], w->names, w->exchanged, w->tied};
    for (std::string& name : t.names) name = numbered(name);
    AsMatrix const as(t.here);
    t.matrix = as.shape.dims > 1;
    t.rows = t.matrix ? as.shape[0] : 1;
    t.columns = as.shape.size() / t.rows;
    t.heads = as.heads;
    out.push_back(std::move(t));
  }
  if (kept.size() != fixed + blocks * names.block.size() || (blocks == 0 && !names.block.empty()))
    throw Error({names.model, ": this model has ", kept.size(), " weights, and ", fixed, " and ", names.block.size(),
                 " for each block are wanted"});
  return out;
}

/// Of a model whose last weight is its table of tokens, that weight's names are taken out of `names`, and returned.
template <class Net> std::vector<PublishedWeight> take_tied(PublishedNames& names) {
  bool one = false;
  for (auto const& op : ForwardBlocks<Net, f32>::Block::signatures.op) one = one || op.reads_tied();
  std::vector<PublishedWeight> taken;
  if (one && !names.after.empty() && !names.after.back().tied.empty()) {
    taken.push_back(std::move(names.after.back()));
    names.after.pop_back();
  }
  return taken;
}
template <class Net> std::vector<PublishedTensor> published_tensors(PublishedNames names) {
  take_tied<Net>(names);
  return published_tensors(kept<typename ForwardBlocks<Net, f32>::Block>(), names);
}

}  // namespace session

/// Reads weights of a model from a safetensors file that another library wrote, in f32, f64, f16 or bf16, and writes
/// them as this library's checkpoint, which a Predictor, a trainer of any plan (`load_weights`) and Python load:
///
///   import_weights<Gpt2>("gpt2/model.safetensors", "gpt2.safetensors", gpt2_names());
///
/// Of a model in several files `from` is their index, "llama/model.safetensors.index.json". Of learned positions it
/// takes the first, if the model has fewer. Throws Error, and writes nothing, if the model is built otherwise, if a
/// tensor is missing or has another shape, or if the file has one more.
template <class Net> void import_weights(std::string const& from, std::string const& to, PublishedNames const& names) {
  session::PublishedFiles const file(from);
  std::vector<std::string> used;
  auto const named = [&](std::string const& name) {
    used.push_back(file.find(names.prefix + name) ? names.prefix + name : name);
    return used.back();
  };
  std::vector<session::PublishedTensor> const all = session::published_tensors<Net>(names);
  std::vector<std::vector<float>> values;
  for (session::PublishedTensor const& t : all) {
    std::vector<float>& value = values.emplace_back(static_cast<std::size_t>(t.here.shape.size()));
    for (std::size_t part = 0; part < t.names.size(); ++part) {
      std::string name = named(t.names[part]);
      if (!t.tied.empty() && !file.find(name)) name = named(t.tied);
      session::Kept there = t.there(part, name);
      if (io::NamedTensor const* const in_file = file.find(name); in_file && t.here.op == "positions") {
        std::size_t const more = in_file->shape.empty() ? 0 : in_file->shape[0];
        if (more > static_cast<std::size_t>(t.rows)) there.shape = Shape(static_cast<int>(more), there.shape[1]);
      }
      std::vector<float> read(static_cast<std::size_t>(there.shape.size()));
      file.read(there, read.data());
      t.each(part, [&](std::size_t here, std::size_t at) { value[here] = read[at]; });
    }
  }
  PublishedNames others = names;
  for (PublishedWeight const& w : session::take_tied<Net>(others)) {
    io::NamedTensor const *one = file.find(w.names[0]), *table = file.find(named(w.tied));
    if (one && table && !std::ranges::equal(one->bytes, table->bytes))
      throw Error({from, ": ", w.names[0], " has other numbers than ", table->name,
                   ", and this model has one weight for both; leave out Tied"});
    used.push_back(w.names[0]);
  }
  file.each([&](io::NamedTensor const& t) {
    auto const ends = [&](std::string_view end) { return t.name.ends_with(end); };
    if (std::find(used.begin(), used.end(), t.name) == used.end() &&
        std::none_of(names.unread.begin(), names.unread.end(), ends))
      throw Error({from, ": tensor ", t.name, " has no place in this model"});
  });
  io::Metadata about{{"cleave", version}};
  std::vector<io::NamedTensor> tensors;
  for (std::size_t i = 0; i < all.size(); ++i)
    tensors.push_back({all[i].here.name,
                       io::Dtype::F32,
                       session::extents(all[i].here.shape),
                       {reinterpret_cast<unsigned char const*>(values[i].data()), values[i].size() * sizeof(float)}});
  session::add_preprocessing({}, tensors, about);
  io::save_safetensors(to, tensors, about);
}

/// Writes the weights of a checkpoint of this library as a file for another one, in f32: what `import_weights` reads. A
/// tied weight is left out if it is equal. Throws Error as above.
template <class Net> void export_weights(std::string const& from, std::string const& to, PublishedNames const& names) {
  io::SafeTensors const file = io::load_safetensors(from);
  std::vector<session::PublishedTensor> const all = session::published_tensors<Net>(names);
  std::vector<std::pair<session::Kept, std::vector<float>>> out;
  for (session::PublishedTensor const& t : all) {
    std::vector<float> value(static_cast<std::size_t>(t.here.shape.size()));
    session::read_tensor(file, from, t.here, value.data());
    for (std::size_t part = 0; part < t.names.size(); ++part) {
      session::Kept k = t.there(part);
      std::vector<float> there(static_cast<std::size_t>(k.shape.size()));
      t.each(part, [&](std::size_t here, std::size_t at) { there[at] = value[here]; });
      auto const equal = [&](auto const& other) {
        return other.first.name == names.prefix + t.tied && other.second == there;
      };
      if (!t.tied.empty() && std::any_of(out.begin(), out.end(), equal)) continue;
      if (t.tied.empty()) k.name = names.prefix + k.name;
      out.emplace_back(std::move(k), std::move(there));
    }
  }
  std::vector<io::NamedTensor> tensors;
  for (auto const& [k, value] : out)
    tensors.push_back({k.name,
                       io::Dtype::F32,
                       session::extents(k.shape),
                       {reinterpret_cast<unsigned char const*>(value.data()), value.size() * sizeof(float)}});
  io::save_safetensors(to, tensors, {{"format", "pt"}});
}

}  // namespace cleave
