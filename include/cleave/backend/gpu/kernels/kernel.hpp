// backend/gpu/kernels/kernel.hpp - how an operation runs on a device: by its definition, unless there is a kernel for it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/arena.hpp"
#include "branches.hpp"
#include "context.hpp"
#include "tailed.hpp"

namespace cleave::backend::gpu {

/// Whether a queue may use a library. Learning: only tunes which kernel to use, and runs nothing else.
enum class Library : unsigned char { Never, Asked, Learning };
template <class Machine>
concept with_library = requires(Machine& m) {
  m.products();
}
|| requires(Machine& m) { m.convolutions(); };

/// A rank's on a device: for sums in parts, by which products of few tiles fill it too.
inline constexpr long workspace_bytes = 16L << 20;
constexpr schedule::Format on_device(schedule::Format f) {
  if (f.workspace < workspace_bytes) f.workspace = workspace_bytes;
  return f;
}

/// Where kernels are launched: a machine (cuda/machine.hpp, emulate/machine.hpp), one of its streams, a rank's
/// workspace.
template <class Machine> struct Queue {
  static constexpr long workspace_bytes = gpu::workspace_bytes;
  Machine* machine = nullptr;
  typename Machine::Stream stream{};
  std::byte* workspace = nullptr;
  Library library = Library::Never;
  long library_bytes = schedule::workspace_bytes;  // of the workspace, that a library may use

  template <class K> void launch(int blocks, typename K::Args const& args) const {
    static_assert(K::threads % lanes == 0 && K::threads <= 1024);
    static_assert(K::shared_bytes <= 227 << 10, "what a block may share");
    if constexpr (with_library<Machine>) {
      if (library == Library::Learning) return;
    }
    machine->template launch<K>(stream, blocks, args);
  }
};

enum class Part : unsigned char { Forward, BackwardInput, BackwardWeight };

template <class Op, op::Local L, Part What, class Ctx, class T>
CLEAVE_HD void define(Ctx const& c, op::Operands<T> const& t) {
  if constexpr (What == Part::Forward) Op::template forward<L>(c, t);
  if constexpr (What == Part::BackwardInput) Op::template backward_input<L>(c, t);
  if constexpr (What == Part::BackwardWeight) Op::template backward_weight<L>(c, t);
}
/// Whether an operation has this part. Asked by a call: for nvcc's front end `&Op::template backward_input<L, int, T>`
/// is never valid, so that the device's code would lack kernels which the host's code launches.
template <class Op, op::Local L, Part What, class T>
concept defined = What == Part::Forward ||
                  (What == Part::BackwardInput &&
                   requires(int c, op::Operands<T> const& t) { Op::template backward_input<L>(c, t); }) ||
                  (What == Part::BackwardWeight &&
                   requires(int c, op::Operands<T> const& t) { Op::template backward_weight<L>(c, t); });

/// The blocks that work on one of several slices.
template <class Ctx> struct OfSlice {
  Ctx const& c;
  int block, blocks;
  template <class F> CLEAVE_HD void each(long n, F const& f) const {
    if (n < 1L << 31) {  // a constant, as a rule; what an operation divides such an index by takes fewer instructions
      auto const step = static_cast<unsigned>(c.threads() * blocks), end = static_cast<unsigned>(n);
      for (auto i = static_cast<unsigned>(block * c.threads() + c.thread()); i < end; i += step)
        f(static_cast<long>(i));
      return;
    }
    long const step = long{c.threads()} * blocks;
    for (long i = long{block} * c.threads() + c.thread(); i < n; i += step) f(i);
  }
};

/// One block alone: each loop ends before the next one begins.
template <class Ctx> struct OfBlock {
  Ctx const& c;
  template <class F> CLEAVE_HD void each(long n, F const& f) const {
    for (long i = c.thread(); i < n; i += c.threads()) f(i);
    c.barrier();
  }
};

/// Whether a loop of the operation reads what the loop before it has written; then no loop but that of
/// backward_weight, its only one, goes from one sample to another.
template <class Op>
concept LoopsInOrder = requires {
  requires Op::loops_in_order;
};

/// Runs an operation's loops, distributed over the threads of a device. Loops of one function must be independent, or
/// the operation says that they are in order: then each sample has a block.
template <class Op, op::Local L, Part What, class T> struct Defined {
  using Args = op::Operands<T>;
  static constexpr long aux = Op::aux(L.x, L.y);
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool by_sample = LoopsInOrder<Op> && What != Part::BackwardWeight, alone = !by_sample;
  CLEAVE_HD static constexpr op::Local one_sample() {
    op::Local one = L;
    one.rows = 1;
    return one;
  }
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    if constexpr (by_sample) {
      constexpr op::Local one = one_sample();
      for (int i = c.block(); i < t.slices * L.rows; i += c.blocks())
        define<Op, one, What>(OfBlock<Ctx>{c}, op::slice_of<one>(t, i, aux));
      return;
    }
    int const each = c.blocks() / t.slices, slice = c.block() / each;
    define<Op, L, What>(OfSlice<Ctx>{c, c.block() - slice * each, each}, op::slice_of<L>(t, slice, aux));
  }
  static int blocks(Args const& t) {
    if constexpr (by_sample) return t.slices * L.rows < most_blocks ? t.slices * L.rows : most_blocks;
    int const each = blocks_each(length()), most = most_blocks / t.slices;
    return (each < most ? each : most < 1 ? 1 : most) * t.slices;
  }

  /// Elements of the longest tensor. The loops are not asked for their length, since that would run the definition on
  /// the host, where it may read nothing.
  static constexpr long length() {
    long most = 1;
    for (long n : {L.rows * L.x.size(), L.rows * L.x2.size(), L.rows * L.y.size(), L.w0.size(), L.w1.size()})
      most = n > most ? n : most;
    return most;
  }
};

/// y = map(y + bias), for an operation whose kernel has no epilogue.
template <op::Local L, bool WithBias, class Map, class T> struct Finished {
  using Args = op::Operands<T>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.y.stride(0), size = L.y.size();
    c.each(L.rows * size * t.slices, [&](long e) {
      A v = static_cast<A>(t.y[e]);
      if constexpr (WithBias) v += static_cast<A>(t.bias[e % size / below]);
      if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
      t.y[e] = static_cast<T>(v);
    });
  }
};

// A kernel says `takes_slices` if its forward and backward_input process all given slices in one launch, and
// `sums_slices` if it has sum(queue, Summing), which computes and merges sums over the batch. Without these it is
// launched once for each slice. With `takes_tail` it has forward_with and backward_input_with, which apply the fused
// element-wise operations by their definitions. A kernel of a pointwise operation that derives from ByDefinition must
// say takes_tail = false.
template <class Op> struct ByDefinition {
  static constexpr bool takes_slices = true, takes_tail = Op::pointwise && Op::weights + Op::states == 0;
  template <class Tail, op::Local L, bool, class, class T, class Q>
  static void forward_with(Q q, op::Operands<T> const& t) {
    in_turn<op::Made<Op, L>, Tail>(q, t);
  }
  template <class Tail, op::Local L, class T, class Q> static void backward_input_with(Q q, op::Operands<T> const& t) {
    in_turn<op::Made<Op, L>, Tail>(q, t);
  }
  template <op::Local L, bool WithBias, class Map, class T, class Q>
  static void forward(Q q, op::Operands<T> const& t) {
    run<L, Part::Forward>(q, t);
    if constexpr (WithBias || !std::is_void_v<Map>) {
      q.template launch<Finished<L, WithBias, Map, T>>(blocks_each(L.rows * L.y.size() * t.slices), t);
    }
  }
  template <op::Local L, class T, class Q> static void backward_input(Q q, op::Operands<T> const& t) {
    run<L, Part::BackwardInput>(q, t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    run<L, Part::BackwardWeight>(q, t);
  }

 private:
  template <op::Local L, Part What, class T, class Q> static void run(Q q, op::Operands<T> const& t) {
    if constexpr (defined<Op, L, What, T>) {
      using K = Defined<Op, L, What, T>;
      q.template launch<K>(K::blocks(t), t);
    }
  }
};

/// Base of a kernel K that has forward_with, backward_input_with and sum for all slices in one launch.
template <class K> struct TakesTails {
  static constexpr bool takes_slices = true, sums_slices = true, takes_tail = true;
  template <op::Local L, bool WithBias, class Map, class T, class Q>
  static void forward(Q q, op::Operands<T> const& t) {
    K::template forward_with<NoTail, L, WithBias, Map>(q, t);
  }
  template <op::Local L, class T, class Q> static void backward_input(Q q, op::Operands<T> const& t) {
    K::template backward_input_with<NoTail, L>(q, t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    K::template sum<L, T>(q, one_slice(t));
  }
};

/// Specialised for operations with kernels (product.hpp, convolve.hpp, rows.hpp, columns.hpp, norms.hpp, lookup.hpp).
template <class Op> struct Kernel : ByDefinition<Op> {};

template <class Op> inline constexpr bool takes_tail = requires { requires Kernel<Op>::takes_tail; };

}  // namespace cleave::backend::gpu
