// refused: ParameterGroup: rate and decay are factors from 0 on
// refused: groups_have_factors_from_zero<false>
// refused: Mine
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Mine : AdamW {
  static constexpr ParameterGroup group(Parameter p) { return {.rate = p.is_matrix() ? 1.0f : -1.0f}; }
};
struct Train : Plan<Net, Batch<8>, Mine> {};
