// train/pretrained.hpp - Trainer::load_weights: the first layers of a trained model in another one, for fine-tuning.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "checkpoint.hpp"
#include "trainer.hpp"

namespace cleave {

namespace session {

/// Writes the weights and running statistics of layers 0 to `layers` - 1 into every rank of a trainer. Nothing is
/// changed unless the file has all of them.
template <class Trained> void load_layers(Trained& trainer, std::string const& path, int layers) {
  using A = typename Trained::A;
  Description const& plan = description_of(trainer);
  int of_model = 0;
  for (int k = 0; k < plan.program.nodes; ++k) of_model = std::max(of_model, plan.program.node[k].leaf + 1);
  if (layers < 1) throw Error({"load_weights: the first ", layers, " layers; say at least 1"});
  if (layers > of_model && layers != std::numeric_limits<int>::max())
    throw Error({"load_weights: the first ", layers, " layers, but this model has ", of_model, ", with its loss"});
  io::SafeTensors const file = io::load_safetensors(path);
  std::vector<Kept> wanted;
  for (Kept& k : kept(plan)) {
    if (k.region != backend::host::Region::Moments && std::stoi(k.name) < layers) wanted.push_back(std::move(k));
  }
  if (wanted.empty()) throw Error({"load_weights: layers 0 to ", layers - 1, " of this model have no weights"});
  std::vector<std::vector<A>> values;
  for (Kept const& k : wanted) {
    values.emplace_back(static_cast<std::size_t>(k.shape.size()));
    read_tensor(file, path, k, values.back().data());
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) write_whole(trainer, wanted[i], values[i].data());
  trainer.refresh_copies();
  meet(trainer);
}

}  // namespace session

template <class P, class Self>
void session::SampleTraining<P, Self>::load_weights(std::string const& path, int layers) {
  session::Preprocessing saved = session::saved_preprocessing(path).value_or(session::Preprocessing{});
  session::load_layers(session::common(self()), path, layers);
  if (preprocessing_.scaling.empty()) preprocessing_.scaling = std::move(saved.scaling);
}

}  // namespace cleave
