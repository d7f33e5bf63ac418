// send/numbers.hpp - numbers to encode, and what comes back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include <cleave/send/codec.hpp>
#include <cleave/tensor/philox.hpp>

namespace numbers {

/// n numbers of many sizes.
inline std::vector<float> drawn(long n, std::uint64_t seed) {
  cleave::tensor::Random const random{seed, cleave::tensor::Purpose::Shuffle, 0};
  std::vector<float> v;
  for (long i = 0; i < n; ++i) {
    float const u = random.uniform(static_cast<std::uint64_t>(i)) - 0.5f;
    v.push_back(u * u * u * static_cast<float>(1 + i % 7));
  }
  return v;
}
/// Written between two guards that no codec may touch, and read.
template <class C> std::vector<float> there_and_back(std::vector<float> const& g, bool& kept_to_its_bytes) {
  long const n = static_cast<long>(g.size());
  std::vector<std::byte> out(static_cast<std::size_t>(C::bytes(n)) + 2, std::byte{0x5a});
  C::encode(n, g.data(), out.data() + 1);
  kept_to_its_bytes = out.front() == std::byte{0x5a} && out.back() == std::byte{0x5a};
  std::vector<float> back(g.size(), 1);
  cleave::send::decode<C>(n, out.data() + 1, back.data());
  return back;
}

}  // namespace numbers
