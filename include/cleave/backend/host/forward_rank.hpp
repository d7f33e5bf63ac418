// backend/host/forward_rank.hpp - runs the forward pass of a program on one thread, with weights that several may share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>

#include "execution/feed.hpp"
#include "execution/prepare.hpp"

namespace cleave::backend::host {

/// A block of memory at an address that layouts want, all zero.
class AlignedBlock {
 public:
  explicit AlignedBlock(long bytes)
      : at_(static_cast<std::byte*>(
                ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{schedule::alignment})),
            [](std::byte* p) { ::operator delete (p, std::align_val_t{schedule::alignment}); }) {
    std::memset(at_.get(), 0, static_cast<std::size_t>(bytes));
  }
  std::byte* get() const { return at_.get(); }

 private:
  std::unique_ptr<std::byte, void (*)(std::byte*)> at_;
};

/// Weights and running statistics of an Inference plan, in one block of memory, at the offsets of its layout. Written
/// once, then only read.
template <class N> class SharedWeights {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;

  SharedWeights(schedule::Program const& program, schedule::LayoutView const& layout)
      : program_(program),
        layout_(layout),
        block_(layout.memory.bytes[static_cast<int>(schedule::Category::Weights)]) {}
  std::byte* get() const { return block_.get(); }
  A* region(Region r) const {
    return reinterpret_cast<A*>(get() + (r == Region::Weights ? layout_.weights : layout_.states) - layout_.weights);
  }
  /// Call after weights were written.
  void refresh_copies() const {
    if constexpr (sizeof(T) < sizeof(A)) {
      T* const to = reinterpret_cast<T*>(get() + layout_.copies - layout_.weights);
      for (long i = 0; i < program_.weight_elements; ++i) to[i] = static_cast<T>(region(Region::Weights)[i]);
    }
  }

 private:
  schedule::Program const program_;
  schedule::LayoutView const layout_;
  AlignedBlock block_;
};

/// One rank's forward pass over a batch of `rows` samples, with the kernels of `On`. A pass allocates nothing.
template <class N, class On = Host> class ForwardRank {
 public:
  using T = N;

  /// `layout`, `weights` and `arena` must outlive it. Several that run in turn may have one arena (of `bytes(layout)`,
  /// aligned to schedule::alignment).
  ForwardRank(schedule::Program const& program, Kernels<T, On> const* kernels, schedule::LayoutView const& layout,
              schedule::Share const& share, SharedWeights<T> const& weights, std::byte* arena)
      : program_(program), layout_(layout), share_(share), world_(schedule::Ranks{1, 1}, program.steps), base_(arena) {
    member_.world = &world_;
    pass_.training = false;
    Lowered prepare(program_, kernels, member_, share_, layout_, base_, &pass_, weights.get());
    actions_ = std::move(prepare.evaluation()[0].actions);
  }
  ForwardRank(ForwardRank const&) = delete;
  ForwardRank& operator=(ForwardRank const&) = delete;
  /// Of an arena, without the weights.
  static constexpr long bytes(schedule::Memory const& m) {
    return m.total - m.bytes[static_cast<int>(schedule::Category::Weights)];
  }

  /// (rows, input shape), to be filled before a pass.
  T* input() const { return reinterpret_cast<T*>(base_ + layout_.buffer[program_.input_value]); }
  /// The same of a model that reads tokens.
  std::int32_t* tokens() const { return reinterpret_cast<std::int32_t*>(base_ + layout_.buffer[program_.input_value]); }
  /// (rows, shape of what the loss reads), of the last pass.
  T const* output() const { return reinterpret_cast<T const*>(base_ + layout_.buffer[program_.value[program_.last]]); }
  void run() const {
    Context const context{base_ + layout_.workspace};
    for (Action<T, On> const& a : actions_) a.call(context, a.t);
  }

 private:
  /// As in training, but with weights in another block.
  struct Lowered : Prepare<T, On> {
    Lowered(schedule::Program const& program, Kernels<T, On> const* kernels, Member const& m,
            schedule::Share const& share, schedule::LayoutView const& layout, std::byte* base, op::Pass const* pass,
            std::byte* weights)
        : Prepare<T, On>(program, kernels, m, share, layout, base, pass) {
      this->weights_base_ = weights;
      this->weights_first_ = layout.weights;
    }
  };

  schedule::Program const program_;
  schedule::LayoutView const layout_;
  schedule::Share share_;
  World world_;
  Member member_;
  op::Pass pass_;
  std::byte* const base_;
  std::vector<Action<T, On>> actions_;
};

}  // namespace cleave::backend::host
