// place/partition.hpp - the layers of a model cut into parts of a pipeline, one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "signature.hpp"

namespace cleave::place {

/// What a sample's forward pass through an operation costs: the multiply-adds of a product, else a value's elements.
constexpr long cost(Signature const& s) {
  if (s.work > 0) return s.work;
  if (!s.contracts || s.weights == 0) return s.y.size();
  long each = 1;  // of a number of the output: the extents that it is a sum over
  for (int d = 0; d < s.w[0].shape.dims; ++d) each *= s.y_at.has(s.w_at[d]) ? 1 : s.w[0].shape[d];
  return s.y.size() * each;
}

/// Of each operation: to which part its layer belongs.
template <int Ops> struct Partitioned { int part[Ops < 1 ? 1 : Ops]{}; };

namespace algebra {

template <int Ops> struct Partitioning {
  int parts;
  // Layers that stay together: what they cost, and the first of them.
  long of_unit[Ops < 1 ? 1 : Ops]{};
  int begin[Ops < 1 ? 1 : Ops]{}, units = 0;

  constexpr Partitioning(Signatures<Ops> const& model, int count) : parts(count) {
    take(model, [&](int k) { return model.op[k].contracts && !passes(model, k); });
    if (units < parts) take(model, [&](int k) { return model.op[k].contracts; });
    if (units < parts) take(model, [&](int k) { return !model.op[k].elementwise; });
    if (units < parts) take(model, [](int) { return true; });
  }
  /// Whether a value besides the input of operation k passes from before k to k or behind it.
  static constexpr bool passes(Signatures<Ops> const& model, int k) {
    auto const other = [&](int in) { return in >= -1 && in < k && in != model.op[k].in0; };
    bool any = false;
    for (int i = k; i < Ops; ++i) any = any || other(model.op[i].in0) || other(model.op[i].in1);
    return any;
  }
  /// begins(k): whether a part may begin with the layer of operation k.
  template <class Begins> constexpr void take(Signatures<Ops> const& model, Begins begins) {
    units = 0;
    for (int k = 0; k < Ops; ++k) {
      Signature const& s = model.op[k];
      if (k == 0 || (s.leaf != model.op[k - 1].leaf && begins(k))) {
        begin[units] = s.leaf;
        of_unit[units++] = 0;
      }
      of_unit[units - 1] += cost(s);
    }
  }
  /// The first layer of each part but the first, if a part may cost so much; each has a unit. False if more parts would
  /// be needed.
  constexpr bool fill(long most, int* first) const {
    int unit = 0;
    for (int part = 0; part < parts; ++part) {
      if (part > 0) first[part - 1] = begin[unit];
      long sum = of_unit[unit++];
      if (sum > most) return false;
      for (; units - unit >= parts - part && sum + of_unit[unit] <= most; ++unit) sum += of_unit[unit];
    }
    return unit == units;
  }
  constexpr void balance(int* first) const {
    long least = 0, most = 0;  // the first too little, the other enough
    for (int i = 0; i < units; ++i) most += of_unit[i];
    while (most - least > 1) {
      long const middle = least + (most - least) / 2;
      (fill(middle, first) ? most : least) = middle;
    }
    fill(most, first);
  }
};

}  // namespace algebra

/// `of` has the first layer of each part but the first; or `said` is 0, and the costliest part costs as little as
/// possible. There are at least as many layers as parts. Parts begin with products that no
/// skip connection passes, if there are enough: what follows a product is computed with it, and rounded once.
template <int Ops>
constexpr Partitioned<Ops> partition(Signatures<Ops> const& model, int parts, int const* of = nullptr, int said = 0) {
  Partitioned<Ops> out;
  if (Ops < 1 || parts < 2) return out;
  int first[Ops < 1 ? 1 : Ops]{};
  if (said == 0) algebra::Partitioning<Ops>(model, parts).balance(first);
  for (int i = 0; i < said; ++i) first[i] = of[i];
  for (int k = 0, part = 0; k < Ops; ++k) {
    while (part + 1 < parts && model.op[k].leaf >= first[part]) ++part;
    out.part[k] = part;
  }
  return out;
}

}  // namespace cleave::place
