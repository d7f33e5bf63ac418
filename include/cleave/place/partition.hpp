// place/partition.hpp - the layers of a model cut into parts of a pipeline, one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>
#include <limits>

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
  // Layers that stay together: what they cost, the first of them, and the part that they are to be, or -1.
  long of_unit[Ops < 1 ? 1 : Ops]{};
  int begin[Ops < 1 ? 1 : Ops]{}, wanted[Ops < 1 ? 1 : Ops]{}, units = 0;
  bool wishes;  // are looked at

  constexpr Partitioning(Signatures<Ops> const& model, int count, bool with_wishes)
      : parts(count), wishes(with_wishes) {
    take(model, [&](int k) { return model.op[k].contracts && !passes(model, k); });
    if (units < parts) take(model, [&](int k) { return model.op[k].contracts; });
    if (units < parts) take(model, [&](int k) { return !model.op[k].elementwise; });
    if (units < parts) take(model, [](int) { return true; });
    if (wishes) settle(model);
  }
  /// What is pinned, and then, in the order of the layers, what is preferred and can be beside that.
  constexpr void settle(Signatures<Ops> const& model) {
    for (bool const pinned : {true, false}) {
      for (int k = 0, unit = -1; k < Ops; ++k) {
        if (unit + 1 == units || model.op[k].leaf != begin[unit + 1]) continue;
        if (layer::StageWish const wish = model.op[k].wish; wish.stage < 0 || wish.pinned != pinned) {
          ++unit;
          continue;
        }
        wanted[++unit] = model.op[k].wish.stage;
        if (!pinned && !possible()) wanted[unit] = -1;
      }
      if (pinned && !possible()) {  // a law tells
        for (int& w : wanted) w = -1;
        return;
      }
    }
  }
  constexpr bool possible() const {
    int first[Ops < 1 ? 1 : Ops]{};
    return fill(std::numeric_limits<long>::max(), first);
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
    layer::StageWish wish;
    for (int k = 0; k < Ops; ++k) {
      Signature const& s = model.op[k];
      bool const another = wishes && s.wish.stage >= 0 && !(s.wish == wish);
      if (k == 0 || (s.leaf != model.op[k - 1].leaf && (another || begins(k)))) {
        begin[units] = s.leaf;
        wanted[units] = -1;
        wish = s.wish;
        of_unit[units++] = 0;
      }
      of_unit[units - 1] += cost(s);
    }
  }
  /// Whether a part may end before a unit: the parts behind it that come before a wanted one have a unit each.
  constexpr bool may_end(int part, int unit) const {
    bool good = units - unit >= parts - part - 1;
    for (int i = unit; i < units; ++i) good = good && (wanted[i] < 0 || i - unit >= wanted[i] - part - 1);
    return good;
  }
  /// The first layer of each part but the first, if a part may cost so much; each has a unit, and those that are wanted
  /// in it. False if more parts would be needed.
  constexpr bool fill(long most, int* first) const {
    int unit = 0;
    auto const is_for = [&](int part) { return unit < units && (wanted[unit] < 0 || wanted[unit] == part); };
    for (int part = 0; part < parts; ++part) {
      if (!is_for(part)) return false;
      if (part > 0) first[part - 1] = begin[unit];
      long sum = of_unit[unit++];
      if (sum > most) return false;
      for (; is_for(part) && may_end(part, unit + 1) && sum + of_unit[unit] <= most; ++unit) sum += of_unit[unit];
      if (!may_end(part, unit)) return false;
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
/// skip connection passes, if there are enough: what follows a product is computed with it, and rounded once. Where
/// each of the stages has one part, layers are on those that they want.
template <int Ops>
constexpr Partitioned<Ops> partition(Signatures<Ops> const& model, int parts, int const* of = nullptr, int said = 0,
                                     int stages = 0) {
  Partitioned<Ops> out;
  if (Ops < 1 || parts < 2) return out;
  int first[Ops < 1 ? 1 : Ops]{};
  if (said == 0) algebra::Partitioning<Ops>(model, parts, stages == parts).balance(first);
  for (int i = 0; i < said; ++i) first[i] = of[i];
  for (int k = 0, part = 0; k < Ops; ++k) {
    while (part + 1 < parts && model.op[k].leaf >= first[part]) ++part;
    out.part[k] = part;
  }
  return out;
}

/// The first operation that is pinned to another stage than it is on; -1: none. Where there is one stage, none is.
template <int Ops, class Shardings>
constexpr int first_misplaced(Signatures<Ops> const& model, Shardings const& on, int stages) {
  for (int k = 0; k < Ops && stages > 1; ++k) {
    layer::StageWish const wish = model.op[k].wish;
    if (wish.pinned && wish.stage != on.op[k].part % stages) return k;
  }
  return -1;
}

}  // namespace cleave::place
