// benchmarks/gemm.cpp - the host's matrix products and convolutions in GF/s, beside OpenBLAS and Eigen in the same run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   g++ -std=c++20 -O2 -I include -c benchmarks/gemm.cpp -DPEER_OPENBLAS -DPEER_EIGEN -o gemm.o
//   g++ -std=c++20 -O3 -march=native -DNDEBUG -I /usr/include/eigen3 -c benchmarks/gemm_eigen.cpp -o gemm_eigen.o
//   g++ gemm.o gemm_eigen.o -lopenblas -o gemm
//   OPENBLAS_NUM_THREADS=1 [OPENBLAS_CORETYPE=SkylakeX] taskset -c 1 ./gemm
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

#include <cleave/backend/host/kernels/convolve.hpp>
#include <cleave/backend/host/kernels/product.hpp>

extern "C" void sgemm_(char const*, char const*, int const*, int const*, int const*, float const*, float const*,
                       int const*, float const*, int const*, float const*, float*, int const*);
void eigen_gemm(bool ta, bool tb, int m, int n, int k, float const* a, float const* b, float* c);

namespace {

using namespace cleave;
alignas(64) std::byte workspace[1 << 20];

/// Aligned as a plan's tensors are.
template <class T> struct Aligned {
  using value_type = T;
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{64}); }
  friend bool operator==(Aligned, Aligned) { return true; }
};
using Numbers = std::vector<float, Aligned<float>>;

Numbers numbers(long n) {
  Numbers v(static_cast<std::size_t>(n));
  std::uint32_t s = 1;
  for (float& x : v) x = static_cast<float>((s = s * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1;
  return v;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class F> double seconds(long repeats, F f) {
  auto const begin = std::chrono::steady_clock::now();
  for (long i = 0; i < repeats; ++i) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(repeats);
}

/// Row-major through Fortran's eyes: C^T = B^T A^T.
void blas(bool ta, bool tb, int m, int n, int k, float const* a, float const* b, float* c) {
#ifdef PEER_OPENBLAS
  float const one = 1, zero = 0;
  int const lda = ta ? m : k, ldb = tb ? k : n;
  sgemm_(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, &one, b, &ldb, a, &lda, &zero, c, &n);
#else
  static_cast<void>(ta), static_cast<void>(tb), static_cast<void>(m), static_cast<void>(n), static_cast<void>(k);
  static_cast<void>(a), static_cast<void>(b), static_cast<void>(c);
#endif
}
void eigen(bool ta, bool tb, int m, int n, int k, float const* a, float const* b, float* c) {
#ifdef PEER_EIGEN
  eigen_gemm(ta, tb, m, n, k, a, b, c);
#else
  static_cast<void>(ta), static_cast<void>(tb), static_cast<void>(m), static_cast<void>(n), static_cast<void>(k);
  static_cast<void>(a), static_cast<void>(b), static_cast<void>(c);
#endif
}

template <class F>
void line(char const* way, bool ta, bool tb, int m, int n, int k, float const* a, float const* b, F ours) {
  Numbers c(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
  double const flops = 2.0 * m * n * k;
  long const repeats = static_cast<long>(1e8 / flops) + 1;
  std::vector<double> t[3], ratio[2];
  for (int round = 0; round < 31; ++round) {
    t[0].push_back(seconds(repeats, ours));
    t[1].push_back(seconds(repeats, [&] { blas(ta, tb, m, n, k, a, b, c.data()); }));
    t[2].push_back(seconds(repeats, [&] { eigen(ta, tb, m, n, k, a, b, c.data()); }));
    ratio[0].push_back(t[1].back() / t[0].back());
    ratio[1].push_back(t[2].back() / t[0].back());
  }
  auto const speed = [&](int i) { return flops * 1e-9 / median(t[i]); };
  std::printf("%s %4d x %4d x %4d  GF/s: ours %6.1f  OpenBLAS %6.1f  Eigen %6.1f   faster: %5.2f %5.2f\n", way, m, k, n,
              speed(0), speed(1), speed(2), median(ratio[0]), median(ratio[1]));
}

template <int B, int I, int O> void product() {
  using K = backend::host::Kernel<op::Product<O>>;
  constexpr op::Local L{B, B, Shape(I), Shape(), Shape(O), Shape(I, O), Shape()};
  auto x = numbers(long{B} * I), w = numbers(long{I} * O), dy = numbers(long{B} * O), y = dy, dx = x, dw = w;
  op::Operands<float> t;
  t.x = x.data(), t.w0 = w.data(), t.dy = dy.data(), t.y = y.data(), t.dx = dx.data(), t.dw0 = dw.data();
  backend::host::Context const c{workspace};
  line("NN", false, false, B, O, I, t.x, t.w0, [&] { K::template forward<L, false, void>(c, t); });
  line("NT", false, true, B, I, O, t.dy, t.w0, [&] { K::template backward_input<L>(c, t); });
  line("TN", true, false, I, O, B, t.x, t.dy, [&] { K::template backward_weight<L>(c, t); });
}

template <class Op, int B, int C, int H> void convolution() {
  using K = backend::host::Kernel<Op>;
  constexpr Shape xs(C, H, H), ys = Op::output(xs), ws = Op::weight(0, xs).shape;
  constexpr op::Local L{B, B, xs, Shape(), ys, ws, Shape()};
  auto x = numbers(B * xs.size()), w = numbers(ws.size()), dy = numbers(B * ys.size()), y = dy, dx = x, dw = w;
  op::Operands<float> t;
  t.x = x.data(), t.w0 = w.data(), t.dy = dy.data(), t.y = y.data(), t.dx = dx.data(), t.dw0 = dw.data();
  backend::host::Context const c{workspace};
  double const flops = 2.0 * B * static_cast<double>(ys.size()) * static_cast<double>(ws.size() / ws[0]);
  auto const time = [&](auto f) {
    std::vector<double> s;
    for (int round = 0; round < 21; ++round) s.push_back(seconds(static_cast<long>(5e7 / flops) + 1, f));
    return median(s);
  };
  double const s[] = {time([&] { K::template forward<L, false, void>(c, t); }),
                      time([&] { K::template backward_input<L>(c, t); }),
                      time([&] { K::template backward_weight<L>(c, t); })};
  std::printf("%2d x %3d -> %3d  %dx%d  %2dx%2d ", B, C, ys[0], Op::kernel, Op::kernel, H, H);
  for (double v : s) std::printf("  %7.3f ms %6.1f GF/s", v * 1e3, flops * 1e-9 / v);
  std::printf("\n");
}

}  // namespace

int main() {
  product<1, 64, 64>();
  product<1, 784, 128>();
  product<32, 784, 128>();
  product<128, 784, 128>();
  product<512, 784, 128>();
  product<16, 784, 512>();
  product<256, 1024, 1024>();
  product<512, 1024, 1024>();
  std::printf("convolutions: forward, backward_input, backward_weight\n");
  convolution<op::Convolve<64, 5, 1, 2>, 16, 3, 32>();
  convolution<op::Convolve<64, 5, 1, 2>, 16, 64, 16>();
  convolution<op::Convolve<32, 5>, 16, 1, 28>();
  convolution<op::Convolve<64, 3, 1, 1>, 16, 32, 28>();
  convolution<op::Convolve<64, 3, 1, 1>, 16, 64, 8>();
  convolution<op::Convolve<16, 5>, 16, 6, 14>();
}
