// backend/gpu/communication/exchange.hpp - the interface of all-reduces on a device: one way to sum a bucket's gradients over ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "ranks.hpp"

namespace cleave::backend::gpu {

inline std::string too_many(char const* what, int most) {
  return "the sum over these ranks has more than " + std::to_string(most) + " " + what +
         " on a device; run fewer ranks, or say fewer MicroBatches";
}

/// One way to sum a bucket over a group: `reduce` runs on the reduction stream after the gradients have been packed, if
/// sums are `in_data`. When all ranks have done so, `sums` returns where a rank finds the parts of the result, on its
/// compute stream.
template <class N, class Machine, class Link> class DeviceExchange {
 public:
  using Ranks = gpu::Ranks<N, Machine, Link>;
  using One = typename Ranks::One;
  using T = N;
  using A = tensor::accumulate_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  using Wire = std::conditional_t<narrow, T, A>;  // an element as it is sent

  explicit DeviceExchange(Ranks& ranks) : ranks_(ranks) {}
  virtual ~DeviceExchange() = default;
  DeviceExchange(DeviceExchange const&) = delete;
  DeviceExchange& operator=(DeviceExchange const&) = delete;

  /// Whether gradients are sent, and sums found, in the format of the data; else in that of sums.
  virtual bool in_data() const { return narrow; }
  virtual void reduce(int b, host::Axis axis) = 0;
  virtual std::vector<void const*> sums(One& one, int b, host::Axis axis) = 0;

 protected:
  schedule::Bucket const& bucket(int b) const { return ranks_.program.bucket[b]; }
  /// Address of a branch of a rank's gradients in the format in which it is sent.
  long wire(int branch, long offset) const {
    return ranks_.layout.wire + (branch * ranks_.program.weight_elements + offset) * static_cast<long>(sizeof(Wire));
  }

  Ranks& ranks_;
};

}  // namespace cleave::backend::gpu
