// op/operation.hpp - what the tests of operations share: a definition run on one slice, its operands held in vectors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/op/operands.hpp>
#include <vector>

namespace test {

using namespace cleave;

struct Serial {
  template <class F> void each(long n, F f) const {
    for (long i = 0; i < n; ++i) f(i);
  }
};

/// The extents of an operation on whole tensors, its outputs' shape told by itself.
template <class Op> constexpr op::Local local(int rows, Shape x) {
  op::Local l{rows, rows, x, {}, Op::output(x), {}, {}};
  if (Op::weights > 0) l.w0 = Op::weight(0, x).shape;
  if (Op::weights > 1) l.w1 = Op::weight(1, x).shape;
  return l;
}

inline std::vector<float> zeros(long n) { return std::vector<float>(static_cast<std::size_t>(n)); }

}  // namespace test
