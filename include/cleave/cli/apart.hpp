// cli/apart.hpp - the command line of replicas and servers as processes: --serve here, --join there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include "../backend/mpi/process.hpp"
#include "../io/arguments.hpp"
#include "../parameter_server/meeting.hpp"
#include "../parameter_server/parameter_server.hpp"
#include "../train/launch.hpp"
#include "../train/stop.hpp"
#include "checkpoint_files.hpp"
#include "save_every.hpp"

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
  if (!resume.empty() && resume != "auto") {
    server.load(resume);
    return;
  }
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
    throw Error({"--part ", *a.part, " of ", *a.parts, ": parts are counted from 0"});
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
               serving<P>.shards(), replicas, backend::tcp::Address{door.listen, server.port()}.text().c_str(),
               door.token.empty() ? ", for this machine only" : ", with a token");
  std::fflush(say);
  StopSignals const signals;
  bool const saved = server.serve(std::chrono::seconds(*a.linger), [] { return StopSignals::received() != 0; });
  if (!saved) throw Error("what the server held could not all be saved");
  if (StopSignals::received() == 0) return 0;
  std::fprintf(say, "stopped by %s; --resume auto goes on\n", StopSignals::name_of(StopSignals::received()).c_str());
  return ExitCode::stopped;
}

/// The server of a run whose clients a launcher has started: a thread of rank 0, and the address for all. Where no
/// launcher has started them, it holds nothing.
template <class P> class Host {
 public:
  ~Host() { end(); }
  /// Made by all processes. Rank 0 goes on with what the server of an earlier run has saved in `out`, or in a file, as
  /// `resume` says. Throws Error where that cannot be.
  void start(Apart& a, Launch const& launch, backend::mpi::Process const& process, int replicas, std::uint64_t seed,
             std::FILE* say, std::string const& out, std::string const& resume) {
    Meeting meeting(launch, process, a.door);
    if (launch.rank == 0) {
      Door door = meeting.door();
      door.say = say;
      server_ = std::make_unique<ParameterServer<P>>(meeting.port(), replicas, seed, 0, 1, std::chrono::seconds(60),
                                                     std::move(door));
      server_->serve_one_run();
      server_->hold(true);
      container_ = *a.container;
      load(say, out, resume);
      server_->keep(out, std::chrono::milliseconds(0));  // replica 0 says when
      by_mpi_ = process.size() > 1;
      thread_ = backend::host::start_thread([this] {
        // Without MPI nobody says when the others are done: they are when all connections have ended.
        saved_ = server_->serve(std::chrono::milliseconds(by_mpi_ ? 0 : 1000), [this] { return stops(); });
      });
    }
    a.given_join = meeting.tell(server_ ? server_->port() : 0);
    a.given_token = meeting.token();
    a.given_replica = launch.rank;
    a.join = &a.given_join;
    a.replica = &a.given_replica;
    a.reconnect = &a.none;  // this server ends with the run
  }
  /// Saves what the server holds. False if a file cannot be written; that is reported, and tried again.
  bool save() { return !server_ || server_->save(); }
  /// The training of this process has diverged: the server's file stays as it is.
  void diverged() {
    if (server_) server_->save_no_more();
  }
  /// Without MPI, waits until no other replica trains, or 60 seconds without one; calls `meanwhile` again and again.
  /// False if a signal came first.
  template <class F> bool wait_for_others(F meanwhile) {
    auto last = std::chrono::steady_clock::now();
    while (server_ && !by_mpi_ && server_->trains()) {
      if (StopSignals::received() != 0) return false;
      auto const now = std::chrono::steady_clock::now();
      if (server_->replicas() > 0) last = now;
      if (now - last > std::chrono::seconds(60)) break;  // one has not come
      meanwhile();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  /// Has there been an update since the run has begun, or was resumed? Where the server is another process: true.
  bool changed() { return !server_ || server_->updates(container_) != loaded_; }
  /// Waits for the other processes. Returns `code`, this process's own, or that of a stopped run where a signal has
  /// ended the server before the others were done. Throws Error where what the server held could not be saved.
  int finish(int code) {
    end();
    if (!saved_) throw Error("what the server held could not be saved");
    if (!cut_off_ || code != 0) return code;
    std::fprintf(stderr, "the server was stopped by %s before all replicas were done; go on with --resume auto\n",
                 signal().c_str());
    return ExitCode::stopped;
  }

 private:
  static std::string signal() { return StopSignals::name_of(StopSignals::received()); }
  void load(std::FILE* say, std::string const& out, std::string const& resume) {
    std::string const own = server_->file_of(container_, out), last = CheckpointFiles(out).last;
    if (resume.empty()) {
      if (!io::exists(own)) return;
      std::fprintf(say, "%s is of an earlier run; this one replaces it (--resume auto would go on with it)\n",
                   own.c_str());
    } else if (resume != "auto" || io::exists(own)) {
      std::string const& from = resume == "auto" ? own : resume;
      std::string const name = server_->load(from);
      if (name != container_) throw Error({from, ": holds container ", name, "; say --container ", name});
      loaded_ = server_->updates(container_);
    } else if (io::exists(last)) {
      throw Error({"--resume auto: ", out, " has ", last, ", but not ", own,
                   ", which a server of several processes goes on from; say another --out, or leave --resume out"});
    } else {
      std::fprintf(say, "--resume auto: no %s, a fresh start\n", own.c_str());
    }
  }
  /// Asked by the server's thread.
  bool stops() {
    if (!leaves_ || StopSignals::received() == 0) return false;
    cut_off_ = server_->trains();
    if (cut_off_) server_->stop_replicas("rank 0, which holds the server, was stopped by " + signal());
    return true;
  }
  void end() {
    if (server_) server_->hold(false);
    if (server_ && (by_mpi_ || std::uncaught_exceptions() > 0)) server_->stop();
    leaves_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::unique_ptr<ParameterServer<P>> server_;
  std::string container_;
  std::int64_t loaded_ = 0;  // updates
  std::thread thread_;
  bool by_mpi_ = false, saved_ = true, cut_off_ = false;  // the last two are the thread's, until it has ended
  std::atomic<bool> leaves_{false};                       // this process has done its own part
};

}  // namespace cleave::session
