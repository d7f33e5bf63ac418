// backend/cudnn/call.hpp - a convolution as a call of cuDNN, with its tensors as stored, and as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>

#include "../gpu/kernels/library.hpp"

namespace cleave::backend::cudnn {

using gpu::Convolution;
using Pass = Convolution::Pass;

/// Four extents, dense, the last one contiguous.
struct Tensor {
  std::array<long, 4> extent;
  gpu::Number of;
  int aligned;  // alignment in bytes, at most 16
  constexpr std::array<long, 4> strides() const {
    return {extent[1] * extent[2] * extent[3], extent[2] * extent[3], extent[3], 1};
  }
  friend constexpr bool operator==(Tensor const&, Tensor const&) = default;
};
/// x (n, c, h, w), w (o, c/groups, k, k), y (n, o, h', w') or their gradients. The result is y = end(x * w), dx, or dw,
/// which may be accumulated. Sums are taken in f32.
struct Call {
  Pass pass;
  Tensor x, w, y, bias;  // of the bias (1, o, 1, 1)
  int stride, pad, dilation;
  bool adds;
  gpu::End end;
  friend constexpr bool operator==(Call const&, Call const&) = default;
};
/// Their addresses, the result's included.
struct Operands {
  void *x, *w, *y, *bias;
};

inline Operands operands_for(Convolution const& c, gpu::Places const& at) {
  void* const a = const_cast<void*>(at.a);  // one list holds what is read and what is written
  void* const b = const_cast<void*>(at.b);
  void* const bias = const_cast<void*>(at.bias);
  return c.pass == Pass::Forward ? Operands{b, a, at.c, bias}
         : c.pass == Pass::Input ? Operands{at.c, a, b, nullptr}
                                 : Operands{b, at.c, a, nullptr};
}
inline Call call_for(Convolution const& c, gpu::Places const& at) {
  Operands const o = operands_for(c, at);
  gpu::Number const dw = c.pass == Pass::Weight ? gpu::Number::F32 : c.of;
  int const bias = gpu::has_bias(c.end) ? gpu::aligned(o.bias) : gpu::most_aligned;
  return {c.pass,
          {{c.n, c.c, c.h, c.w}, c.of, gpu::aligned(o.x)},
          {{c.o, c.c / c.groups, c.k, c.k}, dw, gpu::aligned(o.w)},
          {{c.n, c.o, c.down(), c.right()}, c.of, gpu::aligned(o.y)},
          {{1, c.o, 1, 1}, c.of, bias},
          c.stride,
          c.pad,
          c.dilation,
          c.adds,
          c.end};
}

/// "forward 128 x 3 x 32 x 32 by 64 of 5 x 5 pad 2 bf16 +bias +relu".
inline std::string text(Convolution const& c, Call const& call) {
  auto const n = [](long v) { return std::to_string(v); };
  std::string s = c.pass == Pass::Forward ? "forward " : c.pass == Pass::Input ? "to input " : "to weights ";
  s += n(c.n) + " x " + n(c.c) + " x " + n(c.h) + " x " + n(c.w) + " by " + n(c.o) + " of " + n(c.k) + " x " + n(c.k);
  if (c.stride > 1) s += " stride " + n(c.stride);
  if (c.pad > 0) s += " pad " + n(c.pad);
  if (c.dilation > 1) s += " dilation " + n(c.dilation);
  if (c.groups > 1) s += " in " + n(c.groups) + " groups";
  s += " " + gpu::text(c.of) + gpu::text(c.end, c.behind, c.adds);
  bool const odd = call.x.aligned < gpu::most_aligned || call.w.aligned < gpu::most_aligned ||
                   call.y.aligned < gpu::most_aligned || call.bias.aligned < gpu::most_aligned;
  if (odd) {
    s += " aligned " + n(call.x.aligned) + " " + n(call.w.aligned) + " " + n(call.y.aligned) + " " +
         n(call.bias.aligned);
  }
  return s;
}

}  // namespace cleave::backend::cudnn
