// tests/train/points.hpp - points in a cube as a data set: on which side of a plane they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/data/dataset.hpp>
#include <cleave/layer/input.hpp>
#include <cleave/meta/error.hpp>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace cleave;

struct Points {
  using Input = Vector<3>;
  using Target = Class<2>;
  long broken = -1;  // this one cannot be read
  long size() const { return 250; }
  std::vector<std::string> class_names() const { return {"below", "above"}; }
  int label(long i) const { return at(i, 0) + at(i, 1) - at(i, 2) > 0; }
  void read(long i, std::span<float> x, int& y) const {
    if (i == broken) throw Error({"sample ", i, " is torn"});
    for (int k = 0; k < 3; ++k) x[static_cast<std::size_t>(k)] = at(i, k);
    y = label(i);
  }
  static float at(long i, int k) { return static_cast<float>((i * 37 + k * 101 + i * i * 13) % 200) / 100 - 1; }
};

}  // namespace
