// train/losses.cpp - where replicas are too many, the numbers that are advised work.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/layer/conv.hpp>
#include <cleave/layer/input.hpp>
#include <cleave/layer/loss.hpp>
#include <cleave/layer/sequential.hpp>
#include <cleave/plan/plan.hpp>
#include <cleave/train/losses.hpp>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<6>, Linear<4>, CrossEntropy> {};
struct Image5 : Sequential<Image<1, 5, 5>, Conv<2, 3>, Linear<6>, CrossEntropy> {};
template <int B, class... Ps> using By = Plan<Net, Batch<B>, DataParallel<Sync>, Ps...>;

template <class P> std::string advice(int replicas) {
  try {
    session::checked_replicas<P>(replicas);
  } catch (Error const& e) {
    std::string const said = e.what();
    return said.substr(said.find("; ") + 2);
  }
  return "";
}

}  // namespace

TEST_CASE("a number of micro-batches is advised that divides the batch and is enough") {
  CHECK(advice<By<30>>(3) == "run at most 2 ranks, or say MicroBatches<3> in the plan");
  CHECK(advice<By<30>>(7) == "run at most 2 ranks, or say MicroBatches<10> in the plan");
  CHECK(advice<By<29>>(3) == "run at most 1 ranks, or say MicroBatches<29> in the plan");
  CHECK(advice<By<24, Accumulate<2>>>(5) == "run at most 4 ranks, or say MicroBatches<12> in the plan");
  CHECK(session::checked_replicas<By<30, MicroBatches<3>>>(3) == 3);
  CHECK(session::checked_replicas<By<30, MicroBatches<10>>>(7) == 7);
  CHECK(session::checked_replicas<By<29, MicroBatches<29>>>(3) == 3);
  CHECK(session::checked_replicas<By<24, MicroBatches<12>, Accumulate<2>>>(5) == 5);
}
TEST_CASE("where layers cut the samples too, it is a multiple of the ways") {
  using P = Plan<Image5, Batch<36>, DataParallel<Sync>, OneWeirdTrick<3>>;
  CHECK(P::micro_batches == 6);
  CHECK(advice<P>(3) == "run at most 6 ranks, or say MicroBatches<9> in the plan");
  CHECK(session::checked_replicas<Plan<Image5, Batch<36>, DataParallel<Sync>, OneWeirdTrick<3>, MicroBatches<9>>>(3) ==
        3);
}
TEST_CASE("no number of micro-batches below one, nor more than samples, is advised") {
  CHECK_THROWS_WITH_AS(session::checked_replicas<By<30>>(0), "a plan runs on replicas from 1 on, got 0", Error);
  CHECK_THROWS_WITH_AS(session::checked_replicas<By<30>>(-1), "a plan runs on replicas from 1 on, got -1", Error);
  CHECK(advice<By<8>>(9) ==
        "run at most 8 ranks, or say a Batch that is a multiple of 9, with MicroBatches<9>, in the plan, not Batch<8>");
  CHECK(session::checked_replicas<By<18, MicroBatches<9>>>(9) == 9);
}
TEST_CASE("a plan that fixes its replicas has micro-batches for them; without, the default stays") {
  CHECK(Plan<Net, Batch<30>, Mesh<Data<3>>>::micro_batches == 3);
  CHECK(Plan<Net, Batch<30>, Mesh<Data<2>>>::micro_batches == 2);
  CHECK(By<30>::micro_batches == 2);
  CHECK(By<29>::micro_batches == 1);
  CHECK(By<64>::micro_batches == 8);
}
