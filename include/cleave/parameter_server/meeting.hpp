// parameter_server/meeting.hpp - how processes of one launcher meet: where rank 0 listens, and the token that all of them have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/mpi/process.hpp"
#include "../io/arguments.hpp"
#include "../train/launch.hpp"
#include "door.hpp"

namespace cleave::session {

/// What the command line says of the door.
struct DoorOptions {
  std::string nothing;
  std::string const *listen = &nothing, *token_file = &nothing;

  void offer(io::Options& o) {
    listen = &o.text("listen", "", "address to listen on; else this machine only, or where a launcher says rank 0 is");
    token_file = &o.text("token-file", "", "file with the token of server and clients; else CLEAVE_TOKEN");
  }
  std::string token() const { return backend::tcp::token_of(*token_file, std::getenv("CLEAVE_TOKEN")); }
};

inline void says_where(Launch const& launch, backend::mpi::Process const& process) {
  if (process.size() > 1 || !launch.host.empty()) return;
  throw Error(
      {launch.by, " has started ", launch.size,
       " processes and does not say where rank 0 is; set MASTER_ADDR and MASTER_PORT, or build with cleave::mpi"});
}

/// Made by every process. Under MPI rank 0 draws the token and tells the others; else it comes by the environment or a
/// file, and is needed only where the processes are on several machines.
class Meeting {
 public:
  Meeting(Launch const& launch, backend::mpi::Process const& process, DoorOptions const& said)
      : process_(process), mpi_(process.size() > 1), port_(mpi_ ? 0 : launch.port) {
    says_where(launch, process);
    door_.token = said.token();
    if (mpi_ && door_.token.empty() && launch.rank == 0) door_.token = backend::tcp::random_token();
    bool const here = launch.one_host || is_literally_loopback(launch.host);
    host_ = mpi_ ? name_of_machine() : here ? "127.0.0.1" : launch.host;
    door_.listen = !said.listen->empty() ? *said.listen : mpi_ ? "*" : host_;
    if (!mpi_ && !here && door_.token.empty()) {
      throw Error({launch.by, " has started processes on several machines, with rank 0 on ", host_,
                   ": they need a token; set CLEAVE_TOKEN for all of them, or say --token-file FILE (openssl rand -hex "
                   "16 makes one)"});
    }
    // Rank 0 may know itself by another name, or by one that only it can reach.
    if (launch.rank == 0 && !mpi_ && !here && said.listen->empty() && !is_address_here(host_)) door_.listen = "*";
  }

  Door const& door() const { return door_; }
  int port() const { return port_; }
  /// Where rank 0 listens, told to all ranks; under MPI, with the token.
  std::string tell(int port_of_first) {
    if (!mpi_) return backend::tcp::Address{host_, port_}.text();
    std::string const both = process_.from_first(host_ + ":" + std::to_string(port_of_first) + " " + door_.token);
    std::size_t const space = both.find(' ');
    door_.token = both.substr(space + 1);
    return both.substr(0, space);
  }
  std::string const& token() const { return door_.token; }

 private:
  static bool is_literally_loopback(std::string const& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
  }
  static bool is_address_here(std::string const& host) {
    if (backend::tcp::is_loopback(host)) return false;
    try {
      backend::tcp::Socket::listen_on(0, host);
      return true;
    } catch (Error const&) {
      return false;
    }
  }
  static std::string name_of_machine() {
    char name[256] = "127.0.0.1";
    if (::gethostname(name, sizeof name - 1) != 0 || !backend::tcp::known(name)) return "127.0.0.1";
    return name;
  }

  backend::mpi::Process const& process_;
  bool mpi_;
  int port_;
  std::string host_;
  Door door_;
};

}  // namespace cleave::session
