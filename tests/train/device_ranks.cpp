// train/device_ranks.cpp - replicas around a server with their ranks on devices, held against threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/train/device_ranks.hpp>

#include <numeric>
#include <thread>

#include <cleave/parameter_server/client.hpp>
#include <cleave/parameter_server/parameter_server.hpp>

#include "on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

template <class P> using OnDevices = Served<P, session::DeviceRanks<P, OnDevice>>;

/// Plans whose updates come in one order only: waiting replicas, or one.
template <class P> void same(double tolerance, int replicas, int steps = 4) {
  INFO(replicas << " replicas x " << P::ways << " ways");
  OnDevices<P> device(replicas, 7);
  Served<P> threads(replicas, 7);
  auto const got = device.train(0, steps, feed<P>()), wanted = threads.train(0, steps, feed<P>());
  double far = 0;
  for (std::size_t i = 0; i < got.size(); ++i) far = std::max(far, std::fabs(got[i] - wanted[i]));
  for (session::Kept const& k : session::kept<P>()) {
    auto const a = session::whole(device, k), b = session::whole(threads, k);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) far = std::max(far, std::fabs(static_cast<double>(a[i] - b[i])));
  }
  CHECK(far <= tolerance);
  CHECK(device.accuracy(feed<P>(), 29) == doctest::Approx(threads.accuracy(feed<P>(), 29)).epsilon(0.05));
  for (int r = 0; r < replicas * P::ways; ++r) {
    CHECK(device.sent(r) == threads.sent(r));
    CHECK(device.sent_bytes(r) == threads.sent_bytes(r));
    CHECK(device.allocated(r) == threads.allocated(r));
  }
}
struct Short : Momentum {  // all steps are clipped
  static constexpr float clip_norm = 0.05f;
};
struct Halved : Sgd {
  static constexpr ParameterGroup group(Parameter p) { return {.rate = p.is_matrix() ? 0.25f : 1.0f}; }
};

}  // namespace

TEST_CASE("a synchronous server: gradients from devices, the optimizer at the server") {
  same<Of<Mlp, DataParallel<Sync>, Shards<1>, Momentum>>(1e-6, 3);
  same<Of<Other, DataParallel<Sync>, Shards<1>, Adam>>(1e-5, 2, 2);
}
TEST_CASE("a replica of several ways: columns, rows in bf16, the batch cut") {
  same<Of<Mlp, DataParallel<Sync>, Shards<1>, ModelParallel<SplitCols, Ways<2>>>>(1e-6, 2);
  same<Of<Mlp, DataParallel<Sync>, Shards<1>, ModelParallel<SplitRows, Ways<2>>, Precision<bf16>>>(2e-2, 2);
  same<Of<Mlp, DataParallel<Sync>, Shards<1>, ModelParallel<SplitBatch, Ways<2>>, Accumulate<2>>>(1e-6, 2);
}
TEST_CASE("one asynchronous replica, its shards, and gradients of other samples each time") {
  same<Of<Mlp, DataParallel<Async>, Shards<3>>>(1e-6, 1, 6);
  same<Of<Mlp, DataParallel<Async, PerReplica<24>>, Shards<2>>>(1e-6, 1, 6);
}
TEST_CASE("replicas that step weights of their own: Downpour, averaging, elastic averaging") {
  same<Of<Mlp, DataParallel<Downpour<3, 2>>, Adagrad>>(1e-5, 1, 7);
  same<Of<Mlp, DataParallel<LocalSGD<2>>, Momentum>>(1e-6, 3, 5);  // the last round is of one step
  same<Of<Mlp, DataParallel<ElasticAveraging<2, 40>>>>(1e-6, 1, 7);
  same<Of<Mlp, DataParallel<Downpour<3, 2>>, Precision<bf16>>>(3e-2, 1, 7);
  same<Of<Mlp, DataParallel<Downpour<3, 2>>, Halved>>(1e-5, 1, 7);  // local steps have the rates of the groups, too
}
TEST_CASE("gradients are clipped: by a server that is waited for, else by replicas that step weights of their own") {
  same<Of<Mlp, DataParallel<Sync>, Shards<1>, Short>>(1e-6, 3);
  same<Of<Mlp, DataParallel<Sync>, Shards<1>, Short, ModelParallel<SplitCols, Ways<2>>>>(1e-6, 2);
  same<Of<Mlp, DataParallel<LocalSGD<2>>, Short>>(1e-6, 3, 5);
  same<Of<Mlp, DataParallel<ElasticAveraging<2, 40>>, Short, ModelParallel<SplitRows, Ways<2>>>>(1e-6, 1, 7);
}
TEST_CASE("what is pushed is encoded, with what was lacking before") {
  same<Of<Mlp, DataParallel<Sync>, Shards<1>, Fastest, Compress<Int8>>>(1e-4, 2);
}
TEST_CASE(
    "spares on devices: each gradient pushed is taken or dropped, a killed replica comes back; asynchronous ones "
    "learn") {
  using P = Of<Mlp, DataParallel<Sync, Spares<1>>, Shards<1>>;
  OnDevices<P> spare(4, 7);
  spare.before_push = [](int r, long, int) {
    if (r == 3) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  spare.train(0, 6, feed<P>());
  long pushed = 0, used = 0;
  for (std::size_t r = 0; r < 4; ++r) {
    pushed += spare.ledger().pushed[r];
    used += spare.ledger().taken[r] + spare.ledger().dropped[r];
  }
  CHECK(pushed == used);
  CHECK(pushed >= 6 * 3);
  spare.kill(2);
  spare.train(6, 3, feed<P>());
  long const before = spare.ledger().pushed[2];
  spare.restart(2);
  spare.train(9, 3, feed<P>());
  CHECK(spare.ledger().pushed[2] > before);

  using Free = Of<Mlp, DataParallel<Async>>;
  OnDevices<Free> free(3, 7);
  auto const first = free.train(0, 10, feed<Free>());
  auto const later = free.train(10, 30, feed<Free>());
  CHECK(std::accumulate(later.end() - 10, later.end(), 0.0) < std::accumulate(first.begin(), first.end(), 0.0));
}
TEST_CASE("a client over TCP whose replica is on a device leaves the weights of one on threads") {
  using P = Of<Mlp, DataParallel<Async>, Shards<2>, Precision<bf16>, Momentum>;
  auto const left = [&]<class Ranks>(Ranks*) {
    session::ParameterServer<P> server(0, 1, 7);
    std::thread serving([&] { server.serve(std::chrono::milliseconds(200)); });
    std::vector<float> w(static_cast<std::size_t>(P::schedule.weight_elements));
    {
      std::vector<backend::tcp::Address> const at{{"127.0.0.1", server.port()}};
      session::Client<P, Ranks> client(at, "net", 0, 1, 7);
      client.train(
          0, 5, feed<P>(), Rate::constant(0.05f), [](long) {}, [](long, double) {});
      session::Client<P, Ranks> reader(at, "net", -1, 1, 7);
      reader.read(0, backend::host::Region::Weights, 0, P::schedule.weight_elements, w.data());
    }
    serving.join();
    return w;
  };
  auto const device = left(static_cast<session::DeviceRanks<P, OnDevice>*>(nullptr));
  auto const threads = left(static_cast<session::ThreadRanks<P>*>(nullptr));
  double far = 0, moved = 0;
  for (std::size_t i = 0; i < device.size(); ++i) {
    far = std::max(far, std::fabs(static_cast<double>(device[i] - threads[i])));
    moved = std::max(moved, std::fabs(static_cast<double>(device[i])));
  }
  CHECK(moved > 0.01);
  CHECK(far < 1e-2);
}
TEST_CASE("a replica that does not fit its device says what takes the room") {
  struct Small : OnDevice {
    long free_bytes() const { return 1 << 20; }
  };
  using P = Of<Mlp, DataParallel<Async>>;
  CHECK_THROWS_WITH_AS((Served<P, session::DeviceRanks<P, Small>>(1)),
                       doctest::Contains("the device has 1 MiB free, 1 ranks need"), Error);
}
TEST_CASE("portions of L-BFGS, their gradients from devices, replicas in any order") {
  using P = Of<Mlp, DataParallel<Async>, Shards<2>>;
  Sandblaster<P> devices(session::near<P, session::DeviceRanks<P, OnDevice>>(2, 7), 3, 7), threads(2, 3, 7);
  for (int i = 0; i < 3; ++i) CHECK(devices.step(feed<P>()) == doctest::Approx(threads.step(feed<P>())).epsilon(1e-5));
  auto const a = devices.weights(), b = threads.weights();
  double far = 0;
  for (std::size_t i = 0; i < a.size(); ++i) far = std::max(far, std::fabs(static_cast<double>(a[i] - b[i])));
  CHECK(far <= 1e-4);
  CHECK(devices.accuracy(feed<P>(), 29) == doctest::Approx(threads.accuracy(feed<P>(), 29)).epsilon(0.05));
}
