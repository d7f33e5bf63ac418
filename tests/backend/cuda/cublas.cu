// backend/cuda/cublas.cu - cuBLASLt itself: its descriptors anywhere; where there is a GPU, its products beside our
// own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define DOCTEST_CONFIG_IMPLEMENT
#include "library.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace cublas = backend::cublas;
namespace gpu = backend::gpu;
using cublas::Api;
using Helped = Cuda::Machine;

struct Net : Sequential<Vector<64>, Linear<128>, Relu, Linear<64>, Tanh, Linear<8>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<64>, DataParallel<Sync>, Momentum, Fastest, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

namespace {

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
      check(has(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE,
                of == Number::Tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
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

template <class T, bool WithBias, class Map> void multiplies(double tolerance, cublas::KernelSource source = cublas::KernelSource::Library) {
  using Op = op::Product<136>;
  constexpr op::Local all = local<Op>(96, Shape(264)), slice{48, 96, all.x, {}, all.y, all.w0, {}};
  cublas::Choices choices("");
  Helped machine(Api{}, choices, source);
  as_own<Op, all, slice, T, WithBias, Map>(machine, backend::gpu::workspace_bytes, tolerance);
}

/// Our own keeps a NaN through a relu; what the library does with one is told, not asked for.
void tell_of_nan() {
  using Op = op::Product<16>;
  constexpr op::Local l = local<Op>(16, Shape(16));
  cublas::Choices choices("");
  Helped machine(Api{}, choices, cublas::KernelSource::Library);
  gpu::Queue<Helped> q{&machine, machine.stream(), machine.allocate(backend::gpu::workspace_bytes),
                       gpu::Library::Learning};
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
  cublas::Choices choices("");
  testing::trains<P>(std::make_unique<Helped>(Api{}, choices, cublas::KernelSource::Library), tolerance);
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
    multiplies<float, true, layer::ReluFunction>(1e-5);
    multiplies<float, false, void>(1e-5);
    multiplies<tf32, true, void>(1e-2);
    multiplies<bf16, true, layer::ReluFunction>(1e-2);
    multiplies<bf16, false, layer::ReluFunction>(1e-2, cublas::KernelSource::Measured);
    tell_of_nan();
    trains<Of<>>(1e-3);
    trains<Of<Precision<bf16>>>(5e-2);
  } catch (Error const& e) {
    check(false, e.what());
  }
  std::printf("%s\n", wrong ? "wrong" : "cuBLASLt's products are those of our own kernels");
  return wrong ? 1 : 0;
}
