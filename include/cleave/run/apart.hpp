// run/apart.hpp - the command line of replicas and servers as processes: --serve here, --join there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>

#include "../backend/mpi/process.hpp"
#include "../io/arguments.hpp"
#include "checkpoint_files.hpp"
#include "client.hpp"
#include "data.hpp"
#include "launch.hpp"
#include "meeting.hpp"
#include "parameter_server.hpp"
#include "save_every.hpp"
#include "stop.hpp"
#include "trace.hpp"

namespace cleave::session {

//   ./train --serve 29500 --ranks 4                                       # the server, for 4 replicas
//   ./train --join host:29500 --container a --replica 0 --ranks 4         # each client, on any machine
//   ./train --join host:29500 --container a --ranks 4 --epochs 1          # without a number: reads, and saves
//   CLEAVE_TOKEN=... ./train --serve 29500 --listen 10.0.0.1 ...          # for clients on other machines
//   ./train --serve 29500 --resume auto ...                               # goes on with what it has saved
struct Apart {
  int none = 0, given_replica = -1;
  std::string given_join, given_token;
  int const *serve = &none, *part = &none, *parts = &none, *linger = &none, *replica = &none, *reconnect = &none;
  std::string nothing;
  std::string const *join = &nothing, *container = &nothing;
  DoorOptions door;

  void offer(io::Options& o) {
    serve = &o.number("serve", 0, 0, 65535, "be the parameter server, on this port");
    part = &o.number("part", 0, 0, 4095, "which part of the server this process is, from 0");
    parts = &o.number("parts", 1, 1, 4096, "of how many; shards are dealt out among them");
    linger = &o.number("linger", 0, 0, 1000000, "seconds after which a server without clients ends; 0: never");
    join = &o.text("join", "", "host:port of the server, of each of its parts, with commas between");
    container = &o.text("container", "cleave", "name under which clients share weights");
    reconnect =
        &o.number("reconnect", 60, 0, 1000000, "seconds for which a client that has lost its server tries again");
    door.offer(o);
    replica = &o.number("replica", -1, -1, 63, "which replica this client is, from 0; -1 only reads and saves");
  }
  bool serves() const { return *serve > 0; }
  bool joins() const { return !join->empty(); }
  std::string token() const { return given_token.empty() ? door.token() : given_token; }
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

/// Loads what a server goes on with: a file, or with "auto" all that a server of this part has saved in the folder.
template <class P>
void load_saved(ParameterServer<P>& server, std::FILE* say, std::string const& resume, std::string const& folder) {
  if (!resume.empty() && resume != "auto") return server.load(resume);
  for (std::string const& path : server.saved_in(folder)) {
    if (resume == "auto") {
      server.load(path);
    } else {
      std::fprintf(say, "%s is of an earlier server and will be replaced; --resume auto goes on with it\n",
                   path.c_str());
    }
  }
}

template <class P>
int serve(std::FILE* say, Apart const& a, int replicas, std::uint64_t seed, std::string const& out,
          std::string const& resume, SaveEvery const& every) {
  if (*a.part >= *a.parts) {
    throw Error("--part " + std::to_string(*a.part) + " of " + std::to_string(*a.parts) + ": parts are counted from 0");
  }
  Door door;
  door.token = a.door.token();
  door.say = say;
  if (!a.door.listen->empty()) door.listen = *a.door.listen;
  ParameterServer<P> server(*a.serve, replicas, seed, *a.part, *a.parts, std::chrono::seconds(60), door);
  load_saved(server, say, resume, out);
  if (!every.never() && every.minutes == 0)
    throw Error("--save-every of a server counts minutes: say such as 10min, or never");
  server.keep(out, std::chrono::minutes(every.minutes));
  std::fprintf(say, "serving part %d of %d of %d shards for %d replicas on %s%s\n", *a.part, *a.parts,
               Server<P>::shards, replicas, backend::tcp::Address{door.listen, server.port()}.text().c_str(),
               door.token.empty() ? ", for this machine only" : ", with a token");
  std::fflush(say);
  StopSignals const signals;
  bool const saved = server.serve(std::chrono::seconds(*a.linger), [] { return StopSignals::received() != 0; });
  if (!saved) throw Error("what the server held could not all be saved");
  if (StopSignals::received() == 0) return 0;
  std::fprintf(say, "stopped by %s; --resume auto goes on\n", StopSignals::name_of(StopSignals::received()).c_str());
  return ExitCode::stopped;
}

/// The server of a run whose clients a launcher has started: a thread of rank 0, and the address for all.
template <class P> class Host {
 public:
  ~Host() {
    if (server_ && (by_mpi_ || std::uncaught_exceptions() > 0)) server_->stop();
    leaves_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void start(Apart& a, Launch const& launch, backend::mpi::Process const& process, int replicas, std::uint64_t seed,
             std::FILE* say) {
    Meeting meeting(launch, process, a.door);
    if (launch.rank == 0) {
      Door door = meeting.door();
      door.say = say;
      server_ = std::make_unique<ParameterServer<P>>(meeting.port(), replicas, seed, 0, 1, std::chrono::seconds(60),
                                                     std::move(door));
      by_mpi_ = process.size() > 1;
      thread_ = backend::host::start_thread([this] {
        // Without MPI nobody says when the others are done: they are when all connections have ended.
        server_->serve(std::chrono::milliseconds(by_mpi_ ? 0 : 1000),
                       [this] { return leaves_ && StopSignals::received() != 0; });
      });
    }
    a.given_join = meeting.tell(server_ ? server_->port() : 0);
    a.given_token = meeting.token();
    a.given_replica = launch.rank;
    a.join = &a.given_join;
    a.replica = &a.given_replica;
    a.reconnect = &a.none;  // this server ends with the run
  }

 private:
  std::unique_ptr<ParameterServer<P>> server_;
  std::thread thread_;
  bool by_mpi_ = false;
  std::atomic<bool> leaves_{false};  // this process has done its own part
};

/// A client, whose `Ranks` compute. Replica 0 saves what the server holds, now and then and when it is stopped; at the
/// end so does every client, but for those of a launcher, where rank 0 does. `any_of_all(bool)` waits for all processes
/// of a launcher that can be waited for, and tells whether it is true of one.
template <class P, class Data, class Ranks, class Set, class Any>
int join(std::FILE* say, Apart const& a, int replicas, std::uint64_t seed, int epochs, Sets<Set> const& sets,
         Tracing const& tracing, std::string const& out, SaveEvery const& every, bool json, Any any_of_all) {
  auto const addresses = a.addresses();
  auto const& [training, held_out, preprocessing] = sets;
  Batches batches(training, preprocessing.scaling, P::batch, seed, true, variation_of<Data>()),
      test(held_out, preprocessing.scaling, P::batch, seed, false);
  long const last = batches.steps_per_epoch() * epochs;
  backend::tcp::Milliseconds const deadline = std::chrono::seconds(60);
  std::string const token = a.token();
  auto const lost = [&](std::string const& what) {
    std::fprintf(say, "replica %d: %s\n", *a.replica, what.c_str());
    std::fflush(say);
  };
  CheckpointFiles files(out);
  files.preprocessing = &preprocessing;
  bool const saves = *a.replica <= 0 || a.given_join.empty();
  if (saves) files.check(checkpoint_bytes<P>());  // before others count on this replica
  Client<P, Ranks> client(addresses, *a.container, *a.replica, replicas, seed, deadline, token);
  client.reconnect(std::chrono::seconds(*a.reconnect), lost);
  if (*a.replica >= 0 && tracing) client.trace(tracing.steps);
  auto const save_held = [&] {
    Client<P> reader(addresses, *a.container, -1, replicas, seed, deadline, token);
    reader.reconnect(std::chrono::seconds(*a.reconnect), lost);
    files.save(reader, seed, true);
    return reader.steps();
  };
  double loss = 0;
  long own = 0;
  auto const begin = std::chrono::steady_clock::now();
  struct Stopped {};
  client.while_waiting = [] {
    if (StopSignals::received() != 0) throw Stopped{};
  };
  bool stopped = false;
  auto const save_stopped = [&] {
    int const signal = StopSignals::received();
    std::string const by = signal != 0 ? StopSignals::name_of(signal) : "a signal to another process";
    auto const save_and_tell = [&] {
      long const at = save_held();
      std::fprintf(stderr, "replica %d: stopped by %s; saved %s, step %ld\n", *a.replica, by.c_str(),
                   files.last.c_str(), at);
    };
    if (!a.given_join.empty() && saves) save_and_tell();
    // A server that was started by hand saves what it holds when it is stopped, maybe before this client.
    if (a.given_join.empty()) wrote("replica " + std::to_string(*a.replica) + ": not saved here", save_and_tell);
  };
  if (*a.replica >= 0) {
    long epoch = -1, seen = 0;
    auto saved = begin;
    auto const due = [&](long step) {
      auto const passed = [&](long each) { return each > 0 && step / each != seen / each; };
      std::chrono::duration<double> const since = std::chrono::steady_clock::now() - saved;
      bool const now =
          passed(every.steps) || passed(every.epochs * batches.steps_per_epoch()) || every.after(since.count());
      seen = step;
      return now;
    };
    try {
      client.train(
          0, last, batches.feed(), P::rate.over(last),
          [&](long step) {
            if (StopSignals::received() != 0) throw Stopped{};
            if (*a.replica == 0 && due(step)) {
              wrote("replica 0", save_held);
              saved = std::chrono::steady_clock::now();
            }
            if (step / batches.steps_per_epoch() != epoch) batches.shuffle(epoch = step / batches.steps_per_epoch());
          },
          [&](long step, double l) {
            loss = l;
            if (++own % 100 == 0) {
              std::fprintf(say, "replica %d: step %ld/%ld  loss %.4f\n", *a.replica, step, last, l);
              std::fflush(say);
            }
          });
    } catch (Stopped const&) {
      stopped = true;
    } catch (Diverged const&) {
      throw;
    } catch (Error const&) {  // another replica was stopped first
      if (StopSignals::received() == 0) throw;
      stopped = true;
    }
    if (stopped) save_stopped();
  }
  // Made by all processes, whether they were stopped or are done.
  bool const any = any_of_all(stopped);
  if (any && !stopped && !a.given_join.empty()) save_stopped();
  if (any) return ExitCode::stopped;
  if (*a.replica >= 0) {
    std::fprintf(say, "replica %d has done its part: %ld gradients\n", *a.replica, own);
    if (tracing) tracing.write<P>(say, client.timelines());
  }
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Client<P> reader(addresses, *a.container, -1, replicas, seed, deadline, token);
  reader.reconnect(std::chrono::seconds(*a.reconnect), lost);
  reader.ends_at(last);
  auto const score = reader.score(test.feed(), held_out.count);
  std::fprintf(say, "held-out %s of %d %s; %.1f s\n", text_of(score).c_str(), held_out.count, plural_of<Set>, seconds);
  if (saves) {
    save(reader, written_through(files.last), seed, true, &preprocessing);
    std::fprintf(say, "wrote %s\n", files.last.c_str());
  }
  any_of_all(false);  // the server of rank 0 ends after all
  if (json && *a.replica <= 0) {
    io::JsonLine line;
    std::printf("%s\n", add_score(line, score)
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
