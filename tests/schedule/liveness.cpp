// schedule/liveness.cpp - tensors live as when the builder noted it while it went; what is read has been written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "../golden/plans.hpp"
#include "one_walk.hpp"

using namespace cleave;

namespace {

template <int N> void compare(schedule::Schedule<N> const& s, schedule::Schedule<N> const& oracle) {
  REQUIRE(s.steps == oracle.steps);
  REQUIRE(s.buffers == oracle.buffers);
  for (int k = 0; k < s.steps; ++k) CHECK(s.step[k] == oracle.step[k]);
  for (int i = 0; i < s.buffers; ++i) {
    CAPTURE(i);
    schedule::Buffer const &a = s.buffer[i], &b = oracle.buffer[i];
    CHECK(a.elements == b.elements);
    CHECK(a.per_slice == b.per_slice);
    CHECK(a.rows_cut == b.rows_cut);
    CHECK(a.wide == b.wide);
    CHECK(a.category == b.category);
    CHECK(a.birth == b.birth);
    CHECK(a.death == b.death);
    CHECK(a.takes_over == b.takes_over);
    CHECK(a.written == b.written);
  }
}

/// Every tensor is written before it is read, and each is read or written.
template <int N>
void check_order(place::Signatures<N> const& model, place::Placed<N> const& placed, schedule::Schedule<N> const& s) {
  schedule::Accesses<N> const accesses{model, placed, s};
  bool written[schedule::Schedule<N>::most_buffers]{};
  written[s.input_value] = true;
  for (int k = 0; k < s.steps; ++k) {
    accesses.each(k, [&](int b, schedule::Access access) {
      if (b < 0) return;
      CHECK(s.buffer[b].birth <= k);
      CHECK(s.buffer[b].death >= k);
      if (access == schedule::Access::Read) CHECK(written[b]);
      written[b] = true;
    });
  }
  for (int b = 0; b < s.buffers; ++b) CHECK(written[b]);
}

template <class Net> int each_request() {
  using ops = layer::ops_of<Net>;
  static constexpr auto model = place::signatures<Net>(ops{});
  constexpr int n = static_cast<int>(std::size(model.op));
  int built = 0;
  std::uint32_t random = 1;
  for (int trial = 0; trial < 200; ++trial) {
    auto const draw = [&](std::uint32_t of) { return (random = random * 1664525 + 1013904223) / 65536 % of; };
    char letters[n];
    for (char& letter : letters) letter = "obic~W\0"[draw(7)];
    place::Request request{static_cast<int>(1 + draw(2)), 2, 12};
    request.input_gradient = draw(3) == 0;
    request.bucket = draw(2) == 0 ? 500 : 0;
    request.clips = draw(4) == 0;
    place::DeviceMesh const mesh = place::mesh_of(request);
    auto const shardings = place::propagate_shardings(model, mesh, place::wishes(model, letters, request), request);
    auto const placed = std::make_unique<place::Placed<n>>(place::place(model, shardings, mesh, request));
    if (placed->verdict.law != place::Law::None) continue;
    CAPTURE(trial);
    auto const s = std::make_unique<schedule::Schedule<n>>(schedule::build(model, *placed, request));
    compare(*s, *std::make_unique<schedule::Schedule<n>>(one_walk::build(model, *placed, request)));
    check_order(model, *placed, *s);
    ++built;
  }
  return built;
}

}  // namespace

TEST_CASE("of each plan the tensors live as before") {
  int plans = 0;
  auto const each = [&]<class P>(char const* name, meta::type<P>) {
    CAPTURE(std::string(name));
    compare(P::schedule, one_walk::build(P::signatures, P::placed, P::request));
    check_order(P::signatures, P::placed, P::schedule);
    ++plans;
  };
  golden::each_split(each);
  golden::each_sum(each);
  golden::each_agreement(each);
  CHECK(plans >= 60);
}

TEST_CASE("whatever is split, tensors live as before") {
  int const built = each_request<golden::Mlp>() + each_request<golden::Narrow>() + each_request<golden::Lenet>() +
                    each_request<golden::Norms>() + each_request<golden::Layers>() + each_request<golden::Paths>() +
                    each_request<golden::Deep>() + each_request<golden::Words>();
  CHECK(built > 300);
  MESSAGE(built, " schedules");
}
