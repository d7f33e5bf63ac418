// backend/cuda/main.cu - tests that need a device say so where there is none, and count as skipped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cleave/backend/cuda/machine.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  std::string why;
  if (cleave::backend::cuda::devices(&why) == 0) {
    try {
      cleave::backend::cuda::Machine machine;
      return 1;  // it must not come to be
    } catch (cleave::Error const& e) {
      std::printf("skipped: %s\n", e.what());
      return 77;
    }
  }
  return doctest::Context(argc, argv).run();
}
