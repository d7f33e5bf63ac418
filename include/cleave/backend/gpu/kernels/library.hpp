// backend/gpu/kernels/library.hpp - the description of a product or a convolution for a library, and how it is enqueued.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "../../../op/map.hpp"
#include "blocking.hpp"
#include "branches.hpp"
#include "kernel.hpp"

namespace cleave::backend::gpu {

// A machine may have products() and convolutions() (gpu/tuning/learned.hpp) with
//   learn(queue, Product or Convolution, Places, fill, own, behind)
//                                chooses the implementation by timing; each of the three functions enqueues kernels
//   put(queue, .., Places)       Made: whether it has been enqueued; if not, our kernel is used
// Everything is tuned before the first capture (Walk::learn), so that a capture only looks up the choice.

/// What a library has enqueued: the whole task, the task without its epilogue, or nothing (our kernels are used).
enum class Made : unsigned char { Nothing, WithoutEnd, Whole };

/// A number format, and the epilogue of a task that a library may have; Other: one that it does not have.
enum class Number : unsigned char { F32, Tf32, Bf16, F16, Other };
constexpr bool is_half(Number n) { return n == Number::Bf16 || n == Number::F16; }
enum class End : unsigned char { None, Bias, Relu, BiasRelu, Other };
constexpr bool has_bias(End e) { return e == End::Bias || e == End::BiasRelu; }

template <class T>
inline constexpr Number number_of = std::is_same_v<T, float>  ? Number::F32
                                    : std::is_same_v<T, tf32> ? Number::Tf32
                                    : std::is_same_v<T, bf16> ? Number::Bf16
                                    : std::is_same_v<T, f16>  ? Number::F16
                                                              : Number::Other;
template <bool WithBias, class Map> constexpr End end_of() {
  if constexpr (std::is_void_v<Map>) {
    return WithBias ? End::Bias : End::None;
  } else if constexpr (op::known_as<Map>() == op::Known::Relu) {
    return WithBias ? End::BiasRelu : End::Relu;
  } else {
    return End::Other;
  }
}

/// C (m, n) = end(A (m, k) B (k, n)), or that added to C; dense, row-major; turned operands are stored transposed.
struct Product {
  int m = 0, n = 0, k = 0;
  bool a_turned = false, b_turned = false, adds = false;
  End end = End::None;
  Number of = Number::F32, to = Number::F32;  // of A, B and the bias; of C
  std::string_view behind{};                  // what our kernel fuses besides, in words
  friend constexpr bool operator==(Product const&, Product const&) = default;
};
/// y (n, o, h', w') = end(x (n, c, h, w) * w (o, c/groups, k, k)), dense, in that order; or the gradient of x or of w,
/// which is f32 and may be accumulated. Places: Forward w, x, y; Input w, dy, dx; Weight dy, x, dw.
struct Convolution {
  enum class Pass : unsigned char { Forward, Input, Weight };
  Pass pass = Pass::Forward;
  int n = 0, c = 0, h = 0, w = 0, o = 0, k = 0, stride = 1, pad = 0, dilation = 1, groups = 1;
  bool adds = false;
  End end = End::None;
  Number of = Number::F32;
  std::string_view behind{};
  constexpr int down() const { return (h + 2 * pad - dilation * (k - 1) - 1) / stride + 1; }
  constexpr int right() const { return (w + 2 * pad - dilation * (k - 1) - 1) / stride + 1; }
  friend constexpr bool operator==(Convolution const&, Convolution const&) = default;
};
struct Places {
  void const *a, *b, *bias;
  void* c;
};
constexpr int most_aligned = 16;  // no kernel loads more in one access
inline int aligned(void const* p) {
  auto const at = reinterpret_cast<std::uintptr_t>(p) % most_aligned;
  return at == 0 ? most_aligned : static_cast<int>(at & (~at + 1));
}

/// As text.
inline std::string text(Number n) {
  constexpr char const* names[] = {"f32", "tf32", "bf16", "f16", "another format"};
  return names[static_cast<int>(n)];
}
inline std::string text(End end, std::string_view behind, bool adds) {
  std::string s = has_bias(end) ? " +bias" : "";
  if (end == End::Relu || end == End::BiasRelu) s += " +relu";
  if (end == End::Other) s += " then its end";
  if (!behind.empty()) s += " then " + std::string(behind);
  return s + (adds ? " +=" : "");
}

/// The names of a tail's operations.
template <class Tail> struct Names { static constexpr std::string_view text{}; };
template <bool Back, class... Ops> struct Names<op::Tail<Back, Ops...>> {
  static constexpr auto letters = [] {
    std::array<char, (std::size_t{0} + ... + (std::string_view(Ops::Op::name).size() + 1))> all{};
    std::size_t at = 0;
    auto const add = [&](std::string_view name) {
      all[at++] = '+';
      for (char c : name) all[at++] = c;
    };
    (add(Ops::Op::name), ...);
    return all;
  }();
  static constexpr std::string_view text{letters.data(), letters.size()};
};

/// The libraries of this machine.
template <class M> auto maker(M& machine, Product const&) -> decltype(machine.products()) { return machine.products(); }
template <class M> auto maker(M& machine, Convolution const&) -> decltype(machine.convolutions()) {
  return machine.convolutions();
}

/// Cases of a contraction with `end`, Behind, places(args) and task(slices, adds) can be described to a library if
/// their epilogue is one that libraries have, or the case has finish(args, e), which computes it from what was stored.
template <class Machine, class Case> constexpr bool can_be_told() {
  if constexpr (requires(Machine & m) { maker(m, Case::task(1, false)); }) {
    constexpr bool ends = Case::end != End::Other || requires { &Case::finish; };
    return ends && number_of<typename Case::T> != Number::Other;
  } else {
    return false;
  }
}
/// With all slices in one task: they extend the rows of C, or the sum.
template <class Case> constexpr Product product_of(int slices, bool adds) {
  constexpr bool sums = Case::grows == Extent::K;
  return {Case::m * (sums ? 1 : slices),
          Case::n,
          Case::k * (sums ? slices : 1),
          !Case::a_along_k,
          !Case::b_along_n,
          adds,
          Case::end,
          number_of<typename Case::T>,
          sums ? Number::F32 : number_of<typename Case::T>,
          Names<typename Case::Behind>::text};
}
/// Whether all slices are summed into the first branch. Then the task is one product, accumulated onto it.
template <class A> bool one_sum(Branches<A> const& to, int slices) {
  return !to.rounded && to.depth <= 1 && to.depth + slices - std::popcount(to.merges) == 1;
}

/// The operations after a task, as a separate kernel.
template <class T, class Tail> struct Rest {
  struct Args {
    Tailed<T, Tail> of;
    long n;
  };
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long e) { a.of.tail(e); });
  }
};
/// The epilogue and the operations after it, as a separate kernel.
template <class Case> struct Finish {
  struct Args {
    typename Case::Args of;
    long n;
  };
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long e) { Case::finish(a.of, e); });
  }
};
/// Numbers to time a task with: with zeros a device needs less power, and so less time.
template <class T> struct Noise {
  struct Args {
    T* to;
    long n;
  };
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long e) {
      std::uint32_t h = (static_cast<std::uint32_t>(e) + 1) * 2654435769u;
      h = (h ^ h >> 15) * 2246822519u;
      a.to[e] = T(static_cast<float>(static_cast<int>(h >> 16 & 0xffff) - 0x8000) * 0x1p-15f);
    });
  }
};

/// Enqueues the task of this case; false if no library computes it. `own` enqueues our kernels.
template <class Case, class Queue, class Own> bool by_library(Queue q, typename Case::Args const& args, Own own) {
  using T = typename Case::T;
  bool adds = false, learning = q.library == Library::Learning;
  if constexpr (Case::grows == Extent::K) {
    if (!one_sum(Case::to(args), args.slices)) return false;
    adds = Case::to(args).depth == 1;
  }
  auto const task = Case::task(args.slices, adds);
  Extents<Case> const size(args.slices);
  long const elements = long{size.m} * size.n * Case::groups;  // elements of C
  auto& library = maker(*q.machine, task);
  Places const at = Case::places(args);
  q.library = Library::Never;
  auto const behind = [&]([[maybe_unused]] Made made) {
    if constexpr (requires { &Case::finish; }) {
      if (made == Made::WithoutEnd) return q.template launch<Finish<Case>>(blocks_each(elements), {args, elements});
    }
    if constexpr (Case::Behind::size > 0) {
      q.template launch<Rest<T, typename Case::Behind>>(blocks_each(elements), {args, elements});
    }
  };
  if (!learning) {
    Made const made = library.put(q, task, at);
    if (made != Made::Nothing) behind(made);
    return made != Made::Nothing;
  }
  auto const fill = [&] {
    auto const noise = [&](auto const* at_first, long n) {
      using E = std::remove_const_t<std::remove_pointer_t<decltype(at_first)>>;
      q.template launch<Noise<E>>(blocks_each(n), {const_cast<E*>(at_first), n});  // our buffers, before the first step
    };
    noise(static_cast<T const*>(at.a), Case::a_count * (Case::grows == Extent::N ? 1 : args.slices));
    noise(static_cast<T const*>(at.b), Case::b_count * (Case::grows == Extent::M ? 1 : args.slices));
    if constexpr (Case::biases > 0) noise(static_cast<T const*>(at.bias), Case::biases);
    if (adds) noise(static_cast<float const*>(at.c), elements);
  };
  library.learn(
      q, task, at, fill, [&] { own(q); }, behind);
  return true;
}

}  // namespace cleave::backend::gpu
