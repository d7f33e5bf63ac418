// backend/cuda/library.hpp - a library on a GPU beside our own kernels: one operation, and a plan that trains.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>

#include <cleave.hpp>

#include "../gpu/compare.hpp"

namespace cleave::testing {

inline int wrong = 0;
inline void check(bool right, std::string const& what) {
  if (right) return;
  std::printf("wrong: %s\n", what.c_str());
  ++wrong;
}

/// The largest difference between our own kernels and what `machine` makes by its library, of the largest element, of
/// two slices.
template <class Op, op::Local All, op::Local Slice, class T, bool WithBias, class Map, class M>
void as_own(M& machine, long room, double tolerance) {
  namespace gpu = backend::gpu;
  std::byte* const workspace = machine.allocate(std::max(room, gpu::workspace_bytes));
  Tensors<Op, All, T> tried, own, library;
  auto const put = [&](auto& tensors, gpu::Library how) {
    gpu::Queue<M> const q{&machine, machine.stream(), workspace, how, room};
    auto t = tensors.operands();
    t.slices = 2;
    using K = gpu::Kernel<Op>;
    K::template forward<Slice, WithBias, Map, T>(q, t);
    K::template backward_input<Slice, T>(q, t);
    K::template sum<Slice, T>(q, {t, {{t.dw0}, {}, {}, 0, false, 3, 0b010}});
    machine.finish();
  };
  put(tried, gpu::Library::Learning);
  put(own, gpu::Library::Never);
  long const launched = machine.launches();
  put(library, gpu::Library::Asked);
  std::printf("%s%ld kernels of our own\n", machine.listing().c_str(), machine.launches() - launched);
  auto const far = [&](char const* what, auto const& a, auto const& b) {
    double most = 0, apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      double const x = static_cast<double>(static_cast<float>(a[i])), y = static_cast<double>(static_cast<float>(b[i]));
      most = std::max(most, std::fabs(x));
      apart = std::isnan(x) || std::isnan(y) ? 1e300 : std::max(apart, std::fabs(x - y));
    }
    std::printf("  %s: apart %.2e of %.2e\n", what, apart, most);
    check(apart <= tolerance * most, what);
  };
  far("y", own.y, library.y);
  far("dx", own.dx, library.dx);
  far("dw", own.dw0, library.dw0);
}

/// Losses of 20 steps of two replicas, by the library's machine and by our own.
template <class P, class M> void trains(std::unique_ptr<M> machine, double tolerance) {
  static constexpr long size = P::Net::input::shape.size();
  auto const feed = backend::host::Feed{nullptr,
                                        [](void const*, long step, long first, int count, float* out) {
                                          for (long i = first * size; i < (first + count) * size; ++i)
                                            *out++ = static_cast<float>((i * 7 + i / 16 + step) % 11) / 11 - 0.5f;
                                        },
                                        [](void const*, long, long first, int count, int* out) {
                                          for (long i = first; i < first + count; ++i) *out++ = static_cast<int>(i % 8);
                                        }};
  DeviceTrainer<P, M> by(2, 7, std::move(machine));
  DeviceTrainer<P, backend::cuda::Machine> own(2, 7);
  std::printf("%s", by.machine().listing().c_str());
  auto const a = by.train(0, 20, feed), b = own.train(0, 20, feed);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::fabs(a[i] - b[i]) > tolerance) return check(false, "losses of a plan: " + std::to_string(a[i] - b[i]));
  }
  std::printf("losses of a plan: %g and %g\n", a.back(), b.back());
}

}  // namespace cleave::testing
