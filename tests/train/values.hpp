// train/values.hpp - all that a checkpoint keeps of a trainer (weights, moments, statistics), one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave.hpp>

#include <vector>

template <class T> std::vector<double> values(T& trainer) {
  std::vector<double> out;
  for (cleave::session::Kept const& k : cleave::session::kept<typename T::plan>()) {
    for (auto v : cleave::session::whole(trainer, k)) out.push_back(static_cast<double>(v));
  }
  return out;
}
