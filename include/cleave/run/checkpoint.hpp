// run/checkpoint.hpp - a trainer's whole state as one safetensors file; loading it goes on bit for bit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../io/safetensors.hpp"
#include "../version.hpp"
#include "trainer.hpp"

namespace cleave::session {

/// A tensor of the state, whole: how it is called, and where each way keeps its part.
struct Kept {
  std::string name;
  Shape shape;
  place::Placement placement;
  long offset = 0;  // elements, into one of the regions below
  backend::host::Region region = backend::host::Region::Weights;
};

/// Learned tensors first, "3.weight" and "3.bias" for layer 3; then what the optimizer keeps; then running statistics.
template <class P> std::vector<Kept> kept() {
  std::vector<Kept> out;
  auto const& s = P::schedule;
  for (int i = 0; i < s.weights; ++i) {
    place::Node const& n = P::placed.node[s.weight[i].node];
    place::Signature const& op = P::signatures.op[n.op];
    bool const bias = s.weight[i].which == 1 || std::string_view(op.name) == "bias";
    out.push_back({std::to_string(op.leaf) + (bias ? ".bias" : ".weight"), op.w[s.weight[i].which].shape,
                   n.w[s.weight[i].which], s.weight[i].offset, backend::host::Region::Weights});
  }
  for (int m = 0; m < P::optimizer::moments; ++m) {
    for (int i = 0; i < s.weights; ++i) {
      Kept k = out[static_cast<std::size_t>(i)];
      k.name += ".moment" + std::to_string(m);
      k.offset += m * s.weight_elements;
      k.region = backend::host::Region::Moments;
      out.push_back(k);
    }
  }
  for (int k = 0; k < P::placed.count; ++k) {
    place::Node const& n = P::placed.node[k];
    if (n.op < 0 || P::signatures.op[n.op].states == 0) continue;
    place::Signature const& op = P::signatures.op[n.op];
    for (int i = 0; i < op.states; ++i) {
      out.push_back({std::to_string(op.leaf) + (i == 0 ? ".running_mean" : ".running_var"), op.state, n.w[0],
                     s.state[k] + i * n.local.w0.size(), backend::host::Region::States});
    }
  }
  return out;
}

/// One tensor put together from the ways of a trainer (`Trainer` or `Served`).
template <class Trained> auto whole(Trained& trainer, Kept const& k) {
  std::vector<typename Trained::A> out(static_cast<std::size_t>(k.shape.size()));
  for (int way = 0; way < Trained::plan::ways; ++way) {
    schedule::each_run(k.shape, k.placement, way, Trained::plan::ways, [&](long local, long global, long count) {
      trainer.read(way, k.region, k.offset + local, count, out.data() + global);
    });
  }
  return out;
}

inline std::vector<std::size_t> extents(Shape s) {
  std::vector<std::size_t> out;
  for (int d = 0; d < s.dims; ++d) out.push_back(static_cast<std::size_t>(s[d]));
  return out;
}

/// What must be the same for the steps to mean the same.
template <class P> std::string plan_text() {
  return "batch " + std::to_string(P::batch) + " in " + std::to_string(P::micro_batches) + " micro-batches, " +
         std::to_string(P::ways) + " ways, " + std::string(tensor::name_of<typename P::number>) + ", " +
         (P::format.ordered ? "ordered" : "fastest") + ", " + std::to_string(P::optimizer::moments) + " moments";
}

template <class Trained> void save(Trained& trainer, std::string const& path, std::uint64_t seed, bool write = true) {
  using P = typename Trained::plan;
  using A = typename Trained::A;
  std::vector<Kept> const all = kept<P>();
  std::vector<std::vector<A>> data;
  std::vector<io::NamedTensor> tensors;
  for (Kept const& k : all) data.push_back(whole(trainer, k));
  for (std::size_t i = 0; i < all.size(); ++i) {
    tensors.push_back({all[i].name,
                       sizeof(A) == 8 ? io::Dtype::F64 : io::Dtype::F32,
                       extents(all[i].shape),
                       {reinterpret_cast<unsigned char const*>(data[i].data()), data[i].size() * sizeof(A)}});
  }
  std::vector<std::vector<A>> owed;
  if constexpr (keeps_residuals<P> && requires { trainer.residuals(0); }) {
    bool asked = write;
    if constexpr (requires { Trained::asked_by_all; }) asked = write || Trained::asked_by_all;
    for (int r = 0; asked && r < trainer.ranks().world(); ++r) {
      std::vector<A> of_rank = trainer.residuals(r);
      if (write) owed.push_back(std::move(of_rank));
    }
    trainer.meet();  // whoever goes on training writes them again
  }
  for (std::size_t r = 0; r < owed.size() && !owed[r].empty(); ++r) {
    tensors.push_back({residual_name(static_cast<int>(r)),
                       sizeof(A) == 8 ? io::Dtype::F64 : io::Dtype::F32,
                       {owed[r].size()},
                       {reinterpret_cast<unsigned char const*>(owed[r].data()), owed[r].size() * sizeof(A)}});
  }
  if (!write) return;  // another process does
  io::save_safetensors(path, std::move(tensors),
                       {{"cleave", version},
                        {"plan", plan_text<P>()},
                        {"step", std::to_string(trainer.steps())},
                        {"seed", std::to_string(seed)},
                        {"residuals", residual_layout<P>()}});
}

/// The seed a checkpoint was trained with: a resumed run goes on with it.
inline std::uint64_t saved_seed(std::string const& path) {
  io::SafeTensors const file = io::load_safetensors(path);
  std::string const* seed = file.find_metadata("seed");
  if (!seed) throw Error(path + ": not a checkpoint of cleave: its metadata has no seed");
  return std::stoull(*seed);
}

/// Fills every rank. Nothing is changed unless the whole file is sound and fits the plan.
template <class Trained> void load(Trained& trainer, std::string const& path) {
  using P = typename Trained::plan;
  using A = typename Trained::A;
  io::SafeTensors const file = io::load_safetensors(path);
  std::string const *plan = file.find_metadata("plan"), *step = file.find_metadata("step");
  if (!plan || !step) throw Error(path + ": not a checkpoint of cleave: its metadata has no plan and step");
  if (*plan != plan_text<P>())
    throw Error(path + ": saved under another plan (" + *plan + "); this one is " + plan_text<P>());
  std::vector<Kept> const all = kept<P>();
  for (Kept const& k : all) {
    io::NamedTensor const* t = file.find(k.name);
    if (!t) throw Error(path + ": has no tensor " + k.name + ", which this model needs");
    if (t->shape != extents(k.shape) || t->bytes.size() != static_cast<std::size_t>(k.shape.size()) * sizeof(A)) {
      throw Error(path + ": tensor " + k.name + " has another shape or number format than this model's");
    }
  }
  if constexpr (keeps_residuals<P> && requires { trainer.residuals(0); }) {
    auto const owed = saved_residuals<P, A>(file, path, trainer.ranks());
    for (int r = 0; r < trainer.ranks().world(); ++r) trainer.set_residuals(r, owed[static_cast<std::size_t>(r)]);
  }
  for (Kept const& k : all) {
    std::vector<A> values(static_cast<std::size_t>(k.shape.size()));
    std::memcpy(values.data(), file.find(k.name)->bytes.data(), values.size() * sizeof(A));
    for (int way = 0; way < P::ways; ++way) {
      schedule::each_run(k.shape, k.placement, way, P::ways, [&](long local, long global, long count) {
        trainer.write(way, k.region, k.offset + local, count, values.data() + global);
      });
    }
  }
  trainer.refresh_copies();
  trainer.set_steps(std::stol(*step));
}

}  // namespace cleave::session
