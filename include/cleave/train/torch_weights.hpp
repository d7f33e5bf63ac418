// train/torch_weights.hpp - weights in safetensors files of PyTorch: read for the layers of a model, and written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../io/json_line.hpp"
#include "checkpoint.hpp"
#include "sample_training.hpp"

namespace cleave {

namespace session {

/// Columns of queries, keys and values. Here those of a group of heads that share keys and values are beside one
/// another (op/attention.hpp); elsewhere there are the queries in the order of heads, then the keys, then the values.
struct HeadColumns {
  long shared = 1, groups = 1, width = 1;  // heads of a group, groups, features of a head

  long there(long column) const {
    long const part = column / (groups * width), group = column / width % groups;
    return part < shared ? (group * shared + part) * width + column % width : column;
  }
};

/// A tensor as PyTorch has it: dimensions that only here are apart together, and its rows and columns.
struct AsMatrix {
  Shape shape;
  bool matrix = false;
  HeadColumns heads{};

  explicit AsMatrix(Kept const& k) : shape(k.shape) {
    bool const out_of_heads = k.op == "out_of_heads", into_heads = k.op == "into_heads";
    matrix = out_of_heads || into_heads ||
             (k.shape.dims == 2 && (k.op == "product" || k.op == "rnn" || k.op == "lstm" || k.op == "gru"));
    int const rows = out_of_heads ? k.shape[0] * k.shape[1] : k.shape[0];
    if (matrix) shape = Shape(rows, static_cast<int>(k.shape.size() / rows));
    if (k.op == "bias") shape = k.shape.flat();
    if (into_heads) heads = {k.shape[1] - 2, k.shape[2], k.shape[3]};
    if (k.op == "bias" && k.shape.dims == 3) heads = {k.shape[0] - 2, k.shape[1], k.shape[2]};
  }
};

/// A tensor of a model, and what PyTorch calls it. There, the weight of Linear is (out, in); here it is (in, out).
struct TorchTensor {
  Kept here, there;
  bool exchanged = false;  // rows and columns
  HeadColumns heads{};
  std::string tied{};  // what PyTorch calls the same weight in the layer that is tied to this one; empty: nothing
  int tied_layer = -1;

  /// From its order there to that here, or back.
  template <class A> std::vector<A> reordered(std::vector<A> const& from, bool back = false) const {
    if (!exchanged && heads.shared == 1) return from;
    std::vector<A> to(from.size());
    long const rows = exchanged ? there.shape[1] : 1, columns = there.shape.size() / rows;
    for (long c = 0; c < columns; ++c)
      for (long r = 0; r < rows; ++r) {
        auto const at = static_cast<std::size_t>(r * columns + c);
        auto const at_there = static_cast<std::size_t>(heads.there(c) * rows + r);
        to[back ? at_there : at] = from[back ? at : at_there];
      }
    return to;
  }
};

/// Weights and running statistics of the layers up to the last one that has a name. Throws Error if one between has
/// none, if a name is of a layer without weights, or if a layer is named twice. A layer whose only weight is that of a
/// `Tied` Embedding may have a name.
template <class = void> std::vector<TorchTensor> torch_tensors(Description const& plan, TorchNames const& names) {
  std::vector<TorchTensor> out;
  schedule::Program const& p = plan.program;
  auto const named = [&](int layer) {
    return std::find_if(names.begin(), names.end(), [&](TorchName const& n) { return n.layer == layer; });
  };
  int last = -1;
  for (auto n = names.begin(); n != names.end(); ++n) {
    if (named(n->layer) != n) throw Error({"torch names: layer ", n->layer, " is named twice"});
    last = std::max(last, n->layer);
  }
  std::vector<int> found(names.size());
  std::vector<Kept> const all = kept(plan);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Kept const& k = all[i];
    int const layer = std::stoi(k.name);
    if (k.region == backend::host::Region::Moments || layer > last) continue;
    auto const at = named(layer);
    if (at == names.end())
      throw Error({"torch names: layer ", layer, " has weights, but no name; add {", layer, ", \"...\"}"});
    ++found[static_cast<std::size_t>(at - names.begin())];
    AsMatrix const as(k);
    TorchTensor t{k, k, as.matrix, as.heads};
    std::string const called = k.name.substr(k.name.find('.'));
    t.there.name = at->module + called;
    t.there.shape = as.matrix ? Shape(as.shape[1], as.shape[0]) : as.shape;
    int const reader = i < static_cast<std::size_t>(p.weights) ? p.node[p.weight[i].node].tied : -1;
    if (auto const to = reader < 0 ? names.end() : named(p.node[reader].leaf); to != names.end()) {
      ++found[static_cast<std::size_t>(to - names.begin())];
      t.tied = to->module + called;
      t.tied_layer = to->layer;
    }
    out.push_back(std::move(t));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (found[i] == 0)
      throw Error({"torch names: layer ", names[i].layer, " (\"", names[i].module,
                   "\") has no weights; layers are counted from 0, with those that have none"});
  }
  return out;
}

/// A tensor of a file, in its order here. A tied weight is there under either of its names or under both; throws Error
/// if it then is not the same.
template <class A>
std::vector<A> read_torch_tensor(io::SafeTensors const& file, std::string const& path, TorchTensor const& t) {
  Kept there = t.there;
  std::vector<A> values(static_cast<std::size_t>(there.shape.size()));
  bool const has_tied = !t.tied.empty() && file.find(t.tied);
  if (has_tied && !file.find(there.name)) there.name = t.tied;
  read_tensor(file, path, there, values.data());
  if (has_tied && there.name != t.tied) {
    std::vector<A> other(values.size());
    there.name = t.tied;
    read_tensor(file, path, there, other.data());
    auto const at =
        static_cast<std::size_t>(std::mismatch(values.begin(), values.end(), other.begin()).first - values.begin());
    if (at < values.size())
      throw Error({path, ": tensor ", t.tied, " has other numbers than ", t.there.name, ": element ", at, " is ",
                   io::number_text(other[at]), ", not ", io::number_text(values[at]), "; layers ",
                   std::stoi(t.here.name), " and ", t.tied_layer, " of this model have one weight; leave out Tied"});
  }
  return t.reordered(values);
}

/// Reads them all, checks names and shapes, and only then calls write(kept, values).
template <class A, class Write>
void read_torch(Description const& plan, std::string const& path, TorchNames const& names, Write write) {
  std::vector<TorchTensor> const tensors = torch_tensors(plan, names);
  io::SafeTensors const file = io::load_safetensors(path, io::Checksum::IfPresent);
  std::vector<std::vector<A>> values;
  for (TorchTensor const& t : tensors) values.push_back(read_torch_tensor<A>(file, path, t));
  for (io::NamedTensor const& in_file : file.tensors()) {
    for (TorchName const& n : names) {
      bool const own =
          in_file.name.starts_with(n.module + ".") && in_file.name.find('.', n.module.size() + 1) == std::string::npos;
      bool const used = std::any_of(tensors.begin(), tensors.end(), [&](TorchTensor const& t) {
        return t.there.name == in_file.name || t.tied == in_file.name;
      });
      if (own && !used && !in_file.name.ends_with(".num_batches_tracked"))
        throw Error({path, ": tensor ", in_file.name, " is of module ", n.module, ", but layer ", n.layer,
                     " of this model has no such tensor"});
    }
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) write(tensors[i].here, values[i]);
}

}  // namespace session

template <class P, class Self>
void session::SampleTraining<P, Self>::load_torch(std::string const& path, TorchNames const& names) {
  auto& trainer = common(self());
  using A = typename Self::A;
  read_torch<A>(description_of(trainer), path, names,
                [&](Kept const& k, std::vector<A> const& values) { write_whole(trainer, k, values.data()); });
  trainer.refresh_copies();
  meet(trainer);
}

template <class P, class Self>
void session::SampleTraining<P, Self>::save_torch(std::string const& path, TorchNames const& names) {
  auto& trainer = common(self());
  using A = typename Self::A;
  std::vector<TorchTensor> const all = torch_tensors(description_of(trainer), names);
  std::vector<std::vector<A>> values;
  std::vector<io::NamedTensor> tensors;
  for (TorchTensor const& t : all) values.push_back(t.reordered(whole(trainer, t.here), true));
  for (std::size_t i = 0; i < all.size(); ++i) {
    io::NamedTensor const t{all[i].there.name,
                            sizeof(A) == 8 ? io::Dtype::F64 : io::Dtype::F32,
                            extents(all[i].there.shape),
                            {reinterpret_cast<unsigned char const*>(values[i].data()), values[i].size() * sizeof(A)}};
    tensors.push_back(t);
    if (all[i].tied.empty()) continue;
    tensors.push_back(t);  // load_state_dict wants both names
    tensors.back().name = all[i].tied;
  }
  if (writes_files()) io::save_safetensors(path, tensors);
  meet(trainer);
}

}  // namespace cleave
