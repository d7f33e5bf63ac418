// tests/backend/host/kernels/factor.cpp - a tensor's largest magnitude by vectors, wherever it begins and ends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/host/kernels/factor.hpp>

#include "../compare.hpp"

using namespace test;
using tensor::Role;

TEST_CASE("host factor: the scale of the definition, whatever the length, the beginning and the place of the largest") {
  auto const v = numbers<fp8>(200, 5);
  on_every_isa([&] {
    for (long begin : {0, 1, 3, 8}) {
      for (long n : {0, 1, 7, 8, 15, 31, 32, 33, 64, 131}) {
        for (long at = 0; at < n; at += 5) {
          auto x = v;
          x[static_cast<std::size_t>(begin + at)] = fp8(at % 2 ? 7e5f : -3e-9f);
          fp8 const* const p = x.data() + begin;
          CHECK(host::factor<Role::Value>(p, n).scale == tensor::Factor<fp8>::of(p, n).scale);
          CHECK(host::factor<Role::Gradient>(p, n).scale == tensor::Factor<fp8, Role::Gradient>::of(p, n).scale);
        }
      }
    }
  });
}
TEST_CASE("host factor: what is not finite is passed over") {
  std::vector<fp8> x(70, fp8(0.5f));
  x[3] = x[66] = fp8(std::numeric_limits<float>::infinity());
  x[40] = fp8(-std::numeric_limits<float>::quiet_NaN());
  x[69] = fp8(-1.75f);
  on_every_isa([&] { CHECK(host::factor<Role::Value>(x.data(), 70).scale == 256); });
}
TEST_CASE("host factor: of an operation's slice") {
  constexpr op::Local L{2, 2, Shape(3), Shape(), Shape(2), Shape(3, 2), Shape()};
  std::vector<fp8> x(7, fp8(1)), w(7, fp8(2)), dy(5, fp8(4));
  x[6] = w[6] = dy[4] = fp8(1e6f);  // behind its end
  op::Operands<fp8> t;
  t.x = x.data(), t.w0 = w.data(), t.dy = dy.data();
  CHECK(host::factor_x<L>(t).scale == 256);
  CHECK(host::factor_w<L>(t).scale == 128);
  CHECK(host::factor_dy<L>(t).scale == 8192);
}
