// backend/host/kernels/blas.hpp - matrix products by the BLAS that the program is linked with; opt in with target cleave::blas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

extern "C" {
void sgemm_(char const*, char const*, int const*, int const*, int const*, float const*, float const*, int const*,
            float const*, int const*, float const*, float*, int const*);
void dgemm_(char const*, char const*, int const*, int const*, int const*, double const*, double const*, int const*,
            double const*, int const*, double const*, double*, int const*);
}

namespace cleave::backend::host {

/// c (m, n) = op(a) op(b), all row-major; ta and tb say whether a and b are read transposed, lda and ldb are their row
/// lengths. BLAS is column-major, so it is called for the transposed product.
inline void library_product(bool ta, bool tb, int m, int n, int k, float const* a, int lda, float const* b, int ldb,
                            float* c) {
  float const one = 1, zero = 0;
  sgemm_(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, &one, b, &ldb, a, &lda, &zero, c, &n);
}
inline void library_product(bool ta, bool tb, int m, int n, int k, double const* a, int lda, double const* b, int ldb,
                            double* c) {
  double const one = 1, zero = 0;
  dgemm_(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, &one, b, &ldb, a, &lda, &zero, c, &n);
}

}  // namespace cleave::backend::host
