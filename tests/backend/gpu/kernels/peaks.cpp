// backend/gpu/kernels/peaks.cpp - the maxima of both operands by one kernel: slices, odd lengths and beginnings, what is no number.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/peaks.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;

namespace {

Many<fp8> spread(long n) {
  Many<fp8> v;
  for (long i = 0; i < n; ++i) v.push_back(fp8(static_cast<float>(i * 37 % 101 - 50) / 100));
  return v;
}
/// The scale that one slice is given.
template <int Each> float scale_of(std::uint16_t const* slots, int slice) {
  return tensor::Factor<fp8>(gpu::peak<Each>(slots, slice)).scale;
}
float defined(fp8 const* p, long n) { return tensor::Factor<fp8>::of(p, n).scale; }

template <int EachA, int EachB> void both(long count_a, int slices, long count_b, int off) {
  auto a = spread(count_a * slices + off), b = spread(count_b + off);
  fp8 *const pa = a.data() + off, *const pb = b.data() + off;
  for (int s = 0; s < slices; ++s) pa[s * count_a + (s % 2 ? count_a - 1 : s)] = fp8(std::ldexp(-1.25f, 3 * s));
  pb[count_b - 1] = fp8(300);
  pb[0] = fp8(NAN), pb[1] = fp8(-INFINITY);
  Many<std::uint16_t> slots(static_cast<std::size_t>(8 * 64 * 2), 0xffff);
  Machine m;
  gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  std::uint16_t* const of_b = slots.data() + 8 * 64;
  q.launch<gpu::Peaks<fp8>>(slices * EachA + EachB,
                            {{pa, slots.data(), count_a, EachA, slices}, {pb, of_b, count_b, EachB, 1}});
  m.finish();
  for (int s = 0; s < slices; ++s) CHECK(scale_of<EachA>(slots.data(), s) == defined(pa + s * count_a, count_a));
  CHECK(scale_of<EachB>(of_b, 0) == defined(pb, count_b));
  CHECK(slots[static_cast<std::size_t>(slices * EachA)] == 0xffff);
}

}  // namespace

TEST_CASE("each slice has its own largest magnitude, whatever lies beside it") {
  both<1, 1>(5, 3, 2, 0);
  both<1, 2>(9, 7, 5000, 1);
  both<2, 8>(5003, 3, 33001, 3);
  both<16, 64>(3000, 2, 2000, 8);  // more blocks than there is work for
}
TEST_CASE("as many blocks as a tensor is worth, and no more slots than there is room for") {
  static_assert(gpu::slots_for(1, 1) == 1 && gpu::slots_for(4096, 1) == 1 && gpu::slots_for(4097, 8) == 2);
  static_assert(gpu::slots_for(1 << 20, 1) == 64 && gpu::slots_for(1 << 20, 1024) == 16);
  static_assert(gpu::slots_for(1 << 20, 1 << 20) == 1);
}
