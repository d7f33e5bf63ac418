// backend/cuda/cublas.cu - cuBLASLt itself: its descriptors anywhere; where there is a GPU, its products beside our own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>

#include <cleave.hpp>

#include "../gpu/compare.hpp"

using namespace cleave;
namespace cublas = backend::cublas;
namespace gpu = backend::gpu;
using cublas::Api;
using Helped = Cuda::Machine;

struct Net : Sequential<Vector<64>, Linear<128>, Relu, Linear<64>, Tanh, Linear<8>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<64>, DataParallel<Sync>, Momentum, Fastest, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

namespace {

int wrong = 0;
void check(bool right, std::string const& what) {
  if (right) return;
  std::printf("wrong: %s\n", what.c_str());
  ++wrong;
}

/// Every format and end is one that can be described, and is described as it was meant.
void described() {
  using gpu::Number;
  using enum gpu::End;
  for (Number of : {Number::F32, Number::Tf32, Number::Bf16}) {
    for (gpu::End end : {None, Bias, Relu, BiasRelu}) {
      gpu::Product const p{32, 16, 64, true, false, false, end, of, of};
      cublas::Call const c = cublas::call_for(p, {nullptr, nullptr, nullptr, nullptr});
      Api::Described m;
      int const e = Api::describe(c, &m);
      check(e == 0, "describe " + cublas::text(p) + ": " + Api::text(e));
      auto const has = [&](cublasLtMatmulDescAttributes_t what, auto wanted) {
        decltype(wanted) is{};
        std::size_t bytes = 0;
        return cublasLtMatmulDescGetAttribute(m.of, what, &is, sizeof is, &bytes) == 0 && bytes == sizeof is &&
               is == wanted;
      };
      check(has(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) && has(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T), "turned");
      check(has(CUBLASLT_MATMUL_DESC_EPILOGUE, end == None   ? CUBLASLT_EPILOGUE_DEFAULT
                                               : end == Bias ? CUBLASLT_EPILOGUE_BIAS
                                               : end == Relu ? CUBLASLT_EPILOGUE_RELU
                                                             : CUBLASLT_EPILOGUE_RELU_BIAS),
            "end");
      check(has(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, of == Number::Tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
            "compute type");
      auto const lies = [&](cublasLtMatrixLayout_t l, std::uint64_t rows, std::uint64_t columns, std::int64_t apart) {
        std::uint64_t is[2] = {};
        std::int64_t far = 0;
        std::size_t n = 0;
        return cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ROWS, &is[0], sizeof is[0], &n) == 0 &&
               cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_COLS, &is[1], sizeof is[1], &n) == 0 &&
               cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_LD, &far, sizeof far, &n) == 0 &&
               is[0] == rows && is[1] == columns && far == apart;
      };
      // A, row-major (64, 32), is column-major (32, 64) and stands second; B, (64, 16), stands first.
      check(lies(m.a, 16, 64, 16) && lies(m.b, 32, 64, 32) && lies(m.d, 16, 32, 16), "layouts");
      Api::forget(m);
    }
  }
}

/// The largest difference between our own kernel and every algorithm of the library, of the largest element.
template <class T, bool WithBias, class Map>
void as_own(double tolerance, cublas::Pin pin = cublas::Pin::Library) {
  using namespace testing;
  using Op = op::Product<136>;
  constexpr op::Local all = local<Op>(96, Shape(264)), slice{48, 96, all.x, {}, all.y, all.w0, {}};
  cublas::Choices choices("");
  Helped machine(Api{}, choices, pin);
  Tensors<Op, all, T> tried, own, library;
  auto const put = [&](auto& tensors, gpu::Library how) {
    gpu::Queue<Helped> const q{&machine, machine.stream(), machine.allocate(schedule::workspace_bytes), how};
    auto t = tensors.operands();
    t.slices = 2;
    using K = gpu::Kernel<Op>;
    K::template forward<slice, WithBias, Map, T>(q, t);
    K::template backward_input<slice, T>(q, t);
    K::template sum<slice, T>(q, {t, {{t.dw0}, {}, {}, 0, false, 3, 0b010}});
    machine.finish();
  };
  put(tried, gpu::Library::Learning);
  put(own, gpu::Library::Never);
  long const launched = machine.launches();
  put(library, gpu::Library::Asked);
  std::printf("%s%ld of 3 products by our own kernels\n", machine.products().listing().c_str(),
              machine.launches() - launched);
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

/// Our own keeps a NaN through a relu; what the library does with one is told, not asked for.
void tell_of_nan() {
  using namespace testing;
  using Op = op::Product<16>;
  constexpr op::Local l = local<Op>(16, Shape(16));
  cublas::Choices choices("");
  Helped machine(Api{}, choices, cublas::Pin::Library);
  gpu::Queue<Helped> q{&machine, machine.stream(), machine.allocate(schedule::workspace_bytes), gpu::Library::Learning};
  Tensors<Op, l, float> t;
  auto const put = [&] {
    gpu::Kernel<Op>::forward<l, true, layer::ReluFunction, float>(q, t.operands());
    machine.finish();
  };
  put();
  q.library = gpu::Library::Asked;
  t.x[0] = std::numeric_limits<float>::quiet_NaN();
  put();
  std::printf("relu of a NaN by the library: %g\n", static_cast<double>(t.y[0]));
}

template <class P> void trains(double tolerance) {
  auto const feed = backend::host::Feed{nullptr,
                                        [](void const*, long step, long first, int count, float* out) {
                                          for (long i = first * 64; i < (first + count) * 64; ++i)
                                            *out++ = static_cast<float>((i * 7 + step) % 11) / 11 - 0.5f;
                                        },
                                        [](void const*, long, long first, int count, int* out) {
                                          for (long i = first; i < first + count; ++i) *out++ = static_cast<int>(i % 8);
                                        }};
  cublas::Choices choices("");
  DeviceTrainer<P, Helped> by(2, 7, std::make_unique<Helped>(Api{}, choices, cublas::Pin::Library));
  DeviceTrainer<P, backend::cuda::Machine> own(2, 7);
  std::printf("%s", by.machine().products().listing().c_str());
  auto const a = by.train(0, 20, feed), b = own.train(0, 20, feed);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::fabs(a[i] - b[i]) > tolerance) return check(false, "losses of a plan: " + std::to_string(a[i] - b[i]));
  }
  std::printf("losses of a plan: %g and %g\n", a.back(), b.back());
}

}  // namespace

int main() {
  described();
  if (backend::cuda::devices() == 0) {
    Api::Handle handle{};
    int const e = Api::create(&handle);
    if (e == 0) Api::destroy(handle);
    std::printf("cuBLASLt %s without a GPU: begin: %s\n", Api::version().c_str(), Api::text(e).c_str());
    std::printf("%s\n", wrong ? "wrong" : "skipped: there is no GPU; what is asked of the library can be described");
    return wrong ? 1 : 77;
  }
  try {
    as_own<float, true, layer::ReluFunction>(1e-5);
    as_own<float, false, void>(1e-5);
    as_own<tf32, true, void>(1e-2);
    as_own<bf16, true, layer::ReluFunction>(1e-2);
    as_own<bf16, false, layer::ReluFunction>(1e-2, cublas::Pin::Measured);
    tell_of_nan();
    trains<Of<>>(1e-3);
    trains<Of<Precision<bf16>>>(5e-2);
  } catch (Error const& e) {
    check(false, e.what());
  }
  std::printf("%s\n", wrong ? "wrong" : "cuBLASLt's products are those of our own kernels");
  return wrong ? 1 : 0;
}
