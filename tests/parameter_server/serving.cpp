// parameter_server/serving.hpp - how weights and batch are dealt out, and that plans of the same formats share their code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/parameter_server/serving.hpp"

#include <doctest/doctest.h>

#include "cleave.hpp"
#include "cleave/parameter_server/client.hpp"
#include "cleave/parameter_server/parameter_server.hpp"
#include "cleave/parameter_server/simulated.hpp"

using namespace cleave;
using namespace cleave::session;

namespace {

struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2>, CrossEntropy> {};
template <class... Os> struct On : Plan<Net, Os...> {};
using Free = On<Batch<24>, MicroBatches<6>, DataParallel<Async>, Shards<3>, Momentum>;
using Waiting = On<Batch<24>, MicroBatches<6>, DataParallel<Sync, Spares<1>>>;
using Cut = On<Batch<24>, MicroBatches<6>, DataParallel<Sync>, Shards<2>, ModelParallel<SplitColsRows>>;
using InOne = On<Batch<24>, MicroBatches<6>, DataParallel<Sync>, Shards<1>, ModelParallel<SplitColsRows>>;
using Fixed = On<Batch<24>, MicroBatches<6>, DataParallel<Async>, Mesh<Data<2>, Model<1>>>;
using Narrow = On<Batch<24>, Precision<bf16>, DataParallel<Async>>;
using Averaged = On<Batch<24>, Precision<bf16>, DataParallel<LocalSGD<2>>>;

}  // namespace

TEST_CASE("trainers, clients and servers of two plans are one class if their formats are the same") {
  static_assert(std::is_same_v<formats_of<Free>, formats_of<Waiting>>);
  static_assert(std::is_same_v<Served<Free>::Common, Served<Waiting>::Common>);
  static_assert(std::is_same_v<Simulated<Free>::Common, Simulated<Waiting>::Common>);
  static_assert(std::is_same_v<Client<Free>::Common, Client<Waiting>::Common>);
  static_assert(std::is_base_of_v<ParameterServerOf<formats_of<Free>>, ParameterServer<Waiting>>);
  static_assert(!std::is_same_v<formats_of<Narrow>, formats_of<Averaged>>);
  static_assert(std::is_same_v<formats_of<Narrow>::Sent, bf16> && std::is_same_v<formats_of<Averaged>::Sent, float>);
  CHECK(!service<Free>.decode);
  CHECK(service<Free>.rules.moments == 1);
}
TEST_CASE("weights are cut into shards; one shard of replicas that wait has those of all ways") {
  Serving const& free = serving<Free>;
  long const n = Free::schedule.weight_elements;
  CHECK(free.shards() == 3);
  CHECK(free.begin(0) == 0);
  for (int s = 0; s + 1 < 3; ++s) CHECK(free.end(s) == free.begin(s + 1));
  CHECK(free.end(2) == n);
  long seen = 0;
  free.each_piece(0, 5, n - 5, [&](int s, long there, long here, long count) {
    CHECK(free.begin(s) + there == 5 + here);
    seen += count;
  });
  CHECK(seen == n - 5);
  CHECK(serving<Waiting>.shards() == 1);
  CHECK(serving<Waiting>.count(0) == n);
  CHECK((serving<InOne>.shards() == 1 && serving<InOne>.count(0) == 2 * InOne::schedule.weight_elements));
}
TEST_CASE("shards of replicas that wait are in step: a push comes to the first one last, whose version counts") {
  Serving const& cut = serving<Cut>;
  CHECK(cut.shards() == 4);
  CHECK((cut.way(1) == 0 && cut.way(2) == 1 && cut.begin(3) == cut.end(2)));
  for (int s = 0; s < 4; ++s) {
    CHECK(cut.decided_by(s) == 0);
    CHECK(cut.pushed_at(s) == (s + 1) % 4);
    CHECK(serving<Free>.decided_by(s) == s);
    CHECK(serving<Free>.pushed_at(s) == s);
  }
  CHECK((cut.in_step() && !serving<Waiting>.in_step() && !serving<Free>.in_step() && !serving<InOne>.in_step()));
}
TEST_CASE("a batch is dealt out among the replicas of an update, and each gets all of it if none waits") {
  CHECK(serving<Waiting>.parts(4) == 3);
  CHECK(serving<Waiting>.part(1, 4).begin == 2);
  CHECK(serving<Waiting>.part(1, 4).end == 4);
  CHECK(serving<Free>.part(1, 4).begin == 0);
  CHECK(serving<Free>.part(1, 4).end == 6);
  CHECK_THROWS_WITH_AS(serving<Waiting>.parts(1), doctest::Contains("leave none to wait for"), Error);
  CHECK_THROWS_WITH_AS(serving<Waiting>.parts(6), doctest::Contains("do not divide among the 5"), Error);
  CHECK_THROWS_WITH_AS(serving<Free>.parts(1025), doctest::Contains("keeps 1 to 1024"), Error);
  CHECK(serving<Fixed>.parts(2) == 1);
  CHECK_THROWS_WITH_AS(serving<Fixed>.parts(3), "this plan runs on exactly 2 replicas, got 3", Error);
}
TEST_CASE("the number that processes compare is of plan, agreement and replicas") {
  CHECK(serving<Free>.fingerprint(2) == fingerprint<Free>(2));
  CHECK(fingerprint<Free>(2) != fingerprint<Free>(3));
  CHECK(fingerprint<Free>(2) != fingerprint<Waiting>(2));
}
