// backend/host/kernels/definition.hpp - a host kernel beside its operation's definition: equal inputs, and how near results are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <cleave/tensor/number.hpp>
#include <cleave/tensor/philox.hpp>

namespace test {

using namespace cleave;

/// The same n numbers, from `low` to `low + range`, in each format: bf16, which every format holds.
template <class T> std::vector<T> drawn(long n, std::uint32_t which, float low, float range) {
  tensor::Random const random{5, tensor::Purpose::Augment, which};
  std::vector<T> out;
  for (long i = 0; i < n; ++i) {
    float const v = range * random.uniform(static_cast<std::uint64_t>(i)) + low;
    out.push_back(static_cast<T>(static_cast<float>(static_cast<bf16>(v))));
  }
  return out;
}

/// No element is further off than `tolerance` times the largest that is wanted.
template <class T> void check_near(std::vector<T> const& got, std::vector<double> const& wanted, double tolerance) {
  double most = 0, far = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    most = std::max(most, std::fabs(wanted[i]));
    double const gap = std::fabs(static_cast<double>(static_cast<tensor::accumulate_t<T>>(got[i])) - wanted[i]);
    far = gap <= far ? far : gap;
  }
  CHECK(far <= tolerance * most);
}

}  // namespace test
