// agree/agreement.cpp - what each agreement comes to with its options.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/agree/agreement.hpp"

#include <doctest/doctest.h>

#include "cleave/agree/async.hpp"
#include "cleave/agree/averaging.hpp"
#include "cleave/agree/laws.hpp"
#include "cleave/agree/sync.hpp"

using namespace cleave;
using namespace cleave::agree;

TEST_CASE("options in any order; an update of 20 replicas with two spares averages 18 parts of the batch") {
  using A = Agreed<Async, Stale<Drop<8>, Damp>, WarmUp<100>>;
  using B = Agreed<Async, WarmUp<100>, Stale<Drop<8>, Damp>>;
  static_assert(A::warm_up == 100 && B::warm_up == 100 && A::stale::drops(9) && !B::stale::drops(8));
  static_assert(A::parts(20) == 1 && A::served && !Agreed<Sync>::served);
  static_assert(Agreed<Sync, Spares<2>>::parts(20) == 18 && Agreed<Sync, Spares<2>>::served);
  static_assert(Agreed<LocalSGD<4>>::parts(3) == 3 && Agreed<Downpour<2, 5>>::pace.push == 5);
  CHECK(judged<Sync, Spares<2>>::law::holds);
  CHECK(!judged<Async, Spares<2>>::law::holds);
  CHECK(!judged<Downpour<0, 1>>::law::holds);
}
TEST_CASE("stale gradients are scaled or dropped by their age") {
  CHECK(Stale<Damp>::share(0) == 1.0f);
  CHECK(Stale<Damp>::share(3) == 0.25f);
  CHECK(Stale<ScaleRate<25>>::share(7) == 0.25f);
  CHECK(Stale<ScaleRate<50>, Damp>::share(1) == 0.25f);
  CHECK(!Stale<Damp>::drops(1000));
  CHECK(Stale<>::share(9) == 1.0f);
}
