// train/signs.hpp - samples of the tests: numbers drawn from a sample's index, labelled by the signs of the first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/backend/host/execution/feed.hpp>
#include <cleave/tensor/philox.hpp>

namespace signs {

/// Input i of a sample, in (-0.5, 0.5); there are 480 samples.
inline float value(long sample, int i) {
  cleave::tensor::Random const random{7, cleave::tensor::Purpose::Augment, static_cast<std::uint32_t>(i)};
  return random.uniform(static_cast<std::uint64_t>(sample % 480)) - 0.5f;
}

/// Sample s of a step, wherever it is drawn. Two classes where there are four inputs or fewer, or no more outputs than
/// that, else four.
template <class P> cleave::backend::host::Feed feed() {
  constexpr int n = static_cast<int>(P::Net::input::shape.size());
  constexpr bool four = n > 4 && P::signatures.op[P::ops::size - 1].x.size() >= 4;
  return {nullptr,
          [](void const*, long step, long first, int count, float* out) {
            for (long s = first; s < first + count; ++s) {
              for (int i = 0; i < n; ++i) *out++ = value(step * P::batch + s, i);
            }
          },
          [](void const*, long step, long first, int count, int* out) {
            for (long s = first; s < first + count; ++s) {
              *out++ = (value(step * P::batch + s, 0) > 0) + (four ? 2 * (value(step * P::batch + s, 1) > 0) : 0);
            }
          }};
}

}  // namespace signs
