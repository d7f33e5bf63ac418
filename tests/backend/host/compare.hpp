// tests/backend/host/compare.hpp - what the kernel tests share: numbers, an oracle's context, and every instruction set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include <cleave/backend/host/kernels/kernel.hpp>
#include <cleave/backend/host/kernels/simd.hpp>

namespace test {

using namespace cleave;
namespace host = cleave::backend::host;

/// The operation's own definition runs on this.
struct Serial {
  template <class F> void each(long n, F f) const {
    for (long i = 0; i < n; ++i) f(i);
  }
};

/// Exactly as much as a plan gives, so that the sanitizer sees a kernel that takes more.
struct Workspace {
  std::byte* bytes = static_cast<std::byte*>(::operator new (1 << 20, std::align_val_t{64}));
  Workspace() { std::fill_n(reinterpret_cast<float*>(bytes), (1 << 20) / 4, std::numeric_limits<float>::quiet_NaN()); }
  Workspace(Workspace const&) = delete;
  ~Workspace() { ::operator delete (bytes, std::align_val_t{64}); }
  operator host::Context() const { return {bytes}; }
};

template <class T> std::vector<T> numbers(long n, std::uint32_t seed) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<float>(static_cast<int>(seed >> 16) % 2001 - 1000) / 1000.f);
  }
  return v;
}

template <class T> std::vector<T> poisoned(long n) {
  return std::vector<T>(static_cast<std::size_t>(n), static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
}

/// The largest difference, in units of the format's rounding of a sum of k terms; NaN anywhere is infinitely wrong.
template <class T> double error(std::vector<T> const& a, std::vector<T> const& b, double k) {
  double const unit = sizeof(T) == 8 ? 1e-13 : sizeof(T) == 4 ? 1e-5 : 8e-3;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (!(std::abs(x - y) >= 0)) return std::numeric_limits<double>::infinity();
    most =
        std::max(most, std::abs(x - y) / (unit * (sizeof(T) == 2 ? std::abs(y) + 1e-3 * k + 0.01 : std::sqrt(k) + 1)));
  }
  return a.size() == b.size() ? most : std::numeric_limits<double>::infinity();
}

/// f on every instruction set that this machine and this build have.
template <class F> void on_every_isa(F f) {
  host::Isa const best = host::best_isa();
  for (host::Isa i : {host::Isa::Baseline, host::Isa::Avx2, host::Isa::Avx512}) {
    if (i < host::built_for || i > best) continue;
    host::isa() = i;
    f();
  }
  host::isa() = best;
}

struct Relu {
  template <class A> static A forward(A x) { return x > 0 ? x : A{0}; }
};

}  // namespace test
