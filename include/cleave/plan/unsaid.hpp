// plan/unsaid.hpp - defaults of a plan, and values derived from its policies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <numeric>

#include "../place/portions.hpp"
#include "policies.hpp"

namespace cleave::plan {

struct NoBatch : Batch<0> {};
struct NoData : DataParallel<Sync> {};
struct NoShards {
  static constexpr int count = 0;
};
struct NoModel {
  using sizes = Ways<0>;
  static constexpr char convolutions = 'W', products = 'W';
  static constexpr int ways = 0;
};
struct NoMesh {
  using sizes = Ways<0>;
  static constexpr int replicas = 0, ways = 0;
};
struct NoCount {
  static constexpr int count = 0;
};
struct NoRounds {
  static constexpr int rounds = 1;
};

/// The fewest micro-batches, at least `least` and a multiple of `unit`, that divide the batch; 0 if none do.
constexpr int fewest_micro_batches(int samples, int least, int unit = 1) {
  if (unit < 1 || samples < 1) return 0;
  int n = (least < 1 ? 1 : (least + unit - 1) / unit * unit);
  if (n < unit) n = unit;
  while (n <= samples && samples % n != 0) n += unit;
  return n <= samples ? n : 0;
}
/// The fewest, at least `least`, that divide the batch and of which no way has more than 9/8 of its share; 0 if none.
constexpr int fewest_in_balance(int samples, int least, int ways) {
  for (int n = least < ways ? ways : least; n <= samples; ++n) {
    if (samples % n == 0 && (n + ways - 1) / ways * ways * 8 <= n * 9) return n;
  }
  return 0;
}
/// 8 or the largest power of two below it that divides the batch, if that is at least `least` and a multiple of `ways`;
/// else the next larger number that meets these conditions; else, where ways have unequal parts, one in balance.
constexpr int default_micro_batches(int samples, int least, int ways) {
  int n = 8;
  while (n > 1 && samples % n != 0) n /= 2;
  int const enough = least > n ? least : n;
  int fitting = n >= least && n % ways == 0 ? n : fewest_micro_batches(samples, enough, ways);
  if (fitting == 0) fitting = fewest_in_balance(samples, enough, ways);
  return fitting > 0 ? fitting : n;
}
/// Appears with a law about micro-batches in the message: a number that satisfies it.
template <class> struct would_do {};
struct only_a_larger_batch_would_do {};
template <int Samples, int Least, int Unit = 1>
using advised = std::conditional_t<(fewest_micro_batches(Samples, Least, Unit) > 0),
                                   would_do<MicroBatches<fewest_micro_batches(Samples, Least, Unit)>>,
                                   only_a_larger_batch_would_do>;

/// A number that divides the samples of every replica too.
template <class Said> constexpr int micro_batches_of_portions(int batch) {
  int rows = batch;
  for (int g = 0; g < Said::groups; ++g) rows = std::gcd(rows, Said::samples[g]);
  return rows > 0 ? batch / rows : 1;
}
template <class Said> constexpr place::Portions portions(int rows) {
  place::Portions p{Said::groups, {}};
  for (int g = 0; g < p.groups && g < place::Portions::most; ++g) p.each[g] = Said::samples[g] / rows;
  return p;
}
/// With waiting replicas, this determines their number.
template <class Said> constexpr int replicas_of_portions([[maybe_unused]] int batch, [[maybe_unused]] bool waits) {
  if constexpr (Said::sum > 0) {
    return waits ? batch * Said::groups / Said::sum : 0;
  } else {
    return 0;
  }
}

}  // namespace cleave::plan
