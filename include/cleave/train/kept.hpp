// train/kept.hpp - the whole tensors of a trainer's state: their names, and where each way stores its part.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../backend/host/execution/feed.hpp"
#include "../meta/in_library.hpp"
#include "../schedule/shard.hpp"
#include "description.hpp"

namespace cleave::session {

/// A whole tensor of the state: its name, and where each way stores its part.
struct Kept {
  std::string name;
  Shape shape;
  place::Sharding sharding;
  long offset = 0;  // elements, into one of the regions below
  backend::host::Region region = backend::host::Region::Weights;
  std::string_view op{};  // name of the operation that has it
  int unit = 1;           // indices of the first dimension that one way has together
};

/// Learned tensors first, "3.weight" and "3.bias" for layer 3, or what its operations call them; then the optimizer's
/// state; then running statistics. Operations of a layer may call theirs alike: the second is "3.weight_2".
CLEAVE_IN_LIBRARY std::vector<Kept> kept(Description const& plan) {
  std::vector<Kept> out;
  schedule::Program const& p = plan.program;
  auto const add = [&out](int leaf, std::string_view called, Kept k) {
    std::string const name = k.name = meta::joined({leaf, ".", called});
    auto const taken = [&](Kept const& other) { return other.name == k.name; };
    for (int same = 2; std::any_of(out.begin(), out.end(), taken); ++same) k.name = meta::joined({name, "_", same});
    out.push_back(std::move(k));
  };
  for (int i = 0; i < p.weights; ++i) {
    schedule::ProgramNode const& n = p.node[p.weight[i].node];
    int const which = p.weight[i].which;
    add(n.leaf, n.weight_names[which],
        {{},
         n.weight[which].shape,
         n.w,
         p.weight[i].offset,
         backend::host::Region::Weights,
         n.name,
         n.weight[which].unit});
  }
  for (int m = 0; m < plan.moments; ++m) {
    for (int i = 0; i < p.weights; ++i) {
      Kept k = out[static_cast<std::size_t>(i)];
      meta::append(k.name, {".moment", m});
      k.offset += m * p.weight_elements;
      k.region = backend::host::Region::Moments;
      out.push_back(std::move(k));
    }
  }
  for (int k = 0; k < p.nodes; ++k) {
    schedule::ProgramNode const& n = p.node[k];
    for (int i = 0; i < n.states; ++i) {
      add(n.leaf, n.state_names[i],
          {{}, n.state, n.w, p.state[k] + i * n.state_size, backend::host::Region::States, n.name});
    }
  }
  return out;
}
template <class P> std::vector<Kept> kept() { return kept(description<P>); }

/// Writes `values`, a whole tensor, to every way of a trainer.
template <class Trained> void write_whole(Trained& trainer, Kept const& k, typename Trained::A const* values) {
  place::DeviceMesh const& mesh = description_of(trainer).program.mesh;
  for (int way = 0; way < mesh.ways(); ++way) {
    schedule::each_run(k.shape, k.unit, k.sharding, mesh, way, [&](long local, long global, long count) {
      trainer.write(way, k.region, k.offset + local, count, values + global);
    });
  }
}
/// One tensor assembled from the ways of a trainer (`Trainer` or `Served`).
template <class Trained> auto whole(Trained& trainer, Kept const& k) {
  std::vector<typename Trained::A> out(static_cast<std::size_t>(k.shape.size()));
  place::DeviceMesh const& mesh = description_of(trainer).program.mesh;
  for (int way = 0; way < mesh.ways(); ++way) {
    schedule::each_run(k.shape, k.unit, k.sharding, mesh, way, [&](long local, long global, long count) {
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

}  // namespace cleave::session
