// backend/host/execution/arena.hpp - a rank's one block of memory, and the addresses of a plan's tensors in it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "../../../meta/error.hpp"
#include "../../../schedule/program.hpp"
#include "../../../tensor/number.hpp"
#include "feed.hpp"

namespace cleave::backend::host {

/// Zero-initialised; pages are allocated when touched. The layout that `layout` views must outlive it. Throws Error if
/// there is no memory.
template <class N> class Arena {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);

  Arena(schedule::Program const& program, schedule::LayoutView const& layout)
      : program_(program), layout_(layout), block_(std::calloc(1, bytes() + schedule::alignment), std::free) {
    void* from = block_.get();
    std::size_t room = bytes() + schedule::alignment;
    if (!from)
      throw Error({"there is no memory for the ", bytes(),
                   " bytes of a rank; say a smaller batch, more micro-batches or fewer ranks"});
    base_ = static_cast<std::byte*>(std::align(schedule::alignment, bytes(), from, room));
  }

  schedule::LayoutView const& layout() const { return layout_; }
  std::size_t bytes() const { return static_cast<std::size_t>(layout_.memory.total); }
  std::byte* base() const { return base_; }
  template <class E> E* at(long offset) const { return reinterpret_cast<E*>(base_ + offset); }
  A* weights() { return at<A>(layout_.weights); }
  A* moments() { return at<A>(layout_.moments); }
  A* states() { return at<A>(layout_.states); }
  A* region(Region r) { return r == Region::Weights ? weights() : r == Region::Moments ? moments() : states(); }
  /// The weights that kernels read; the master weights unless these are wider.
  T* data_weights() { return at<T>(layout_.copies); }
  /// Push buffer: weight_elements.
  A* outbox() { return at<A>(layout_.outbox); }
  /// Call after weights were written from outside.
  void refresh_copies() {
    if constexpr (narrow) {
      for (long i = 0; i < program_.weight_elements; ++i) data_weights()[i] = static_cast<T>(weights()[i]);
    }
  }
  /// [offset, offset + count) of a tensor of weight_elements in the format in which it is sent; valid until the next
  /// step.
  T* wire(A const* from, long offset, long count) {
    T* const to = at<T>(layout_.wire) + offset;
    for (long i = 0; i < count; ++i) to[i] = static_cast<T>(from[offset + i]);
    return to;
  }

 protected:
  schedule::Program const program_;
  schedule::LayoutView const layout_;

 private:
  std::unique_ptr<void, void (*)(void*)> block_;
  std::byte* base_ = nullptr;
};

}  // namespace cleave::backend::host
