// backend/cublas/api.hpp - cuBLASLt's functions, for cublas/products.hpp. Needs cublasLt.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cublasLt.h>

#include <cstring>
#include <string>

#include "products.hpp"

namespace cleave::backend::cublas {

struct Api {
  using Handle = cublasLtHandle_t;
  struct Described {
    cublasLtMatmulDesc_t of = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  };
  static constexpr int not_supported = CUBLAS_STATUS_NOT_SUPPORTED;

  static int create(Handle* handle) { return cublasLtCreate(handle); }
  static void destroy(Handle handle) { cublasLtDestroy(handle); }

  static int describe(Call const& c, Described* m) {
    cublasComputeType_t const compute = c.of == gpu::Number::Tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasOperation_t const ta = c.a_turned ? CUBLAS_OP_T : CUBLAS_OP_N, tb = c.b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t const end = epilogue(c.end);
    int e = cublasLtMatmulDescCreate(&m->of, compute, CUDA_R_32F);
    if (e == 0) e = set(m->of, CUBLASLT_MATMUL_DESC_TRANSA, ta);
    if (e == 0) e = set(m->of, CUBLASLT_MATMUL_DESC_TRANSB, tb);
    if (e == 0) e = set(m->of, CUBLASLT_MATMUL_DESC_EPILOGUE, end);
    if (e == 0 && gpu::has_bias(c.end)) {  // the heuristics read a bias's alignment from its address
      e = set(m->of, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<void const*>(std::uintptr_t{most_aligned}));
    }
    if (e == 0) e = layout(&m->a, c.of, c.a_turned ? c.k : c.m, c.a_turned ? c.m : c.k, c.lda);
    if (e == 0) e = layout(&m->b, c.of, c.b_turned ? c.n : c.k, c.b_turned ? c.k : c.n, c.ldb);
    if (e == 0) e = layout(&m->d, c.to, c.m, c.n, c.ldd);
    return e;
  }
  static void forget(Described const& m) {
    for (cublasLtMatrixLayout_t l : {m.a, m.b, m.d}) {
      if (l) cublasLtMatrixLayoutDestroy(l);
    }
    if (m.of) cublasLtMatmulDescDestroy(m.of);
  }

  /// Up to most_algorithms, in the order of the library's heuristics.
  static int suggest(Handle handle, Described const& m, Call const& c, std::size_t workspace, gpu::Suggested* to) {
    cublasLtMatmulPreference_t wanted = nullptr;
    int e = cublasLtMatmulPreferenceCreate(&wanted);
    auto const prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
      if (e == 0) e = cublasLtMatmulPreferenceSetAttribute(wanted, what, &value, sizeof value);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(c.a_aligned));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(c.b_aligned));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(c.d_aligned));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(c.d_aligned));
    cublasLtMatmulHeuristicResult_t all[most_algorithms];
    int n = 0;
    if (e == 0) e = cublasLtMatmulAlgoGetHeuristic(handle, m.of, m.a, m.b, m.d, m.d, wanted, most_algorithms, all, &n);
    if (wanted) cublasLtMatmulPreferenceDestroy(wanted);
    for (int i = 0; e == 0 && i < n; ++i) {
      if (all[i].state != CUBLAS_STATUS_SUCCESS) continue;
      std::memcpy(to->algorithms.emplace_back(algorithm_words).data(), &all[i].algo, sizeof all[i].algo);
    }
    return e;
  }
  /// Whether it will run, and its workspace.
  static int check(Handle handle, Described const& m, Algorithm const& a, std::size_t* workspace) {
    if (a.size() != algorithm_words) return not_supported;
    cublasLtMatmulHeuristicResult_t result{};
    cublasLtMatmulAlgo_t const algorithm = of(a);
    int const e = cublasLtMatmulAlgoCheck(handle, m.of, m.a, m.b, m.d, m.d, &algorithm, &result);
    *workspace = result.workspaceSize;
    return e != 0 ? e : result.state;
  }
  static void keep(Described const&, Algorithm const&) {}
  static int run(Handle handle, Described const& m, Algorithm const& a, Operands const& o, void* workspace,
                 std::size_t bytes, cudaStream_t stream) {
    cublasLtMatmulAlgo_t const algorithm = of(a);
    float const one = 1;
    int e = o.bias ? set(m.of, CUBLASLT_MATMUL_DESC_BIAS_POINTER, o.bias) : 0;
    if (e == 0) {
      e = cublasLtMatmul(handle, m.of, &one, o.a, m.a, o.b, m.b, &o.beta, o.d, m.d, o.d, m.d, &algorithm, workspace,
                         bytes, stream);
    }
    return e;
  }

  static std::string version() {
    std::size_t const v = cublasLtGetVersion();
    return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
  }
  static std::string text(int status) {
    auto const s = static_cast<cublasStatus_t>(status);
    return std::string(cublasLtGetStatusString(s)) + " (" + cublasLtGetStatusName(s) + ")";
  }

 private:
  static_assert(algorithm_words * sizeof(std::uint64_t) == sizeof(cublasLtMatmulAlgo_t));
  static cublasLtMatmulAlgo_t of(Algorithm const& a) {
    cublasLtMatmulAlgo_t to;
    std::memcpy(&to, a.data(), sizeof to);
    return to;
  }
  template <class V> static int set(cublasLtMatmulDesc_t m, cublasLtMatmulDescAttributes_t what, V value) {
    return cublasLtMatmulDescSetAttribute(m, what, &value, sizeof value);
  }
  static int layout(cublasLtMatrixLayout_t* to, gpu::Number of, int rows, int columns, long apart) {
    cudaDataType_t const type = of == gpu::Number::Bf16  ? CUDA_R_16BF
                                : of == gpu::Number::F16 ? CUDA_R_16F
                                                         : CUDA_R_32F;
    return cublasLtMatrixLayoutCreate(to, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                                      apart);
  }
  static cublasLtEpilogue_t epilogue(gpu::End end) {
    using enum gpu::End;
    return end == Bias       ? CUBLASLT_EPILOGUE_BIAS
           : end == Relu     ? CUBLASLT_EPILOGUE_RELU
           : end == BiasRelu ? CUBLASLT_EPILOGUE_RELU_BIAS
                             : CUBLASLT_EPILOGUE_DEFAULT;
  }
};

}  // namespace cleave::backend::cublas
