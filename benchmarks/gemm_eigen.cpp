// benchmarks/gemm_eigen.cpp - Eigen's product, in a file of its own so that only it is built with -march=native.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Eigen/Core>

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using In = Eigen::Map<Matrix const>;

/// Row-major C (m, n) = A B; a transposed operand is stored transposed.
void eigen_gemm(bool ta, bool tb, int m, int n, int k, float const* a, float const* b, float* c) {
  Eigen::Map<Matrix> out(c, m, n);
  if (ta) {
    out.noalias() = In(a, k, m).transpose() * In(b, k, n);
  } else if (tb) {
    out.noalias() = In(a, m, k) * In(b, n, k).transpose();
  } else {
    out.noalias() = In(a, m, k) * In(b, k, n);
  }
}
