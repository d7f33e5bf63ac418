// backend/nccl/link.cpp - ranks with a device each have the bits of one device; errors are named.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/emulate/post.hpp>
#include <cleave/backend/nccl/link.hpp>

#include <algorithm>
#include <thread>

#include "../../train/on_device.hpp"

using namespace cleave;
using namespace cleave::testing;
using namespace std::chrono_literals;
using backend::emulate::Office;
using backend::emulate::Post;
template <class Api> using Linked = backend::nccl::Link<Api>;

namespace {

/// What it was asked, in words; fails where it is told to.
struct Recorded {
  using Comm = int;
  struct Id {};
  static constexpr int in_progress = 7;
  struct Log {
    std::vector<std::string> said;
    std::string fails;        // the call that does
    int with = 0, later = 0;  // how; and what asking for errors says afterwards
    int waits = 0;            // how often it is in progress before that
  };
  Log* log;

  int say(std::string const& what) const {
    log->said.push_back(what);
    return what.rfind(log->fails, 0) == 0 && !log->fails.empty() ? log->with : 0;
  }
  int init(Comm* comm, int ranks, Id const&, int rank) const {
    *comm = 1;
    return say("init " + std::to_string(rank) + "/" + std::to_string(ranks));
  }
  int group_start() const { return say("start"); }
  int group_end() const { return say("end"); }
  int send(void const*, std::size_t n, int peer, Comm, int) const {
    return say("send " + std::to_string(n) + ">" + std::to_string(peer));
  }
  int recv(void*, std::size_t n, int peer, Comm, int) const {
    return say("recv " + std::to_string(n) + "<" + std::to_string(peer));
  }
  int async_error(Comm, int* r) const {
    *r = log->waits-- > 0 ? in_progress : log->later;
    return 0;
  }
  int abort(Comm) const { return say("abort"); }
  int finalize(Comm) const { return say("finalize"); }
  int destroy(Comm) const { return say("destroy"); }
  static std::string text(int r) { return "error " + std::to_string(r); }
};

/// Every rank in a thread with a device of its own; returns what each is left with.
template <class P> std::vector<Outcome> apart(int replicas) {
  Office office;
  int const world = replicas * P::ways;
  std::vector<Outcome> all(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  for (int r = 0; r < world; ++r) {
    threads.emplace_back([&, r] {
      auto machine = std::make_unique<OnDevice>(static_cast<std::uint64_t>(r + 1));
      Post post(*machine);
      auto link = std::make_unique<Linked<Post>>(post, r, world, Post::Id{&office});
      DeviceTrainer<P, OnDevice, Linked<Post>> t(replicas, 7, std::move(machine), std::move(link));
      Outcome& o = all[static_cast<std::size_t>(r)];
      o.losses = t.train(0, 3, feed<P>());
      o.accuracy = t.accuracy(feed<P>(), P::batch + 5);
      o.miscounted = session::miscounted(t, 3, 2);
      for (session::Kept const& k : session::kept<P>()) {
        for (auto v : session::whole(t, k)) o.state.push_back(static_cast<double>(v));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return all;
}
template <class P> void as_together(int replicas) {
  Outcome const wanted = outcome(DeviceTrainer<P, OnDevice>(replicas, 7));
  for (Outcome const& o : apart<P>(replicas)) {
    CHECK(o.miscounted == "");
    CHECK(o == wanted);
  }
}

}  // namespace

TEST_CASE("data parallel, with sums over the batch") { as_together<Of<Net, DataParallel<Sync>, Momentum>>(3); }
TEST_CASE("columns split, two replicas") {
  as_together<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitCols>, Adam>>(2);
}
TEST_CASE("rows split in bf16, in rounds") {
  as_together<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitRows>, Precision<bf16>, Accumulate<2>>>(2);
}
struct Clipped : Adam {
  static constexpr float clip_norm = 0.05f;
};
TEST_CASE("clipped by the norm over both axes") {
  as_together<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitCols>, Clipped>>(2);
  as_together<Of<Mlp, DataParallel<Sync>, Clipped>>(2);
}
TEST_CASE("in unequal parts of columns and rows") {
  as_together<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<3>>>>(2);
}
TEST_CASE("the batch cut over both axes") { as_together<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitBatch>>>(2); }
TEST_CASE("optimizers in parts, gradients and weights in turn") {
  as_together<Of<Net, DataParallel<Sync, Zero<1>>, Momentum>>(3);
  as_together<Of<Mlp, DataParallel<Sync, Zero<2>>, Adam, Precision<bf16>>>(3);
  as_together<Of<Mlp, DataParallel<Sync, Zero<2>>, Adam, Accumulate<2>>>(3);
  as_together<Of<Mlp, DataParallel<Sync, Zero<3>>, Adam, ModelParallel<SplitCols>>>(2);
  as_together<Of<Mlp, DataParallel<Sync, Zero<3>>, Adam, Precision<bf16>>>(3);
}
TEST_CASE("... clipped by the norm of these parts") {
  as_together<Of<Mlp, DataParallel<Sync, Zero<1>>, Clipped>>(3);
  as_together<Of<Mlp, DataParallel<Sync, Zero<3>>, Clipped, ModelParallel<SplitCols>, Precision<bf16>>>(2);
}
TEST_CASE("compressed and scheduled all-reduces between devices") {
  as_together<Of<Mlp, DataParallel<Sync>, Fastest, Compress<Int8>, Momentum>>(3);
  as_together<Of<Mlp, DataParallel<Sync>, Fastest, Compress<TopK<50>>>>(2);
  as_together<Of<Mlp, DataParallel<Sync>, Fastest, ReduceBy<Ring>, Precision<bf16>>>(3);
}

TEST_CASE("transfers go out as one group, and a communicator is left in order") {
  Recorded::Log log;
  OnDevice m;
  {
    Linked<Recorded> link({&log}, 1, 3, {});
    std::byte b[8];
    link.put(m, 0, {{0, true, b, 8}, {2, false, b, 4}});
    link.check();
  }
  CHECK(log.said ==
        std::vector<std::string>{"init 1/3", "start", "send 8>0", "recv 4<2", "end", "finalize", "destroy"});
}
TEST_CASE("a peer that is met in a capture for the first time is refused; connect() meets all of them before") {
  Office office;
  OnDevice machine;
  auto const stream = machine.stream();
  Linked<Post> link(Post(machine, 1s), 0, 2, Post::Id{&office});
  std::byte b[8]{};
  machine.begin(stream);
  CHECK_THROWS_WITH_AS(link.put(machine, stream, {{1, true, b, 8}}), doctest::Contains("is in a capture"), Error);
  machine.end();

  Recorded::Log log;
  OnDevice other;
  Linked<Recorded> met({&log}, 1, 3, {});
  met.connect(other, other.stream());
  for (std::string const said : {"send 8>0", "recv 8<0", "send 8>2", "recv 8<2"})
    CHECK(std::count(log.said.begin(), log.said.end(), said) == 1);
}
TEST_CASE("what is in progress is asked for again until it is done") {
  Recorded::Log log;
  log.fails = "init";
  log.with = Recorded::in_progress;
  log.waits = 5;
  Linked<Recorded> link({&log}, 0, 2, {});
  CHECK(log.waits < 0);
}
TEST_CASE("at each call that fails: rank, operation and reason; then abort, and nothing more") {
  for (std::string const call : {"start", "send", "recv", "end"}) {
    INFO(call);
    Recorded::Log log;
    OnDevice m;
    std::byte b[8];
    std::string told;
    {
      Linked<Recorded> link({&log}, 1, 3, {});
      log.fails = call;
      log.with = 5;
      try {
        link.put(m, 0, {{0, true, b, 8}, {2, false, b, 4}});
      } catch (Error const& e) {
        told = e.what();
      }
      CHECK_THROWS_WITH_AS(link.put(m, 0, {}), doctest::Contains("was aborted after an error"), Error);
    }
    CHECK(told.rfind("rank 1 of 3: NCCL: ", 0) == 0);
    CHECK(told.find("error 5; the communicator is aborted") != std::string::npos);
    if (call == "send") CHECK(told.find("send 8 bytes to rank 0") != std::string::npos);
    CHECK(log.said.back() == "abort");
  }
}
TEST_CASE("an error that comes behind our back is found by whoever asks") {
  Recorded::Log log;
  Linked<Recorded> link({&log}, 0, 2, {});
  log.later = 3;
  CHECK_THROWS_WITH_AS(link.check(), doctest::Contains("a transfer: error 3"), Error);
}
TEST_CASE("and by a machine that waits, now and then; one that has waited too long ends the communicator") {
  Recorded::Log log;
  Linked<Recorded> link({&log}, 0, 2, {});
  OnDevice machine;
  machine.while_waiting = [&](bool late) { link.waited(late); };
  machine.finish();
  CHECK_THROWS_WITH_AS(link.waited(true), doctest::Contains("rank 0 of 2: NCCL: what is sent and received"), Error);
  CHECK(log.said.back() == "abort");
  Linked<Recorded> other({&log}, 1, 2, {});
  machine.while_waiting = [&](bool late) { other.waited(late); };
  log.later = 3;
  CHECK_THROWS_WITH_AS(machine.finish(), doctest::Contains("rank 1 of 2: NCCL: a transfer: error 3"), Error);
  CHECK(log.said.back() == "abort");
}
TEST_CASE("no call outlasts its deadline") {
  Recorded::Log log;
  log.fails = "init";
  log.with = Recorded::in_progress;
  log.waits = 1 << 30;
  CHECK_THROWS_WITH_AS((Linked<Recorded>({&log}, 0, 2, {}, 30ms)),
                       doctest::Contains("join the other ranks: not done within 30 ms"), Error);
  CHECK(log.said.back() == "abort");
}
TEST_CASE("a rank that never sends is an error on the others, within the deadline") {
  using P = Of<Mlp, DataParallel<Sync>>;
  Office office;
  auto machine = std::make_unique<OnDevice>();
  Post post(*machine, 50ms);
  auto link = std::make_unique<Linked<Post>>(post, 0, 2, Post::Id{&office});
  using Trained = DeviceTrainer<P, OnDevice, Linked<Post>>;
  CHECK_THROWS_WITH_AS(Trained(2, 7, std::move(machine), std::move(link)),
                       doctest::Contains("did not send what this one expects"), Error);
}
