// compiled.hpp - with cleave::compiled, what is the same for every plan is compiled once: here it is declared.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A program links cleave::compiled, which says CLEAVE_COMPILED to its sources; the one source of that library says
// CLEAVE_COMPILING too. Without it everything is compiled where it is used. By the same options the code is the same.
#ifdef CLEAVE_COMPILED

#include "cli/command.hpp"
#include "cli/run.hpp"
#include "lower/host.hpp"
#include "parameter_server/client.hpp"
#include "parameter_server/parameter_server.hpp"
#include "parameter_server/served.hpp"
#include "report/words.hpp"

#ifdef CLEAVE_COMPILING
#define CLEAVE_ONCE
#else
#define CLEAVE_ONCE extern
#endif

namespace cleave {

// A function that depends on no type has a parameter `class = void`, so that it can be declared so.
namespace schedule {
CLEAVE_ONCE template RuntimeLayout runtime_layout<void>(Program const&, place::Request, Ranks, int);
CLEAVE_ONCE template std::string listing<void>(Program const&, place::Request const&, Ranks);
CLEAVE_ONCE template std::string summary<void>(Program const&, place::Request const&, Ranks);
}  // namespace schedule

namespace io {
CLEAVE_ONCE template Images read_mnist<void>(std::string const&, Split, int);
CLEAVE_ONCE template Images read_cifar<void>(std::string const&, Split, int);
CLEAVE_ONCE template Images draw_standin<void>(int, std::uint64_t);
CLEAVE_ONCE template void SafeTensors::read<void>(Checksum);
}  // namespace io

namespace session {
CLEAVE_ONCE template Launch launched<void>();
CLEAVE_ONCE template bool read_command<void>(int, char**, CommandDefaults const&, Apart*, Command&);
CLEAVE_ONCE template void check_launch<void>(std::FILE*, Command const&, Launch const&, int, int, bool);
CLEAVE_ONCE template void print_plan<void>(std::FILE*, Description const&, schedule::Ranks, std::string_view,
                                           std::string const&);
CLEAVE_ONCE template schedule::Ranks mesh_of<void>(int, place::DeviceMesh const&);
CLEAVE_ONCE template std::shared_ptr<Asked> asked_of<void>(int, char**, CommandDefaults const&,
                                                           std::initializer_list<std::string_view>, Description const&,
                                                           Launch const&, RankOf);
CLEAVE_ONCE template void check_part<void>(Asked const&);
CLEAVE_ONCE template Tracing tracing_of<void>(Asked const&, Launch const&, RankOf, bool);
CLEAVE_ONCE template Job job_of<void>(Asked const&, std::string const&, Tracing const&, PlanFacts const&);
CLEAVE_ONCE template std::string RunReport::json<void>(PlanFacts const&, schedule::Program const&, Curves const&,
                                                       std::vector<backend::host::Timeline const*> const&) const;
CLEAVE_ONCE template PlanFacts plan_facts<void>(std::string, schedule::Program const&, place::Request const&,
                                                schedule::Ranks);
CLEAVE_ONCE template void tell<void>(char const*, char const*, std::exception const&);
CLEAVE_ONCE template std::string newest_checkpoint<void>(Description const&, std::string const&, std::FILE*);
CLEAVE_ONCE template std::string plan_text<void>(Description const&);
CLEAVE_ONCE template std::uint64_t saved_seed<void>(std::string const&);
CLEAVE_ONCE template io::SafeTensors read_checkpoint<void>(Description const&, std::string const&);
CLEAVE_ONCE template std::string trace_path<void>(std::string const&, int, int);
CLEAVE_ONCE template void check_trace<void>(std::string const&);
CLEAVE_ONCE template std::uint64_t fingerprint<void>(Description const&, agree::Terms const&, int, int,
                                                     std::string const&);

#define CLEAVE_FOR_SET(Set)                                                                                     \
  CLEAVE_ONCE template void check_set(std::string const&, Set const&, InputValues, Needs const&);               \
  CLEAVE_ONCE template Preprocessing preprocessing_of(std::FILE*, Set const&, InputValues, std::string const&); \
  CLEAVE_ONCE template void prepare_sets(std::FILE*, Sets<Set>&, std::string const&, InputValues, int,          \
                                         std::string const&, Needs const&);
CLEAVE_FOR_SET(io::Images)
CLEAVE_FOR_SET(io::Samples)
#undef CLEAVE_FOR_SET

#define CLEAVE_FOR_FORMAT(T)                                                                                           \
  CLEAVE_ONCE template class HostTrainer<T>;                                                                           \
  CLEAVE_ONCE template class FitLoop<HostTrainer<T>>;                                                                  \
  CLEAVE_ONCE template void save_state(HostTrainer<T>&, std::string const&, std::uint64_t, bool, Preprocessing const*, \
                                       io::Metadata const&);                                                           \
  CLEAVE_ONCE template void load_state(HostTrainer<T>&, std::string const&);                                           \
  CLEAVE_ONCE template int fit_for(HostTrainer<T>&, Job const&, Sets<io::Images> const&, FitSettings const&);          \
  CLEAVE_ONCE template int fit_for(HostTrainer<T>&, Job const&, Sets<io::Samples> const&, FitSettings const&);
CLEAVE_FOR_FORMAT(f32)
CLEAVE_FOR_FORMAT(f64)
CLEAVE_FOR_FORMAT(bf16)
#undef CLEAVE_FOR_FORMAT

// Around a server, in the commonest format.
using PushedF32 = PushFormats<f32, f32>;
CLEAVE_ONCE template class RankThreads<f32>;
CLEAVE_ONCE template class Replica<PushedF32>;
CLEAVE_ONCE template class ServedTrainer<PushedF32>;
CLEAVE_ONCE template class ClientOf<PushedF32>;
CLEAVE_ONCE template class ParameterServerOf<PushedF32>;
CLEAVE_ONCE template void save_state(ServedTrainer<PushedF32>&, std::string const&, std::uint64_t, bool,
                                     Preprocessing const*, io::Metadata const&);
CLEAVE_ONCE template void save_state(ClientOf<PushedF32>&, std::string const&, std::uint64_t, bool,
                                     Preprocessing const*, io::Metadata const&);
CLEAVE_ONCE template void load_state(ServedTrainer<PushedF32>&, std::string const&);
CLEAVE_ONCE template int fit_for(ServedTrainer<PushedF32>&, Job const&, Sets<io::Images> const&, FitSettings const&);
CLEAVE_ONCE template int fit_for(ServedTrainer<PushedF32>&, Job const&, Sets<io::Samples> const&, FitSettings const&);
}  // namespace session

}  // namespace cleave

#undef CLEAVE_ONCE
#endif
