// parameter_server/parameter_server.cpp - clients and servers as processes, some of them killed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <cleave.hpp>

#include <atomic>
#include <limits>
#include <utility>

#include "../io/scratch.hpp"
#include "cleave/parameter_server/client.hpp"
#include "cleave/parameter_server/parameter_server.hpp"

using namespace cleave;
using backend::tcp::Milliseconds;
using session::Client;
using session::ParameterServer;

namespace {

struct Net : Sequential<Vector<12>, Linear<24>, Relu, Linear<4>, CrossEntropy> {};
struct Sync3 : Plan<Net, Batch<24>, MicroBatches<12>, DataParallel<Sync>, Shards<1>, Momentum> {};
struct Spare : Plan<Net, Batch<24>, MicroBatches<12>, DataParallel<Sync, Spares<2>>, Shards<1>, Momentum> {};
template <int Count>
struct Cut : Plan<Net, Batch<24>, MicroBatches<12>, DataParallel<Sync>, Shards<Count>, Momentum> {};
struct SpareCut : Plan<Net, Batch<24>, MicroBatches<12>, DataParallel<Sync, Spares<2>>, Shards<2>, Momentum> {};
struct Averaged : Plan<Net, Batch<24>, MicroBatches<12>, DataParallel<LocalSGD<4>>, Shards<3>, Momentum> {};
struct Wild : Plan<Net, Batch<24>, DataParallel<Async>, Shards<3>, Momentum> {};
struct Half : Plan<Net, Batch<24>, DataParallel<Async>, Precision<bf16>, Momentum> {};
struct Stretch : Plan<Net, Batch<24>, DataParallel<ElasticAveraging<4, 10>>, Momentum> {};

float value(long sample, int i) {
  tensor::Random const random{7, tensor::Purpose::Augment, static_cast<std::uint32_t>(i)};
  return random.uniform(static_cast<std::uint64_t>(sample % 480)) - 0.5f;
}
backend::host::Feed const feed{nullptr,
                               [](void const*, long step, long first, int count, float* out) {
                                 for (long s = first; s < first + count; ++s) {
                                   for (int i = 0; i < 12; ++i) *out++ = value(step * 24 + s, i);
                                 }
                               },
                               [](void const*, long step, long first, int count, int* out) {
                                 for (long s = first; s < first + count; ++s) {
                                   *out++ = (value(step * 24 + s, 0) > 0) + 2 * (value(step * 24 + s, 1) > 0);
                                 }
                               }};
Rate const rate = Rate::constant(0.05f);
constexpr Milliseconds patience(20000);

/// A process of its own. It must be made while this one has a single thread.
struct Process {
  pid_t id = 0;
  int out = -1;
  template <class Work> explicit Process(Work work) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    id = fork();
    if (id == 0) {
      close(ends[0]);
      int code = 0;
      try {
        work(ends[1]);
      } catch (Error const& e) {
        dprintf(ends[1], "%s", e.what());
        code = 2;
      }
      _exit(code);
    }
    close(ends[1]);
    out = ends[0];
  }
  Process(Process const&) = delete;
  ~Process() {
    if (id > 0) end(SIGKILL);
    close(out);
  }
  /// What it has said until it ended, after its exit code.
  std::string wait() {
    std::string said;
    char c;
    while (read(out, &c, 1) == 1) said += c;
    int status = 0;
    waitpid(id, &status, 0);
    id = 0;
    return std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + " " + said;
  }
  void end(int signal) {
    kill(id, signal);
    waitpid(id, nullptr, 0);
    id = 0;
  }
};
struct Place : Process {
  int port = 0;
  template <class P> static void serve(int to, int replicas, int part, int parts) {
    ParameterServer<P> s(0, replicas, 1, part, parts, patience);
    says_where(to, s.port());
    s.serve();
  }
  static void says_where(int to, int here) {
    if (write(to, &here, sizeof here) != sizeof here) _exit(3);
  }
  /// One that saves all the time, and goes on with what another has saved.
  template <class P>
  Place(P*, int replicas, std::string const& folder, int at)
      : Process([=](int to) {
          ParameterServer<P> s(at, replicas, 1, 0, 1, patience);
          for (auto const& path : s.saved_in(folder)) s.load(path);
          s.keep(folder, Milliseconds(1));
          says_where(to, s.port());
          s.serve();
        }) {
    REQUIRE(read(out, &port, sizeof port) == sizeof port);
  }
  /// A part of one: it saves often, at the end when it is terminated, and goes on with the files that it is given.
  template <class P>
  Place(P*, int replicas, std::string const& folder, std::string const& from, int at, int part, int parts)
      : Process([=](int to) {
          ParameterServer<P> s(at, replicas, 1, part, parts, patience);
          if (io::exists(from)) s.load(from);
          s.keep(folder, Milliseconds(1));
          says_where(to, s.port());
          session::StopSignals const signals;
          s.serve({}, [] { return session::StopSignals::received() != 0; });
        }) {
    REQUIRE(read(out, &port, sizeof port) == sizeof port);
  }
  template <class P>
  Place(P*, int replicas, int part = 0, int parts = 1) : Process([=](int to) { serve<P>(to, replicas, part, parts); }) {
    REQUIRE(read(out, &port, sizeof port) == sizeof port);
  }
};
template <class P> P* const of = nullptr;

/// How many clients have made a step, in memory that all processes share: on a busy machine time says nothing of it.
std::atomic<int>& stepping() {
  static auto* const at = static_cast<std::atomic<int>*>(
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return *at;
}
void await_steps_of(int clients) {
  auto const last = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (stepping() < clients && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(Milliseconds(1));
  REQUIRE(stepping() >= clients);
}

template <class P>
void take_part(int to, std::vector<int> const& ports, std::string const& name, int r, int n, long steps, int slow = 0,
               Milliseconds deadline = patience, Milliseconds reconnect = {}) {
  std::vector<backend::tcp::Address> at;
  for (int p : ports) at.push_back({"127.0.0.1", p});
  Client<P> c(at, name, r, n, 1, deadline);
  c.reconnect(reconnect, {});
  bool first = true;
  c.train(
      0, steps, feed, rate, [](long) {},
      [&](long, double) {
        if (std::exchange(first, false)) ++stepping();
        std::this_thread::sleep_for(std::chrono::microseconds(slow));
      });
  dprintf(to, "done");
}
template <class P> std::vector<float> weights(std::vector<int> const& ports, std::string const& name, int n) {
  std::vector<backend::tcp::Address> at;
  for (int p : ports) at.push_back({"127.0.0.1", p});
  Client<P> c(at, name, -1, n, 1, patience);
  std::vector<float> all;
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(c, k)) all.push_back(static_cast<float>(v));
  }
  return all;
}
template <class P> double accuracy(int port, std::string const& name, int n) {
  Client<P> c({{"127.0.0.1", port}}, name, -1, n, 1, patience);
  CHECK(c.score(feed, 235).samples == 235);
  return c.accuracy(feed, 240);
}

}  // namespace

TEST_CASE("synchronous clients in processes have the bits of threads, and of one rank") {
  Place a(of<Sync3>, 3);
  std::vector<std::unique_ptr<Process>> all;
  for (int r = 0; r < 3; ++r) {
    all.push_back(std::make_unique<Process>([&, r](int to) { take_part<Sync3>(to, {a.port}, "net", r, 3, 40); }));
  }
  for (auto& p : all) CHECK(p->wait() == "0 done");
  auto const apart = weights<Sync3>({a.port}, "net", 3);
  struct One : Plan<Net, Batch<24>, MicroBatches<12>, Momentum> {};
  Trainer<One> t(1, 1);
  t.set_rate(rate);
  t.train(0, 40, feed);
  std::vector<float> whole;
  for (session::Kept const& k : session::kept<One>()) {
    for (float v : session::whole(t, k)) whole.push_back(v);
  }
  CHECK(apart == whole);
  CHECK(accuracy<Sync3>(a.port, "net", 3) == t.accuracy(feed, 240));
}
TEST_CASE("in several shards, of one process or of several, synchronous clients have the same bits") {
  auto const run = [](auto* p, int parts) {
    using P = std::remove_pointer_t<decltype(p)>;
    std::vector<std::unique_ptr<Place>> servers;
    std::vector<int> ports;
    for (int i = 0; i < parts; ++i) {
      servers.push_back(std::make_unique<Place>(p, 3, i, parts));
      ports.push_back(servers.back()->port);
    }
    std::vector<std::unique_ptr<Process>> all;
    for (int r = 0; r < 3; ++r) {
      all.push_back(std::make_unique<Process>([&, r](int to) { take_part<P>(to, ports, "net", r, 3, 40); }));
    }
    for (auto& q : all) CHECK(q->wait() == "0 done");
    return weights<P>(ports, "net", 3);
  };
  auto const whole = run(of<Sync3>, 1);
  CHECK(run(of<Cut<2>>, 1) == whole);
  CHECK(run(of<Cut<2>>, 2) == whole);
  CHECK(run(of<Cut<5>>, 3) == whole);
  auto const averaged = run(of<Averaged>, 1);
  CHECK(run(of<Averaged>, 3) == averaged);
  Served<Averaged> threads(3, 1);
  threads.set_rate(rate);
  threads.train(0, 40, feed);
  std::vector<float> there;
  for (session::Kept const& k : session::kept<Averaged>()) {
    for (float v : session::whole(threads, k)) there.push_back(v);
  }
  CHECK(averaged == there);
}
TEST_CASE_TEMPLATE("asynchronous clients, each as if alone, share what they learn", P, Wild, Half, Stretch) {
  Place server(of<P>, 3);
  std::vector<std::unique_ptr<Process>> all;
  for (int r = 0; r < 3; ++r) {
    all.push_back(std::make_unique<Process>([&, r](int to) { take_part<P>(to, {server.port}, "net", r, 3, 1500); }));
  }
  for (auto& p : all) CHECK(p->wait() == "0 done");
  CHECK(accuracy<P>(server.port, "net", 3) > 0.9);
}
TEST_CASE("names keep jobs apart; who comes after the trainers reads, saves and goes on") {
  Place server(of<Wild>, 2);
  auto const fresh = weights<Wild>({server.port}, "a", 2);
  CHECK(Process([&](int to) { take_part<Wild>(to, {server.port}, "a", 0, 2, 50); }).wait() == "0 done");
  auto const a = weights<Wild>({server.port}, "a", 2);
  CHECK(a != fresh);
  CHECK(weights<Wild>({server.port}, "b", 2) == fresh);
  CHECK(weights<Wild>({server.port}, "a", 2) == a);
  CHECK(Process([&](int to) { take_part<Wild>(to, {server.port}, "a", 0, 2, 50); }).wait() == "0 done");
  CHECK(weights<Wild>({server.port}, "a", 2) != a);
}
TEST_CASE("kill -9 of a worker, 20 times, under spares and without waiting: the others go on, and it comes back") {
  for (bool spares : {true, false}) {
    int const n = spares ? 6 : 3;
    auto const go = [&](auto* p, auto& server, int r) {
      using P = std::remove_pointer_t<decltype(p)>;
      return std::make_unique<Process>(
          [&server, r, n](int to) { take_part<P>(to, {server.port}, "net", r, n, 1200, 300); });
    };
    auto const run = [&](auto* p, double enough) {
      using P = std::remove_pointer_t<decltype(p)>;
      Place server(p, n);
      std::vector<std::unique_ptr<Process>> all;
      for (int r = 0; r < n; ++r) all.push_back(go(p, server, r));
      tensor::Random const draw{9, tensor::Purpose::Shuffle, 0};
      for (std::uint64_t k = 0; k < 20; ++k) {
        std::this_thread::sleep_for(Milliseconds(5 + draw.below(20, k)));
        int const r = static_cast<int>(draw.below(2, k, 1));  // never more than the spares at once
        all[static_cast<std::size_t>(r)]->end(SIGKILL);
        all[static_cast<std::size_t>(r)] = go(p, server, r);
      }
      for (auto& q : all) CHECK(q->wait() == "0 done");
      CHECK(accuracy<P>(server.port, "net", n) > enough);
    };
    spares ? run(of<Spare>, 0.9) : run(of<Wild>, 0.9);
    if (spares) run(of<SpareCut>, 0.9);
  }
}
TEST_CASE("a client that does not wait, killed five times, goes on where it was: no part of the run is done again") {
  Place server(of<Wild>, 1);
  constexpr int steps = 300, kills = 5;
  auto const go = [&] {
    stepping() = 0;
    return std::make_unique<Process>([&](int to) { take_part<Wild>(to, {server.port}, "net", 0, 1, steps, 1000); });
  };
  auto client = go();
  for (int k = 0; k < kills; ++k) {
    await_steps_of(1);
    std::this_thread::sleep_for(Milliseconds(10));
    client->end(SIGKILL);
    client = go();
  }
  CHECK(client->wait() == "0 done");
  Client<Wild> reader({{"127.0.0.1", server.port}}, "net", -1, 1, 1, patience);
  CHECK(reader.accuracy(feed, 240) > 0.5);
  CHECK(reader.steps() >= steps - kills);  // what it had pushed to some of the shards when it died, the others lack
  CHECK(reader.steps() <= steps + kills);  // what was on its way when it died may come behind its next life's welcome
}
TEST_CASE("kill -9 of too many, and of a part of the server: an error that names it, and no hang") {
  {
    Place server(of<Sync3>, 3);
    stepping() = 0;
    Process one([&](int to) { take_part<Sync3>(to, {server.port}, "net", 0, 3, 100000, 100); });
    Process two([&](int to) { take_part<Sync3>(to, {server.port}, "net", 1, 3, 100000, 100); });
    Process three([&](int to) { take_part<Sync3>(to, {server.port}, "net", 2, 3, 100000, 100); });
    await_steps_of(3);
    two.end(SIGKILL);
    for (Process* p : {&one, &three}) {
      std::string const said = p->wait();
      INFO(said);
      CHECK(said.find("replica 1 has left and 2 replicas live, where an update needs 3") != said.npos);
    }
  }
  for (int k = 0; k < 20; ++k) {
    Place a(of<Wild>, 2, 0, 2), b(of<Wild>, 2, 1, 2);
    stepping() = 0;
    Process one([&](int to) { take_part<Wild>(to, {a.port, b.port}, "net", 0, 2, 100000, 50); });
    Process two([&](int to) { take_part<Wild>(to, {a.port, b.port}, "net", 1, 2, 100000, 50); });
    await_steps_of(2);
    std::this_thread::sleep_for(Milliseconds(k));
    b.end(SIGKILL);
    std::string const named = "127.0.0.1:" + std::to_string(b.port) + " has closed the connection";
    std::string const first = one.wait(), second = two.wait();
    CHECK(first == "2 " + named);
    CHECK(second == "2 " + named);
  }
}
TEST_CASE("a client that is stopped says so, and those that wait for it are stopped; those that do not, go on") {
  auto const stop_one = [&](auto* p, long steps_of_others) {
    using P = std::remove_pointer_t<decltype(p)>;
    Place server(p, 3);
    std::vector<std::unique_ptr<Process>> all;
    for (int r = 0; r < 3; ++r) {
      all.push_back(std::make_unique<Process>([&, r](int to) {
        Client<P> c({{"127.0.0.1", server.port}}, "net", r, 3, 1, patience);
        struct Stop {};
        long made = 0;
        try {
          c.train(
              0, r == 1 ? 100000 : steps_of_others, feed, rate,
              [&](long) {
                if (r == 1 && made == 5) throw Stop{};
              },
              [&](long, double) { ++made; });
          dprintf(to, "done");
        } catch (Stop const&) {
          c.leave(SIGTERM);
          pause();  // its connection stays open
        } catch (session::StoppedElsewhere const& e) {
          dprintf(to, "stopped, since %s", e.what());
        }
      }));
    }
    std::string const one = all[0]->wait(), three = all[2]->wait();
    CHECK(one == three);
    return one;
  };
  CHECK(stop_one(of<Sync3>, 100000) ==
        "0 stopped, since replica 1 was stopped by SIGTERM, and an update needs 3 replicas");
  CHECK(stop_one(of<Wild>, 300) == "0 done");
}
TEST_CASE("a replica that hangs is named by those that wait for it") {
  Place server(of<Sync3>, 3);
  stepping() = 0;
  auto const go = [&](int r) {
    return std::make_unique<Process>(
        [&, r](int to) { take_part<Sync3>(to, {server.port}, "net", r, 3, 100000, 100, Milliseconds(3000)); });
  };
  auto const one = go(0), two = go(1), three = go(2);
  await_steps_of(3);
  ::kill(two->id, SIGSTOP);
  for (Process* p : {one.get(), three.get()}) {
    std::string const said = p->wait();
    INFO(said);
    CHECK(said.find("no new weights from 127.0.0.1:" + std::to_string(server.port)) != said.npos);
    CHECK(said.find(" ms: replica 1 at 127.0.0.1:") != said.npos);
    CHECK(said.find("it hangs or is far too slow") != said.npos);
  }
}
TEST_CASE("a replica that never came is named too") {
  Place server(of<Sync3>, 3);
  auto const go = [&](int r) {
    return std::make_unique<Process>(
        [&, r](int to) { take_part<Sync3>(to, {server.port}, "net", r, 3, 10, 0, Milliseconds(1000)); });
  };
  auto const one = go(0), two = go(1);
  for (Process* p : {one.get(), two.get()}) CHECK(p->wait().find("replica 2 has not joined yet") != std::string::npos);
}
TEST_CASE_TEMPLATE("kill -9 of the server: it starts again from its file, and its clients go on and finish", P, Sync3,
                   Wild) {
  scratch::Folder const folder;
  auto server = std::make_unique<Place>(of<P>, 3, folder.path(), 0);
  int const port = server->port;
  stepping() = 0;
  std::vector<std::unique_ptr<Process>> all;
  for (int r = 0; r < 3; ++r) {
    all.push_back(std::make_unique<Process>(
        [&, r](int to) { take_part<P>(to, {port}, "net", r, 3, 1500, 1000, patience, patience); }));
  }
  await_steps_of(3);
  std::string const saved = folder.path() + "/net.server0.safetensors";
  auto const last = std::chrono::steady_clock::now() + patience;
  while (!io::exists(saved) && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(Milliseconds(1));
  server->end(SIGKILL);
  REQUIRE(io::exists(saved));
  server = std::make_unique<Place>(of<P>, 3, folder.path(), port);
  for (auto& p : all) CHECK(p->wait() == "0 done");
  if constexpr (P::agreed::waits) {
    Place other(of<P>, 3);  // nothing happens to this one
    all.clear();
    for (int r = 0; r < 3; ++r) {
      all.push_back(std::make_unique<Process>([&, r](int to) { take_part<P>(to, {other.port}, "net", r, 3, 1500); }));
    }
    for (auto& p : all) CHECK(p->wait() == "0 done");
    CHECK(weights<P>({port}, "net", 3) == weights<P>({other.port}, "net", 3));
  } else {
    CHECK(accuracy<P>(port, "net", 3) > 0.9);
  }
}
TEST_CASE("a server that does not come back: its clients try again for as long as they were told, and say so") {
  auto server = std::make_unique<Place>(of<Wild>, 1);
  stepping() = 0;
  Process one(
      [&](int to) { take_part<Wild>(to, {server->port}, "net", 0, 1, 100000, 100, patience, Milliseconds(300)); });
  await_steps_of(1);
  server->end(SIGKILL);
  std::string const said = one.wait();
  INFO(said);
  CHECK(said.find("has closed the connection, and did not come back: no connection to") != said.npos);
}
TEST_CASE("a server's file: back with every bit; damaged, another's, or not finite: an error, and the old one stays") {
  scratch::Folder const folder;
  auto const of_two = session::ServerOf{2, 0, 1};
  auto const& wild = session::service<Wild>;
  session::Replica start(wild, (wild.parts(2), 1), 0, 1);
  session::Container<session::formats_of<Wild>> c(wild, 2, start);
  auto const first = [&](session::Container<session::formats_of<Wild>>& of, auto visit) { of.server.look(0, visit); };
  first(c, [](auto& shard) { shard.set_version(7), shard.weights()[3] = 5, shard.moments()[4] = 6; });
  c.done = {11, 13};
  std::string const path = folder.path() + "/a.server0.safetensors";
  CHECK(session::save_container(wild, c, "a", of_two, path));
  CHECK(!session::save_container(wild, c, "a", of_two, path));  // nothing has changed
  auto const [name, back] = session::load_container(wild, path, of_two, start);
  CHECK(name == "a");
  CHECK(back->done == c.done);
  first(*back, [](auto& shard) {
    CHECK(shard.version() == 7);
    CHECK(shard.weights()[3] == 5);
    CHECK(shard.moments()[4] == 6);
  });
  auto const good = io::read_file(path);
  first(c, [](auto& shard) { shard.set_version(8), shard.weights()[0] = std::numeric_limits<float>::quiet_NaN(); });
  CHECK_THROWS_WITH_AS(session::save_container(wild, c, "a", of_two, path), doctest::Contains("that is not finite"),
                       Error);
  CHECK(io::read_file(path) == good);
  CHECK_THROWS_WITH_AS(session::load_container(wild, path, {3, 0, 1}, start), doctest::Contains("for 3 replicas"),
                       Error);
  auto bad = good;
  bad[bad.size() / 2] ^= 1;
  io::write_file(path, io::Bytes(bad));
  CHECK_THROWS_WITH_AS(session::load_container(wild, path, of_two, start), doctest::Contains("altered"), Error);
}
TEST_CASE("one run: a replica that is done does not begin again, and goes on where more is asked of it") {
  scratch::Folder const folder;
  auto const train_to = [&](long steps) {
    ParameterServer<Wild> server(0, 2, 1, 0, 1, patience);
    server.serve_one_run();
    for (std::string const& path : server.saved_in(folder.path())) CHECK(server.load(path) == "net");
    server.keep(folder.path(), Milliseconds(0));
    std::int64_t const before = server.updates("net");
    bool saved = false;
    std::thread serving([&] { saved = server.serve(Milliseconds(1)); });
    std::vector<long> made(2);
    for (int r = 0; r < 2; ++r) {  // the server waits for replica 1, though nobody is there for a while
      Client<Wild> c({{"127.0.0.1", server.port()}}, "net", r, 2, 1, patience);
      c.train(
          0, steps, feed, rate, [](long) {}, [&](long, double) { ++made[static_cast<std::size_t>(r)]; });
      if (r == 0) std::this_thread::sleep_for(Milliseconds(300));
    }
    serving.join();
    CHECK(saved);
    CHECK(server.updates("net") - before == 3 * (made[0] + made[1]));  // of three shards
    return made;
  };
  CHECK(train_to(100) == std::vector<long>{50, 50});
  CHECK(train_to(100) == std::vector<long>{0, 0});
  CHECK(train_to(60) == std::vector<long>{0, 0});
  CHECK(train_to(140) == std::vector<long>{20, 20});
  ParameterServer<Wild> other(0, 2, 2);
  std::string const saved = other.file_of("net", folder.path());
  CHECK(other.load(saved) == "net");  // each client has a seed of its own
  other.serve_one_run();
  CHECK_THROWS_WITH_AS(other.load(saved), doctest::Contains("saved by a run with --seed 1; this one has --seed 2"),
                       Error);
}
TEST_CASE("one run: where a replica diverges and is needed, what is saved stays; where others replace it, they go on") {
  auto const run = [&](auto* p, int replicas, long steps) {
    using P = std::remove_pointer_t<decltype(p)>;
    scratch::Folder const folder;
    ParameterServer<P> server(0, replicas, 1, 0, 1, patience);
    server.serve_one_run();
    server.keep(folder.path(), Milliseconds(0));
    bool served = false;
    std::thread serving([&] { served = server.serve(Milliseconds(1)); });
    std::vector<std::string> said(static_cast<std::size_t>(replicas));
    std::vector<std::thread> all;
    for (int r = 0; r < replicas; ++r) {
      all.emplace_back([&, r] {
        Client<P> c({{"127.0.0.1", server.port()}}, "net", r, replicas, 1, patience);
        try {
          c.train(
              0, steps, feed, rate,
              [&](long step) {
                if (r == 1 && step >= 5) throw Diverged("at step 5");
              },
              [](long, double) {});
        } catch (Diverged const&) {
          c.leave(backend::tcp::diverged);
        } catch (Error const& e) {
          said[static_cast<std::size_t>(r)] = e.what();
        }
      });
    }
    for (std::thread& t : all) t.join();
    serving.join();
    CHECK(served);
    return std::tuple{said[0], server.updates("net"), io::exists(server.file_of("net", folder.path()))};
  };
  auto const [why, updates, saved] = run(of<Sync3>, 3, 100000);
  CHECK(why.find("replica 1 has diverged, and an update needs 3 replicas; nothing more is saved") != why.npos);
  CHECK(updates == 5);
  CHECK(!saved);
  CHECK(run(of<Spare>, 6, 40) == std::tuple{std::string(), std::int64_t{40}, true});
}
TEST_CASE("a server has no more parts than shards") {
  CHECK_THROWS_WITH_AS(ParameterServer<Sync3>(0, 3, 1, 0, 2),
                       "a server of 2 parts for 1 shards; say Shards<2>, or fewer parts", Error);
}
TEST_CASE("kill -9 of workers, whose server is in two processes: the others go on, and they come back") {
  Place one(of<SpareCut>, 6, 0, 2), two(of<SpareCut>, 6, 1, 2);
  auto const go = [&](int r) {
    return std::make_unique<Process>([&, r](int to) {
      take_part<SpareCut>(to, {one.port, two.port}, "net", r, 6, 800, 300);
    });
  };
  std::vector<std::unique_ptr<Process>> all;
  for (int r = 0; r < 6; ++r) all.push_back(go(r));
  tensor::Random const draw{9, tensor::Purpose::Shuffle, 0};
  for (std::uint64_t k = 0; k < 12; ++k) {
    std::this_thread::sleep_for(Milliseconds(5 + draw.below(20, k)));
    auto const r = static_cast<std::size_t>(draw.below(2, k, 1));
    all[r]->end(SIGKILL);
    all[r] = go(static_cast<int>(r));
  }
  for (auto& q : all) CHECK(q->wait() == "0 done");
  Client<SpareCut> reader({{"127.0.0.1", one.port}, {"127.0.0.1", two.port}}, "net", -1, 6, 1, patience);
  CHECK(reader.accuracy(feed, 240) > 0.9);
}
TEST_CASE(
    "both parts of a server, stopped in any order or killed, go on from files of the same update, with its bits") {
  using P = Cut<2>;
  std::vector<float> whole;
  for (int how = 0; how < 3; ++how) {  // the first part ends first; the second; both are killed
    CAPTURE(how);
    scratch::Folder const folder;
    auto const file = [&](int part, bool previous) {
      return folder.path() + "/net.server" + std::to_string(part) + (previous ? ".previous" : "") + ".safetensors";
    };
    auto const update_of = [&](std::string const& path) {
      io::SafeTensors const saved = io::load_safetensors(path);
      std::int64_t v = 0;
      std::memcpy(&v, saved.find("versions")->bytes.data(), sizeof v);
      return v;
    };
    std::unique_ptr<Place> part[2];
    for (int i = 0; i < 2; ++i) part[i] = std::make_unique<Place>(of<P>, 3, folder.path(), "", 0, i, 2);
    std::vector<int> const ports{part[0]->port, part[1]->port};
    stepping() = 0;
    std::vector<std::unique_ptr<Process>> all;
    for (int r = 0; r < 3; ++r) {
      all.push_back(std::make_unique<Process>(
          [&, r](int to) { take_part<P>(to, ports, "net", r, 3, 1000, 1000, patience, patience); }));
    }
    await_steps_of(3);
    auto const last = std::chrono::steady_clock::now() + patience;
    while (!(io::exists(file(0, true)) && io::exists(file(1, true))) && std::chrono::steady_clock::now() < last)
      std::this_thread::sleep_for(Milliseconds(1));
    std::string from[2];
    if (how < 2) {
      for (int i : {how, 1 - how}) part[i]->end(SIGTERM);
      for (int i = 0; i < 2; ++i) from[i] = file(i, false);
    } else {
      for (int i = 0; i < 2; ++i) part[i]->end(SIGKILL);
      for (bool a : {false, true}) {
        for (bool b : {false, true}) {
          if (!from[0].empty() || !io::exists(file(0, a)) || !io::exists(file(1, b))) continue;
          if (update_of(file(0, a)) != update_of(file(1, b))) continue;
          from[0] = file(0, a), from[1] = file(1, b);
        }
      }
    }
    REQUIRE(!from[0].empty());
    for (int i = 0; i < 2; ++i) {
      part[i] = std::make_unique<Place>(of<P>, 3, folder.path(), from[i], ports[static_cast<std::size_t>(i)], i, 2);
    }
    for (auto& q : all) CHECK(q->wait() == "0 done");
    auto const those = weights<P>(ports, "net", 3);
    if (whole.empty()) {
      Place other(of<P>, 3);
      all.clear();
      for (int r = 0; r < 3; ++r) {
        all.push_back(std::make_unique<Process>([&, r](int to) { take_part<P>(to, {other.port}, "net", r, 3, 1000); }));
      }
      for (auto& q : all) CHECK(q->wait() == "0 done");
      whole = weights<P>({other.port}, "net", 3);
    }
    CHECK(those == whole);
  }
}
TEST_CASE("a part of a server that begins anew beside the others: an error that says so") {
  using P = Cut<2>;
  for (int anew : {0, 1}) {
    CAPTURE(anew);
    std::unique_ptr<Place> part[2];
    for (int i = 0; i < 2; ++i) part[i] = std::make_unique<Place>(of<P>, 1, i, 2);
    auto const train = [&](long steps) {
      std::vector<int> const ports{part[0]->port, part[1]->port};
      return Process([&](int to) { take_part<P>(to, ports, "net", 0, 1, steps, 0, Milliseconds(2000)); }).wait();
    };
    CHECK(train(20) == "0 done");
    part[anew] = std::make_unique<Place>(of<P>, 1, anew, 2);
    std::string const said = train(40);
    INFO(said);
    CHECK(said.find(anew == 1 ? ": it has update 0, and the first shard 20; a part of the server was started again"
                              : ": it has update 20, and the first shard 0; a part of the server was started again") !=
          said.npos);
  }
}
TEST_CASE("one part of a server is stopped and started again: its clients come back to it, and to the other") {
  using P = Cut<2>;
  scratch::Folder const folder;
  Place first(of<P>, 3, 0, 2);
  auto second = std::make_unique<Place>(of<P>, 3, folder.path(), "", 0, 1, 2);
  std::vector<int> const ports{first.port, second->port};
  stepping() = 0;
  std::vector<std::unique_ptr<Process>> all;
  for (int r = 0; r < 3; ++r) {
    all.push_back(std::make_unique<Process>(
        [&, r](int to) { take_part<P>(to, ports, "net", r, 3, 600, 1000, patience, patience); }));
  }
  await_steps_of(3);
  second->end(SIGTERM);
  std::this_thread::sleep_for(Milliseconds(300));
  second = std::make_unique<Place>(of<P>, 3, folder.path(), folder.path() + "/net.server1.safetensors", ports[1], 1, 2);
  for (auto& q : all) CHECK(q->wait() == "0 done");
  Place other(of<P>, 3);
  all.clear();
  for (int r = 0; r < 3; ++r) {
    all.push_back(std::make_unique<Process>([&, r](int to) { take_part<P>(to, {other.port}, "net", r, 3, 600); }));
  }
  for (auto& q : all) CHECK(q->wait() == "0 done");
  CHECK(weights<P>(ports, "net", 3) == weights<P>({other.port}, "net", 3));
}
TEST_CASE("another plan, another number of replicas, another protocol: refused before any data") {
  Place server(of<Wild>, 2);
  auto const fresh = weights<Wild>({server.port}, "net", 2);
  std::vector<backend::tcp::Address> const at{{"127.0.0.1", server.port}};
  CHECK_THROWS_WITH_AS(Client<Half>(at, "net", 0, 2), doctest::Contains("the server runs another plan"), Error);
  CHECK_THROWS_WITH_AS(Client<Wild>(at, "net", 0, 3), doctest::Contains("another number of replicas (2)"), Error);
  CHECK_THROWS_WITH_AS(Client<Wild>(at, "net", 2, 2), doctest::Contains("replicas are counted from 0"), Error);
  auto const stranger = backend::tcp::Socket::connect(at[0], Milliseconds(1000));
  std::string const hello = "GET / HTTP/1.1\r\nHost: somewhere\r\n" + std::string(100, ' ');
  stranger.send(hello.data(), hello.size(), Milliseconds(1000));
  char c;
  CHECK_THROWS_AS(stranger.receive(&c, 1, Milliseconds(5000)), backend::tcp::Closed);
  CHECK(weights<Wild>({server.port}, "net", 2) == fresh);
  CHECK(Process([&](int to) { take_part<Wild>(to, {server.port}, "net", 0, 2, 50); }).wait() == "0 done");
  CHECK(weights<Wild>({server.port}, "net", 2) != fresh);
}
