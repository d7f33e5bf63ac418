// run/apart.hpp - the command line of replicas and servers as processes: --serve here, --join there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>

#include "../backend/mpi/process.hpp"
#include "../io/arguments.hpp"
#include "client.hpp"
#include "data.hpp"
#include "launch.hpp"
#include "parameter_server.hpp"
#include "trace.hpp"

namespace cleave::session {

//   ./train --serve 29500 --ranks 4                                       # the server, for 4 replicas
//   ./train --join host:29500 --container a --replica 0 --ranks 4         # each client, on any machine
//   ./train --join host:29500 --container a --ranks 4 --epochs 1          # without a number: reads, and saves
struct Apart {
  int none = 0, given_replica = -1;
  std::string given_join;
  int const *serve = &none, *part = &none, *parts = &none, *linger = &none, *replica = &none;
  std::string nothing;
  std::string const *join = &nothing, *container = &nothing;

  void offer(io::Options& o) {
    serve = &o.number("serve", 0, 0, 65535, "be the parameter server, on this port");
    part = &o.number("part", 0, 0, 4095, "which part of the server this process is, from 0");
    parts = &o.number("parts", 1, 1, 4096, "of how many; shards are dealt out among them");
    linger = &o.number("linger", 0, 0, 1000000, "seconds after which a server without clients ends; 0: never");
    join = &o.text("join", "", "host:port of the server, of each of its parts, with commas between");
    container = &o.text("container", "cleave", "name under which clients share weights");
    replica = &o.number("replica", -1, -1, 63, "which replica this client is, from 0; -1 only reads and saves");
  }
  bool serves() const { return *serve > 0; }
  bool joins() const { return !join->empty(); }
  std::vector<backend::tcp::Address> addresses() const {
    std::vector<backend::tcp::Address> all;
    for (std::size_t at = 0; at <= join->size();) {
      std::size_t const comma = std::min(join->find(',', at), join->size());
      all.push_back(backend::tcp::Address::of(join->substr(at, comma - at)));
      at = comma + 1;
    }
    return all;
  }
};

template <class P> int serve(std::FILE* say, Apart const& a, int replicas, std::uint64_t seed) {
  if (*a.part >= *a.parts) {
    throw Error("--part " + std::to_string(*a.part) + " of " + std::to_string(*a.parts) + ": parts are counted from 0");
  }
  ParameterServer<P> server(*a.serve, replicas, seed, *a.part, *a.parts);
  std::fprintf(say, "serving part %d of %d of %d shards for %d replicas on port %d\n", *a.part, *a.parts,
               Server<P>::shards, replicas, server.port());
  std::fflush(say);
  server.serve(std::chrono::seconds(*a.linger));
  return 0;
}

/// Where rank 0 listens, told to all ranks.
inline std::string meeting_point(Launch const& launch, backend::mpi::Process const& process, int port_of_first) {
  if (process.size() == 1) return launch.host + ":" + std::to_string(launch.port);
  char name[256] = "127.0.0.1";
  if (::gethostname(name, sizeof name - 1) != 0 || !backend::tcp::known(name)) std::strcpy(name, "127.0.0.1");
  return process.from_first(std::string(name) + ":" + std::to_string(port_of_first));
}
inline void says_where(Launch const& launch, backend::mpi::Process const& process) {
  if (process.size() > 1 || !launch.host.empty()) return;
  throw Error(launch.by + " has started " + std::to_string(launch.size) +
              " processes and says not where rank 0 is; set MASTER_ADDR and MASTER_PORT, or build with cleave::mpi");
}

/// The server of a run whose clients a launcher has started: a thread of rank 0, and the address for all.
template <class P> class Host {
 public:
  ~Host() {
    if (server_) server_->stop();
    if (thread_.joinable()) thread_.join();
  }
  void start(Apart& a, Launch const& launch, backend::mpi::Process const& process, int replicas, std::uint64_t seed) {
    says_where(launch, process);
    if (launch.rank == 0) {
      server_ = std::make_unique<ParameterServer<P>>(process.size() > 1 ? 0 : launch.port, replicas, seed);
      thread_ = std::thread([this, &process] {
        // Without MPI nobody says when the others are done: they are when all connections have ended.
        server_->serve(std::chrono::milliseconds(process.size() > 1 ? 0 : 1000));
      });
    }
    a.given_join = meeting_point(launch, process, server_ ? server_->port() : 0);
    a.given_replica = launch.rank;
    a.join = &a.given_join;
    a.replica = &a.given_replica;
  }

 private:
  std::unique_ptr<ParameterServer<P>> server_;
  std::thread thread_;
};

/// A client, whose `Ranks` compute.
template <class P, class Data, class Ranks, class Wait>
int join(std::FILE* say, Apart const& a, int replicas, std::uint64_t seed, int epochs, io::Images const& training,
         io::Images const& held_out, Tracing const& tracing, std::string const& out, bool json, Wait wait_for_all) {
  Scaling const scaling = Scaling::of(training);
  Batches batches(training, scaling, P::batch, seed, true, Data::variation),
      test(held_out, scaling, P::batch, seed, false);
  long const last = batches.steps_per_epoch() * epochs;
  Client<P, Ranks> client(a.addresses(), *a.container, *a.replica, replicas, seed);
  if (*a.replica >= 0 && tracing) client.trace(tracing.steps);
  double loss = 0;
  auto const begin = std::chrono::steady_clock::now();
  if (*a.replica >= 0) {
    long epoch = -1, own = 0;
    client.train(
        0, last, batches.feed(), P::rate.over(last),
        [&](long step) {
          if (step / batches.steps_per_epoch() != epoch) batches.shuffle(epoch = step / batches.steps_per_epoch());
        },
        [&](long step, double l) {
          loss = l;
          if (++own % 100 == 0) {
            std::fprintf(say, "replica %d: step %ld/%ld  loss %.4f\n", *a.replica, step, last, l);
            std::fflush(say);
          }
        });
    std::fprintf(say, "replica %d has done its part: %ld gradients\n", *a.replica, own);
    if (tracing) tracing.write<P>(say, client.timelines());
  }
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  wait_for_all();
  Client<P> reader(a.addresses(), *a.container, -1, replicas, seed);
  double const accuracy = reader.accuracy(test.feed(), held_out.count);
  std::fprintf(say, "held-out accuracy %.2f %% of %d images; %.1f s\n", 100 * accuracy, held_out.count, seconds);
  if (*a.replica <= 0) {
    io::make_folder(out);
    save(reader, out + "/checkpoint.safetensors", seed);
    std::fprintf(say, "wrote %s\n", (out + "/checkpoint.safetensors").c_str());
  }
  wait_for_all();
  if (json && *a.replica <= 0) {
    std::printf("%s\n", io::JsonLine()
                            .add("accuracy", accuracy)
                            .add("loss", loss)
                            .add("seconds", seconds)
                            .add("replica", long{*a.replica})
                            .add("elements_sent", client.sent())
                            .add("steps", reader.steps())
                            .text()
                            .c_str());
  }
  return 0;
}

}  // namespace cleave::session
