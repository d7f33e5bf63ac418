// benchmarks/gpu_libraries.cu - rows beside our own kernels': the same nets by cuBLASLt and cuDNN. A program of its
// own, since it does not start where they are missing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cublasLt.h>

#include "gpu_nets.hpp"

namespace bench {

template <int B, class T>
struct Libraries : Of<CifarNet, B, T, MicroBatches<1>, Momentum, Fastest, Workspace<512_MiB>> {};

/// What tensor cores give: the product of smoke.product, by cuBLASLt as it likes best.
void product(Rows const& rows) {
  rows.row("smoke.product", "cublaslt", [&] {
    constexpr long n = 8192, room = 64L << 20;
    Bench b;
    auto *const x = b.tensor<bf16>(n * n), *const w = b.tensor<bf16>(n * n, 0.05f), *const y = b.tensor<bf16>(n * n);
    void* const workspace = b.machine.allocate(room);
    auto const sure = [](cublasStatus_t s) {
      if (s != CUBLAS_STATUS_SUCCESS) throw Error(std::string("cuBLASLt: ") + cublasLtGetStatusString(s));
    };
    cublasLtHandle_t library = nullptr;
    cublasLtMatmulDesc_t how = nullptr;
    cublasLtMatrixLayout_t square = nullptr;
    sure(cublasLtCreate(&library));
    sure(cublasLtMatmulDescCreate(&how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    sure(cublasLtMatrixLayoutCreate(&square, CUDA_R_16BF, n, n, n));
    float const one = 1, none = 0;
    auto const f = rows.timed(b.q.stream, [&] {
      sure(cublasLtMatmul(library, how, &one, x, square, w, square, &none, y, square, y, square, nullptr, workspace,
                          room, b.q.stream));
    });
    rows.tell("smoke.product", "cublaslt", f, Rows::field("tflops", 2.0 * n * n * n / f.ms * 1e-9));
    cublasLtMatrixLayoutDestroy(square);
    cublasLtMatmulDescDestroy(how);
    cublasLtDestroy(library);
  });
}

}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  return measure("gpu_libraries", argc, argv, [](Rows const& rows) {
    product(rows);
    step<Libraries<1024, bf16>, Cuda::Machine>(rows, "cifar.1024.bf16", "cleave libraries");
    step<Libraries<1024, tf32>, Cuda::Machine>(rows, "cifar.1024.f32", "cleave libraries tf32");
    step<Libraries<1024, f32>, Cuda::Machine>(rows, "cifar.1024.f32", "cleave libraries");
  });
}
