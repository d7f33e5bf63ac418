// train/split_sequences.hpp - plans that split sequences, on a device and from a checkpoint, beside the training of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/train/emulated.hpp>

#include "../io/scratch.hpp"
#include "sequences.hpp"
#include "values.hpp"

namespace sequences {

template <class P> void equals(std::vector<double> const& wanted, double within, int replicas = 1) {
  near(trained<P>(replicas), wanted, within);
}
template <class P> std::vector<double> on_device(int replicas) {
  return trained<P>(DeviceTrainer<P, backend::emulate::Machine>(replicas, 2));
}
/// Saved by P after two steps, and loaded by One, which makes the next two as P does.
template <class P, class One> void goes_on_as() {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<P> split(2, 7);
  split.train(0, 2, Words<P>::feed());
  session::save(split, path, 7);
  Trainer<One> one(1, 8);
  session::load(one, path);
  CHECK(values(one) == values(split));
  one.train(2, 2, Words<One>::feed());
  split.train(2, 2, Words<P>::feed());
  near(values(one), values(split), 1e-5);
}

}  // namespace sequences
