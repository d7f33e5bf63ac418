// parameter_server/meeting.cpp - where rank 0 of a launcher's run listens, and which of these runs need a token.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/parameter_server/meeting.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace cleave;
using session::DoorOptions;
using session::Launch;
using session::Meeting;

namespace {

using Environment = std::map<std::string, std::string>;
backend::mpi::Process const alone(false);

Launch launch(Environment const& environment) {
  return session::launched([&](char const* name) -> char const* {
    auto const at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
}
Environment torchrun(std::string const& address, std::string const& local) {
  return {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", local}, {"MASTER_ADDR", address}};
}
Environment slurm(std::string const& nodes) {
  return {{"SLURM_STEP_ID", "0"},          {"SLURM_PROCID", "1"},
          {"SLURM_NTASKS", "4"},           {"SLURM_STEP_NODELIST", "gpu[1-2]"},
          {"SLURM_STEP_NUM_NODES", nodes}, {"SLURM_JOB_ID", "7"}};
}
/// With a token where one is said, whatever this process has in its environment.
struct Said {
  std::string listen, token_file;
  DoorOptions options{{}, &listen, &token_file};
  explicit Said(char const* token) { token ? ::setenv("CLEAVE_TOKEN", token, 1) : ::unsetenv("CLEAVE_TOKEN"); }
  ~Said() { ::unsetenv("CLEAVE_TOKEN"); }
};
constexpr char const* token = "0123456789abcdef";

}  // namespace

TEST_CASE("processes of one machine meet on loopback, and need no token") {
  Said const said(nullptr);
  for (Environment const& e :
       {torchrun("node7", "4"), torchrun("127.0.0.1", "2"), torchrun("localhost", "1"), slurm("1")}) {
    Meeting m(launch(e), alone, said.options);
    CHECK(m.door().listen == "127.0.0.1");
    CHECK(m.door().token.empty());
    CHECK(m.tell(0).starts_with("127.0.0.1:"));
  }
}
TEST_CASE("those of several need a token, each of them") {
  {
    Said const said(nullptr);
    CHECK_THROWS_WITH_AS(Meeting(launch(torchrun("node7", "2")), alone, said.options),
                         doctest::Contains("on several machines, with rank 0 on node7: they need a token"), Error);
    CHECK_THROWS_WITH_AS(Meeting(launch(slurm("2")), alone, said.options), doctest::Contains("with rank 0 on gpu1"),
                         Error);
  }
  Said said(token);
  Meeting other(launch(slurm("2")), alone, said.options);
  CHECK(other.token() == token);
  CHECK(other.tell(0) == "gpu1:61447");
  Meeting first(launch(torchrun("node7", "2")), alone, said.options);  // a name that is not this machine's
  CHECK(first.door().listen == "*");
  CHECK(first.tell(0) == "node7:29501");
  said.listen = "192.0.2.1";
  CHECK(Meeting(launch(torchrun("node7", "2")), alone, said.options).door().listen == "192.0.2.1");
}
TEST_CASE("a launcher that does not say where rank 0 is") {
  Said const said(token);
  CHECK_THROWS_WITH_AS(
      Meeting(launch({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), alone, said.options),
      doctest::Contains("a launcher that sets RANK and WORLD_SIZE has started 2 processes and does not "
                        "say where rank 0 is"),
      Error);
}
