// backend/host/feed.hpp - where samples come from, and what an evaluation says of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../tensor/number.hpp"

namespace cleave::backend::host {

/// Where samples come from. `pixels` writes (count, features) for the samples [first, first + count) of a step's batch.
struct Feed {
  void const* self = nullptr;
  void (*pixels)(void const* self, long step, long first, int count, float* out) = nullptr;
  void (*labels)(void const* self, long step, long first, int count, int* out) = nullptr;
};

/// What an evaluation pass saw on one rank; each sample is counted by exactly one rank.
struct Seen {
  long samples = 0, correct = 0;
};

/// What a checkpoint keeps of a rank: weights, the optimizer's tensors, running statistics.
enum class Region : unsigned char { Weights, Moments, States };

/// x (end - begin, n): of the rows [begin, end) below `valid`, how many have their largest element at their label.
template <class T>
void count_correct(T const* x, int const* label, long n, long begin, long end, long valid, Seen& seen) {
  using A = tensor::accumulate_t<T>;
  for (long row = begin; row < end && row < valid; ++row, x += n, ++label) {
    long best = 0;
    for (long i = 1; i < n; ++i) best = static_cast<A>(x[i]) > static_cast<A>(x[best]) ? i : best;
    ++seen.samples;
    seen.correct += best == *label;
  }
}

}  // namespace cleave::backend::host
