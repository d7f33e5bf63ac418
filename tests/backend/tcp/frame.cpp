// backend/tcp/frame.cpp - frames arrive whole or not at all, and nobody waits without end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/backend/tcp/frame.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

using namespace cleave;
using namespace cleave::backend::tcp;

namespace {
struct Pair {
  Socket listening = Socket::listen_on(0);
  Socket a = Socket::connect({"127.0.0.1", listening.port()}, Milliseconds(1000));
  Socket b = listening.accept(Milliseconds(1000));
};
constexpr Milliseconds second(1000);
}  // namespace

TEST_CASE("a frame arrives as it was sent") {
  Pair p;
  Head h;
  h.kind = Kind::Event;
  h.event = {agree::Heard::Pushed, 3, 2, 17, 5, 1};
  std::vector<float> const data{1, 2, 3};
  send(p.a, h, data.data(), 12, second);
  std::vector<unsigned char> payload;
  Head const got = receive(p.b, payload, 12, second);
  CHECK(got.event.version == 17);
  CHECK(payload.size() == 12);
  CHECK(std::memcmp(payload.data(), data.data(), 12) == 0);
}
TEST_CASE("IPv6 where the machine has it: by an address in brackets") {
  Address const six = Address::of("[::1]:29500"), four = Address::of("10.0.0.1:80");
  CHECK(six.host == "::1");
  CHECK(six.text() == "[::1]:29500");
  CHECK(four.text() == "10.0.0.1:80");
  Socket const listening = Socket::listen_on(0, "*");
  Socket a;
  try {
    a = Socket::connect({"::1", listening.port()}, Milliseconds(200));
  } catch (Error const& e) {
    MESSAGE("no IPv6 here: ", e.what());
    return;
  }
  Socket const b = listening.accept(second);
  send(a, {}, "six", 3, second);
  std::vector<unsigned char> payload;
  receive(b, payload, 3, second);
  CHECK(std::string(payload.begin(), payload.end()) == "six");
}
TEST_CASE("every changed bit of a frame is noticed") {
  Head h;
  h.kind = Kind::Event;
  unsigned char const data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  h.bytes = sizeof data;
  h.check = checksum(h, data);
  for (std::size_t bit = 0; bit < 8 * (sizeof h + sizeof data); ++bit) {
    unsigned char bytes[sizeof h + sizeof data];
    std::memcpy(bytes, &h, sizeof h);
    std::memcpy(bytes + sizeof h, data, sizeof data);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
    Pair p;
    p.a.send(bytes, sizeof bytes, second);
    p.a.shut();
    std::vector<unsigned char> payload;
    CHECK_THROWS_AS(receive(p.b, payload, sizeof data, Milliseconds(200)), Error);
  }
}
TEST_CASE("cut short, too long, or silent: an error by the deadline") {
  std::vector<unsigned char> payload;
  Head h;
  h.bytes = 8;
  for (std::size_t cut = 0; cut < sizeof h; ++cut) {
    Pair p;
    p.a.send(&h, cut, second);
    p.a.shut();
    CHECK_THROWS_WITH_AS(receive(p.b, payload, 8, Milliseconds(200)), doctest::Contains("closed the connection"),
                         Closed);
  }
  Pair p;
  h.bytes = ~std::uint64_t{0};
  p.a.send(&h, sizeof h, second);
  CHECK_THROWS_WITH_AS(receive(p.b, payload, 8, second), doctest::Contains("bytes where at most 8 belong"), Error);
  CHECK_THROWS_WITH_AS(receive(p.a, payload, 8, Milliseconds(50)),
                       doctest::Contains("did not send 72 bytes within 50 ms"), Error);
}
TEST_CASE("bytes that drip in do not move the deadline") {
  Pair p;
  std::thread drip([&] {
    try {
      for (int k = 0; k < 72; ++k) {  // each in time, all of them far too late
        p.a.send("", 1, second);
        std::this_thread::sleep_for(Milliseconds(20));
      }
    } catch (Closed const&) {
    }
  });
  std::vector<unsigned char> payload;
  CHECK_THROWS_WITH_AS(receive(p.b, payload, 8, Milliseconds(200)), doctest::Contains("bytes within 200 ms"), Error);
  p.b = Socket();
  drip.join();
}
TEST_CASE("memory is taken as bytes come in, not as they are announced") {
  Pair p;
  Head h;
  h.bytes = std::size_t{1} << 30;
  p.a.send(&h, sizeof h, second);
  p.a.shut();
  std::vector<unsigned char> payload;
  CHECK_THROWS_AS(receive(p.b, payload, std::size_t{1} << 31, second), Closed);
  CHECK(payload.capacity() <= std::size_t{1} << 20);
  Pair q;  // and what is longer than a piece arrives whole
  std::vector<unsigned char> all(std::size_t{5} << 20);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<unsigned char>(i * 7 >> 3);
  std::thread sender([&] { send(q.a, {}, all.data(), all.size(), Milliseconds(20000)); });
  receive(q.b, payload, all.size(), Milliseconds(20000));
  sender.join();
  CHECK(payload == all);
}
TEST_CASE("without a descriptor for it a connection waits, and so does who would accept it") {
  Pair p;
  Socket const more = Socket::connect({"127.0.0.1", p.listening.port()}, second);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 3;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  auto const begin = std::chrono::steady_clock::now();
  Socket const refused = p.listening.accept(Milliseconds(100));
  auto const took = std::chrono::steady_clock::now() - begin;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(!refused.valid());
  CHECK(took >= Milliseconds(100));
  CHECK(p.listening.accept(second).valid());
}
TEST_CASE("a server listens where it is told, and knows who comes") {
  Pair p;
  CHECK(p.b.peer().starts_with("127.0.0.1:"));
  CHECK(is_loopback("127.0.0.1"));
  CHECK(is_loopback("localhost"));
  CHECK(is_loopback("::1"));
  for (char const* wide : {"0.0.0.0", "::", "*", "192.0.2.1", ""}) CHECK(!is_loopback(wide));
  CHECK_THROWS_WITH_AS(Socket::listen_on(0, "192.0.2.1"), doctest::Contains("cannot listen on 192.0.2.1:0"), Error);
  CHECK_THROWS_WITH_AS(Socket::listen_on(p.listening.port()), doctest::Contains("in use"), Error);
}
TEST_CASE("addresses") {
  CHECK(Address::of("localhost:29500").port == 29500);
  for (char const* wrong :
       {"localhost", ":29500", "localhost:", "localhost:0", "localhost:65536", "a:1x", "a:99999999999"}) {
    CHECK_THROWS_WITH_AS(Address::of(wrong), doctest::Contains("is no address"), Error);
  }
  CHECK_THROWS_WITH_AS(Socket::connect({"127.0.0.1", 1}, Milliseconds(80)), doctest::Contains("is the server up?"),
                       Error);
}
