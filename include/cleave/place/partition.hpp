// place/partition.hpp - the layers of a model cut into parts of a pipeline, one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

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
  static constexpr int most = Ops < 1 ? 1 : Ops, finest = 3;
  int parts;
  // Units, which are layers that stay together: what they cost, the first of them, and the part that they want, or -1.
  long of_unit[most]{};
  int begin[most]{}, wanted[most]{}, units = 0;
  bool counts[most]{};  // whether the wish of an operation does
  int fineness = 0;     // of units, from 0 to `finest`

  constexpr Partitioning(Signatures<Ops> const& model, int count, bool looks_at_wishes) : parts(count) {
    for (int k = 0; k < Ops; ++k) counts[k] = looks_at_wishes && model.op[k].wish.pinned;
    if (!divide(model)) {  // a law tells
      for (bool& c : counts) c = false;
      divide(model);
    }
    for (int k = 0, end = 0; looks_at_wishes && k < Ops; k = end) {
      layer::StageWish const wish = model.op[k].wish;
      for (end = k; end < Ops && model.op[end].wish == wish;) ++end;
      if (wish.stage < 0 || wish.pinned) continue;
      for (int i = k; i < end; ++i) counts[i] = true;
      if (take(model)) continue;
      for (int i = k; i < end; ++i) counts[i] = false;
      take(model);
    }
  }
  /// Whether a value besides the input of operation k passes from before k to k or behind it.
  static constexpr bool passes(Signatures<Ops> const& model, int k) {
    auto const other = [&](int in) { return in >= -1 && in < k && in != model.op[k].in0; };
    bool any = false;
    for (int i = k; i < Ops; ++i) any = any || other(model.op[i].in0) || other(model.op[i].in1);
    return any;
  }
  /// Whether a part may begin with the layer of operation k, by the fineness of units.
  constexpr bool begins(Signatures<Ops> const& model, int k) const {
    Signature const& s = model.op[k];
    if (fineness == 0) return s.contracts && !passes(model, k);
    return fineness == 1 ? s.contracts : fineness == finest || !s.elementwise;
  }
  /// Into units that are as fine as they must be for the parts and the wishes that count. False if none are.
  constexpr bool divide(Signatures<Ops> const& model) {
    for (fineness = 0; !take(model); ++fineness) {
      if (fineness == finest) return false;
    }
    return true;
  }
  /// False if there are fewer units than parts, or some cannot be in the part that they want.
  constexpr bool take(Signatures<Ops> const& model) {
    units = 0;
    layer::StageWish of;
    for (int k = 0; k < Ops; ++k) {
      Signature const& s = model.op[k];
      bool const another = counts[k] && !(s.wish == of);
      if (k == 0 || (s.leaf != model.op[k - 1].leaf && (another || begins(model, k)))) {
        of = counts[k] ? s.wish : layer::StageWish{};
        begin[units] = s.leaf;
        wanted[units] = of.stage;
        of_unit[units++] = 0;
      }
      of_unit[units - 1] += cost(s);
    }
    int first[most]{};
    return units >= parts && fill(std::numeric_limits<long>::max(), first);
  }
  /// Whether a part may end before a unit: the parts behind it that come before a wanted one have a unit each.
  constexpr bool may_end(int part, int unit) const {
    bool good = units - unit >= parts - part - 1;
    for (int i = unit; i < units; ++i) good = good && (wanted[i] < 0 || i - unit >= wanted[i] - part - 1);
    return good;
  }
  /// The first layer of each part but the first, if a part may cost so much; each has a unit, and those that are wanted
  /// in it. False if more parts would be needed, or a unit would not be in the part that it wants.
  constexpr bool fill(long highest, int* first) const {
    int unit = 0;
    auto const is_for = [&](int part) { return unit < units && (wanted[unit] < 0 || wanted[unit] == part); };
    for (int part = 0; part < parts; ++part) {
      if (!is_for(part)) return false;
      if (part > 0) first[part - 1] = begin[unit];
      long sum = of_unit[unit++];
      if (sum > highest) return false;
      for (; is_for(part) && may_end(part, unit + 1) && sum + of_unit[unit] <= highest; ++unit) sum += of_unit[unit];
      if (!may_end(part, unit)) return false;
    }
    return unit == units;
  }
  constexpr void balance(int* first) const {
    long least = 0, enough = 0;  // the first is too little
    for (int i = 0; i < units; ++i) enough += of_unit[i];
    while (enough - least > 1) {
      long const middle = least + (enough - least) / 2;
      (fill(middle, first) ? enough : least) = middle;
    }
    fill(enough, first);
  }
};

}  // namespace algebra

/// `of` has the first layer of each part but the first; or `said` is 0, and the costliest part costs as little as
/// possible. There are at least as many layers as parts. Parts begin with products that no skip connection passes, if
/// there are enough: what follows a product is computed with it, and rounded once. Where each of the stages has one
/// part, layers are on the stages that Pin and Prefer name, if that is possible.
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
