// backend/gpu/kernels/branches.hpp - sums over several slices in one kernel: each is merged into the tree's branches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../../host/kernels/branches.hpp"

namespace cleave::backend::gpu {

using host::Branches, host::Stack;

/// The arguments of a kernel that sums over the batch.
template <class T> struct Summing : op::Operands<T> {
  using A = tensor::accumulate_t<T>;
  Branches<A> to;
};
/// One slice whose sums are the result.
template <class T> Summing<T> one_slice(op::Operands<T> const& t, tensor::batch_sum_t<T>* stats = nullptr) {
  return {t, {{t.dw0}, {t.dw1}, {stats}}};
}

/// A slice's sums of one tensor: each(f) calls f(element, sum) for those that a thread holds.
template <bool OfWeights, class E, class Each> struct SumsOf {
  Stack<E> const& to;
  Each each;
};
template <class A, class Each> CLEAVE_HD SumsOf<true, A, Each> weights(Stack<A> const& to, Each each) {
  return {to, each};
}
template <class S, class Each> CLEAVE_HD SumsOf<false, S, Each> statistics(Stack<S> const& to, Each each) {
  return {to, each};
}

/// Follows a thread from slice to slice, merges its sums and stores them.
template <class T> class Turn {
 public:
  using A = tensor::accumulate_t<T>;
  CLEAVE_HD explicit Turn(Branches<A> const& b, int slices_before = 0)
      : left_(b.merges), top_(b.depth), rounded_(b.rounded) {
    for (; slices_before > 0; --slices_before) put();
  }
  template <class... Of> CLEAVE_HD void put(Of const&... sums) {
    (first(sums), ...);
    for (; left_ & 1; left_ >>= 1) {
      --top_;
      (merge(sums), ...);
    }
    (store(sums), ...);
    left_ >>= 1;
    ++top_;
  }

 private:
  template <bool OfWeights> CLEAVE_HD bool rounds() const { return OfWeights && sizeof(T) < sizeof(A) && rounded_; }
  template <class E> CLEAVE_HD static void round(E& v) { v = static_cast<E>(static_cast<T>(v)); }
  template <bool W, class E, class Each> CLEAVE_HD void first(SumsOf<W, E, Each> const& s) const {
    if constexpr (W) {
      if (rounds<W>()) s.each([](long, E& v) { round(v); });
    }
  }
  template <bool W, class E, class Each> CLEAVE_HD void merge(SumsOf<W, E, Each> const& s) const {
    E const* const left = s.to.at(top_);
    bool const rounded = rounds<W>();
    s.each([=](long e, E& v) {
      v = left[e] + v;
      if constexpr (W) {
        if (rounded) round(v);
      }
    });
  }
  template <bool W, class E, class Each> CLEAVE_HD void store(SumsOf<W, E, Each> const& s) const {
    E* const to = s.to.at(top_);
    s.each([=](long e, E& v) { to[e] = v; });
  }

  std::uint64_t left_;
  int top_;
  bool rounded_;
};

}  // namespace cleave::backend::gpu
