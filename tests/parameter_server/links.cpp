// parameter_server/links.cpp - a client that has lost its server and connects again: who is refused for now, and who for good.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/parameter_server/links.hpp"

#include <doctest/doctest.h>
#include <cleave.hpp>

#include <thread>

#include "cleave/parameter_server/parameter_server.hpp"

using namespace cleave;
using namespace cleave::backend::tcp;
using session::Links;
using session::ParameterServer;

namespace {

struct Net : Sequential<Vector<4>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async>> {};
constexpr Milliseconds patience(20000);
Closed const lost("the server has closed the connection");

/// A server for two replicas, whose deadline is short: it soon refuses a replica whose number is taken.
struct Live {
  ParameterServer<Train> server{0, 2, 1, 0, 1, Milliseconds(2000)};
  std::thread thread{[this] { server.serve(); }};
  ~Live() {
    server.stop();
    thread.join();
  }
  std::vector<Address> at() const { return {{"127.0.0.1", server.port()}}; }
};
Head hello(int replicas) {
  Head h;
  h.event.worker = 0;
  h.plan = session::fingerprint<Train>(replicas);
  return h;
}

}  // namespace

TEST_CASE("a replica that the server still takes to be there is refused for now, and tries again") {
  Live const live;
  Links old(live.at(), hello(2), "net", {}, patience), links(live.at(), hello(2), "net", {}, patience);
  old.connect(patience, patience);
  int tries = 0;
  links.set_patience(patience, {});
  auto const welcome = links.connect_again(lost, [&] {
    if (++tries == 3) old = Links({}, hello(2), "net", {}, patience);  // the connection is noticed to be gone
  });
  CHECK(tries >= 3);
  CHECK(welcome.event.life == 2);
}
TEST_CASE("one that is refused to the end of its patience ends with why") {
  Live const live;
  Links old(live.at(), hello(2), "net", {}, patience), links(live.at(), hello(2), "net", {}, patience);
  old.connect(patience, patience);
  links.set_patience(Milliseconds(3000), {});
  CHECK_THROWS_WITH_AS(links.connect_again(lost, {}),
                       doctest::Contains("has closed the connection, and refuses this client: 127.0.0.1"), Error);
}
TEST_CASE("where another try is of no use there is none") {
  Live const live;
  Links links(live.at(), hello(3), "net", {}, patience);
  links.set_patience(patience, {});
  int tries = 0;
  CHECK_THROWS_WITH_AS(links.connect_again(lost, [&] { ++tries; }), doctest::Contains("another number of replicas (2)"),
                       Refusal);
  CHECK(tries == 1);
}
