// parameter_server/hostile_clients.cpp - what a parameter server does about clients that lie, hang, or come in too large numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <cleave.hpp>

#include <limits>

#include "../train/signs.hpp"
#include "cleave/parameter_server/client.hpp"
#include "cleave/parameter_server/parameter_server.hpp"

using namespace cleave;
using namespace cleave::backend::tcp;
using session::Client;
using session::Door;
using session::ParameterServer;

namespace {

struct Net : Sequential<Vector<12>, Linear<24>, Relu, Linear<4>, CrossEntropy> {};
struct Free : Plan<Net, Batch<24>, DataParallel<Async, Stale<Damp>>, Shards<3>, Momentum> {};
struct InStep : Plan<Net, Batch<24>, MicroBatches<4>, DataParallel<Sync>, Shards<2>, Momentum> {};
struct Narrow : Plan<Net, Batch<24>, DataParallel<Async>, Precision<bf16>, Sgd> {};
struct Packed : Plan<Net, Batch<24>, DataParallel<Async>, Compress<Int8>, Sgd> {};

constexpr Milliseconds patience(20000);
constexpr char const* secret = "a token of 24 characters";

/// A server in a thread of its own, for two replicas.
template <class P> struct Live {
  std::FILE* said = std::tmpfile();
  ParameterServer<P> server;
  std::thread thread;

  explicit Live(Door door = {})
      : server(0, 2, 1, 0, 1, patience, told(std::move(door), said)), thread([this] { server.serve(); }) {}
  ~Live() {
    server.stop();
    thread.join();
    std::fclose(said);
  }
  static Door told(Door door, std::FILE* said) {
    door.say = said;
    return door;
  }
  std::vector<Address> at() const { return {{"127.0.0.1", server.port()}}; }
  std::string text() const {
    std::string all(static_cast<std::size_t>(std::ftell(said)), ' ');
    std::rewind(said);
    std::size_t const n = std::fread(all.data(), 1, all.size(), said);
    all.resize(n);
    return all;
  }
  std::vector<float> weights(std::string const& token = {}) const {
    Client<P> c(at(), "net", -1, 2, 1, patience, token);
    std::vector<float> all;
    for (session::Kept const& k : session::kept<P>()) {
      for (auto v : session::whole(c, k)) all.push_back(static_cast<float>(v));
    }
    return all;
  }
};
/// One that speaks the protocol, and says what it likes.
template <class P> struct Liar {
  Socket to;
  std::vector<unsigned char> payload;

  explicit Liar(Live<P> const& live, int replica = 0, std::string const& name = "net", std::string const& token = {})
      : to(Socket::connect(live.at()[0], patience)) {
    Head h;
    h.event.worker = replica;
    h.plan = session::fingerprint<P>(2);
    introduce(to, h, name, token, patience);
  }
  static Head push() {
    Head h;
    h.kind = Kind::Event;
    h.rate = 0.1f;
    h.event = {agree::Heard::Pushed, 0, 0, 0, 0, 1};
    return h;
  }
  /// What the server says to this frame, until it ends the connection.
  std::string answer(Head const& h, std::vector<unsigned char> const& bytes) {
    backend::tcp::send(to, h, bytes.data(), bytes.size(), patience);
    for (;;) {
      Head const got = receive(to, payload, 1 << 20, patience);
      if (got.kind == Kind::Refused) return {payload.begin(), payload.end()};
    }
  }
};
/// A push of zeros, as many as shard 0 has; where `value` is given, one of them is that.
template <class P> std::vector<unsigned char> zeros(double value = 0) {
  using Sent = typename session::formats_of<P>::Sent;
  session::PushSizes const sizes(session::service<P>);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(sizes.bytes(0)));
  if (sizes.plain()) {
    Sent const v = static_cast<Sent>(static_cast<float>(value));
    std::memcpy(bytes.data() + 7 * sizeof v, &v, sizeof v);
  } else {
    float const scale = static_cast<float>(value);  // an encoding begins with its scale
    std::memcpy(bytes.data(), &scale, sizeof scale);
    bytes[sizeof scale] = 1;
  }
  return bytes;
}

constexpr float infinite = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE_TEMPLATE("numbers that are not finite are refused, and no weight changes", P, Free, Narrow, Packed) {
  Live<P> live;
  auto const before = live.weights();
  for (float const wrong : {not_a_number, infinite, -infinite}) {
    Liar<P> liar(live);
    CHECK(liar.answer(liar.push(), zeros<P>(wrong)).find("is not finite") != std::string::npos);
  }
  CHECK(live.weights() == before);
  CHECK(live.text().find("is not finite; nothing of it was used") != std::string::npos);
}
TEST_CASE("rates, versions, counts, shards and kinds that no replica says are refused, and no weight changes") {
  Live<Free> live;
  auto const before = live.weights();
  auto const refused = [&](auto change, char const* why, std::vector<unsigned char> const& bytes) {
    Liar<Free> liar(live);
    Head h = liar.push();
    change(h);
    std::string const said = liar.answer(h, bytes);
    INFO(said);
    CHECK(said.find(why) != std::string::npos);
  };
  auto const push = zeros<Free>(1);
  for (float const rate : {1e30f, -1.f, not_a_number, infinite}) {
    refused([&](Head& h) { h.rate = rate; }, "rates are from 0 to 1000", push);
  }
  refused([](Head& h) { h.event.version = 1; }, "version 1 of weights whose newest is 0", push);
  refused([](Head& h) { h.event.version = -1; }, "version -1 of weights", push);
  refused([](Head& h) { h.event.version = std::numeric_limits<int>::min(); }, "of weights whose newest", push);
  refused([](Head& h) { h.event.count = std::numeric_limits<int>::max(); }, "number 2147483647 after 0", push);
  refused([](Head& h) { h.event.count = -1; }, "number -1 after 0", push);
  refused([](Head& h) { h.shard = 3; }, "shard 3, which is not here", push);
  refused([](Head& h) { h.shard = -1; }, "shard -1, which is not here", push);
  refused([](Head& h) { h.event.what = agree::Heard::Left; }, "that clients do not say", push);
  refused([](Head& h) { h.event.what = static_cast<agree::Heard>(77); }, "that clients do not say", push);
  refused([](Head& h) { h.kind = Kind::Finished; }, "not to be said here", push);
  refused([](Head& h) { h.kind = Kind::Pull, h.version = 2; }, "no such tensor", {});
  refused([](Head& h) { h.kind = Kind::Pull, h.version = -2; }, "no such tensor", {});
  refused([](Head&) {}, "a push of 12 bytes that is none to shard 0", std::vector<unsigned char>(12));
  CHECK(live.weights() == before);
}
TEST_CASE("updates to follow that no first shard has made are refused, and no weight changes") {
  Live<InStep> live;
  auto const before = live.weights();
  int at = 0;
  auto const refused = [&](int shard, double rate, int update, std::vector<int> lives, char const* why) {
    Liar<InStep> liar(live, 0, "net" + std::to_string(at++));  // a replica that has left ends the run in its container
    std::vector<unsigned char> bytes(16 + 4 * lives.size());
    std::memcpy(bytes.data(), &rate, 8);
    std::memcpy(bytes.data() + 8, &update, 4);
    std::memcpy(bytes.data() + 16, lives.data(), 4 * lives.size());
    Head h;
    h.kind = Kind::Follow;
    h.shard = shard;
    h.version = update;
    std::string const said = liar.answer(h, bytes);
    INFO(said);
    CHECK(said.find(why) != std::string::npos);
  };
  refused(1, 0.1, 1, {1}, "an update to follow in 20 bytes, where 24 belong");
  refused(1, 1e30, 1, {1, 1}, "rates are from 0 to");
  refused(1, 0.1, -1, {1, 1}, "an update to follow with version -1");
  refused(1, 0.1, 1, {1, 0}, "an update of 1 replicas, where 2 belong");
  refused(1, 0.1, 1, {0, 0}, "an update of 0 replicas, where 2 belong");
  refused(1, 0.1, 1, {1, -5}, "a push of life -5");
  refused(1, 0.1, 1, {1, 1}, ": it lacks a gradient of the first shard's update 1; a part of the server");
  refused(1, 0.1, 2, {1, 1}, ": it has update 0, and the first shard 2; a part of the server");
  refused(0, 0.1, 1, {1, 1}, "which is not to be said here");
  for (int const life : {-5, 0, 2'000'000'001}) {
    Liar<InStep> liar(live, 0, "net" + std::to_string(at++));
    Head h = liar.push();
    h.shard = 1;
    h.event.life = life;
    std::string const said = liar.answer(
        h, std::vector<unsigned char>(static_cast<std::size_t>(session::PushSizes(session::service<InStep>).bytes(1))));
    CHECK(said.find("a push of life " + std::to_string(life)) != std::string::npos);
  }
  CHECK(live.weights() == before);
}
TEST_CASE("a stop: of a signal that does not exist, and of a reader, which has no replica to stop") {
  Live<Free> live;
  auto const before = live.weights();
  for (int const signal : {0, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    Liar<Free> liar(live);
    Head h;
    h.kind = Kind::Stopped;
    h.version = signal;
    h.shard = 77;
    CHECK_THROWS_AS(liar.answer(h, {}), Error);  // the connection is closed, without a word
  }
  Liar<Free> reader(live, -1);
  Head h;
  h.kind = Kind::Stopped;
  std::string const said = reader.answer(h, {});
  INFO(said);
  CHECK(said.find("not to be said here") != std::string::npos);
  CHECK(live.weights() == before);
  Client<Free> next(live.at(), "net", 0, 2, 1, patience);  // the replica's number is free again
}
TEST_CASE("a replica number that is taken: the second is refused, and the first goes on") {
  Live<Free> live;
  Client<Free> first(live.at(), "net", 0, 2, 1, patience);
  CHECK_THROWS_WITH_AS(Client<Free>(live.at(), "net", 0, 2, 1, patience),
                       doctest::Contains("replica 0 is there already, from 127.0.0.1:"), Error);
  long steps = 0;
  first.train(
      0, 40, signs::feed<Free>(), Rate::constant(0.05f), [](long) {}, [&](long, double) { ++steps; });
  CHECK(steps == 20);
  Client<Free> again(live.at(), "net", 0, 2, 1, patience);  // the first has done its part
  std::string const said = live.text();
  INFO(said);
  CHECK(said.find("replica 0 of container net, 127.0.0.1:") != std::string::npos);
  CHECK(said.find(" has joined\n") != std::string::npos);
  CHECK(said.find(" has done its part\n") != std::string::npos);
  CHECK(said.find(" has taken over, in life 2\n") != std::string::npos);
}
TEST_CASE("names of containers are short and plain, and there are not too many of them") {
  Door door;
  door.containers = 3;
  Live<Free> live(std::move(door));
  for (std::string const wrong : {"", "../up", "a b", "a/b", ".hidden"}) {
    CHECK_THROWS_WITH_AS(Client<Free>(live.at(), wrong, -1, 2, 1, patience), doctest::Contains("letters, digits"),
                         Error);
  }
  for (std::string const name : {"a", "b", "c", "a"}) Client<Free>(live.at(), name, -1, 2, 1, patience);
  CHECK_THROWS_WITH_AS(Client<Free>(live.at(), "d", -1, 2, 1, patience), doctest::Contains("keeps 3 containers"),
                       Error);
}
TEST_CASE("connections: no more than there is room for are let in, and the others are told") {
  Door door;
  door.connections = 4;
  Live<Free> live(std::move(door));
  std::vector<std::unique_ptr<Client<Free>>> all;
  for (int k = 0; k < 4; ++k) all.push_back(std::make_unique<Client<Free>>(live.at(), "net", -1, 2, 1, patience));
  CHECK_THROWS_WITH_AS(Client<Free>(live.at(), "net", -1, 2, 1, patience), doctest::Contains("has 4 connections"),
                       Error);
}
TEST_CASE("strangers that say nothing end by their deadline, and clients come in behind them") {
  Door door;
  door.strangers = 5;
  door.greeting = Milliseconds(300);
  Live<Free> live(std::move(door));
  std::vector<Socket> silent;
  for (int k = 0; k < 20; ++k) silent.push_back(Socket::connect(live.at()[0], patience));
  CHECK(!live.weights().empty());
}
TEST_CASE("the token: asked of everybody, readers too; a proof is good for one connection and one replica") {
  Door door;
  door.token = secret;
  Live<Free> live(std::move(door));
  auto const come = [&](int replica, std::string const& token) {
    Client<Free>(live.at(), "net", replica, 2, 1, patience, token);
  };
  come(0, secret);
  come(-1, secret);
  for (int const replica : {-1, 0}) {
    CHECK_THROWS_WITH_AS(come(replica, ""), doctest::Contains("asks for a token: set CLEAVE_TOKEN"), Error);
    CHECK_THROWS_WITH_AS(come(replica, "a token of 24 characterS"), doctest::Contains("has another token"), Error);
  }
  auto const challenge = [&](Socket const& to, Head const& hello) {
    backend::tcp::send(to, hello, "net", 3, patience);
    std::vector<unsigned char> nonce;
    CHECK(receive(to, nonce, 64, patience).kind == Kind::Challenge);
    return std::string(nonce.begin(), nonce.end());
  };
  auto const prove = [&](Socket const& to, Digest const& code) {
    Head h;
    h.kind = Kind::Proof;
    backend::tcp::send(to, h, code.data(), code.size(), patience);
    std::vector<unsigned char> answer;
    return receive(to, answer, 256, patience).kind;
  };
  Head hello, other;
  hello.plan = other.plan = session::fingerprint<Free>(2);
  hello.event.worker = -1;
  other.event.worker = 1;
  Socket const a = Socket::connect(live.at()[0], patience), b = Socket::connect(live.at()[0], patience),
               c = Socket::connect(live.at()[0], patience);
  std::string const nonce = challenge(a, hello);
  Digest const code = proof(secret, nonce, hello, "net");
  CHECK(nonce != challenge(b, hello));
  CHECK(prove(b, code) == Kind::Refused);  // of another connection
  CHECK(prove(c, code) == Kind::Refused);  // before a hello
  CHECK(prove(a, code) == Kind::Welcome);
  Socket const d = Socket::connect(live.at()[0], patience);
  CHECK(prove(d, proof(secret, challenge(d, hello), other, "net")) == Kind::Refused);  // of another replica
}
TEST_CASE("without a token a server listens on loopback, and on nothing else") {
  Door door;
  for (std::string const wide : {"*", "0.0.0.0", "::"}) {
    door.listen = wide;
    CHECK_THROWS_WITH_AS(ParameterServer<Free>(0, 2, 1, 0, 1, patience, door), doctest::Contains("asks for a token"),
                         Error);
  }
  door.token = secret;
  CHECK(ParameterServer<Free>(0, 2, 1, 0, 1, patience, door).port() > 0);
  door.token.clear();
  for (std::string const near : {"127.0.0.1", "localhost"}) {
    door.listen = near;
    CHECK(ParameterServer<Free>(0, 2, 1, 0, 1, patience, door).port() > 0);
  }
}
#if defined(__has_feature)  // clang++'s way to say it
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CLEAVE_TEST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CLEAVE_TEST_SANITIZED
#endif
#if !defined(CLEAVE_TEST_SANITIZED)  // sanitizers want more memory than the limit leaves
TEST_CASE("where no thread can be made, a connection is refused and the server goes on") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t const id = fork();
  if (id == 0) {
    ParameterServer<Free> server(0, 2, 1, 0, 1, patience);
    int const port = server.port();
    rlimit limit{};
    std::FILE* const pages = std::fopen("/proc/self/statm", "r");
    long now = 0;
    if (!pages || std::fscanf(pages, "%ld", &now) != 1) _exit(3);
    limit.rlim_cur = limit.rlim_max = static_cast<rlim_t>(now * ::sysconf(_SC_PAGESIZE) + (100L << 20));
    if (::setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
    if (write(ends[1], &port, sizeof port) != sizeof port) _exit(3);
    server.serve();
    _exit(0);
  }
  int port = 0;
  REQUIRE(read(ends[0], &port, sizeof port) == sizeof port);
  {
    std::vector<Socket> bare;  // a thread's stack each, of which there are not so many
    for (int k = 0; k < 60; ++k) bare.push_back(Socket::connect({"127.0.0.1", port}, patience));
    std::vector<unsigned char> said;
    bool refused = false;
    for (Deadline const by(patience); !refused && by.left().count() > 0;) {
      for (auto const& s : bare) {
        if (refused || !s.readable(Milliseconds(20))) continue;
        try {
          refused = receive(s, said, 1024, patience).kind == Kind::Refused;
        } catch (Error const&) {
        }
      }
    }
    CHECK(refused);
    CHECK(std::string(said.begin(), said.end()).find("no room for another connection now") != std::string::npos);
  }
  std::unique_ptr<Client<Free>> client;
  for (Deadline const by(patience); !client;) {  // until the server has cleared the connections that are closed
    try {
      client = std::make_unique<Client<Free>>(std::vector<Address>{{"127.0.0.1", port}}, "net", 0, 2, 1, patience);
    } catch (Refusal const& e) {
      if (!e.for_now || by.left().count() == 0) throw;
      std::this_thread::sleep_for(Milliseconds(50));
    }
  }
  CHECK(::kill(id, SIGKILL) == 0);
  int status = 0;
  ::waitpid(id, &status, 0);
  CHECK(WIFSIGNALED(status));
  for (int e : ends) ::close(e);
}
#endif
