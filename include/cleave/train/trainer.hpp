// train/trainer.hpp - trains a plan on threads as ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <typeinfo>

#include "../backend/host/communication/cores.hpp"
#include "../lower/host.hpp"
#include "../schedule/listing.hpp"
#include "host_trainer.hpp"
#include "sample_training.hpp"
#include "untrained.hpp"

namespace cleave {

namespace session {

template <class P>
inline constexpr Training<typename P::number> training{
    &description<P>, lower::executable<P>, &optim::now<typename P::optimizer, tensor::accumulate_t<typename P::number>>,
    P::rate};

/// Replicas of plan P, if the caller names no number: as many as this machine has cores for, and the plan allows.
template <class P> int default_replicas() {
  int const cores = backend::host::cores();
  if (P::replicas > 0) return P::replicas;
  int n = std::clamp(cores / P::request.mesh.ranks_of_replica(), 1, P::micro_batches);
  while (n > 1 && !what_forbids(description<P>, n).empty()) --n;
  return n;
}

template <class P> int replicas_of(TrainerOptions const& setup) {
  if (!setup.processes || setup.processes->size() == 1)
    return setup.replicas != 0 ? setup.replicas : default_replicas<P>();
  std::uint64_t sum = checksum_of({static_cast<long>(setup.seed)});
  sum = checksum_of(typeid(P).name(), sum);
  sum = checksum_of(typeid(typename P::optimizer).name(), sum);
  sum = checksum_of(schedule::listing<P>(P::ranks_of(1)), sum);
  sum = checksum_of({static_cast<long>(checksum_of(P::rate))}, sum);
  setup.processes->check_same(sum, "another plan or seed");
  constexpr int each = P::request.mesh.ranks_of_replica();
  bool const fixed = P::replicas > 0 && P::replicas * each % setup.processes->size() == 0;
  return setup.processes->replicas(each, setup.replicas != 0 ? setup.replicas : fixed ? P::replicas : 0);
}

/// The messages of a trainer over processes; made before its ranks, and ended after them.
struct OwnRemote {
  explicit OwnRemote(ProcessGroup const* group) : own_remote(group ? group->remote() : nullptr) {}
  std::unique_ptr<backend::host::Remote> own_remote;
};

}  // namespace session

/// `Trainer<Train> trainer({.replicas = 2}); trainer.fit(x, y, {.epochs = 20}); trainer.save("mine.safetensors");`
///
/// Or with a feed: `Trainer<Train> trainer(2, seed); trainer.train(0, 100, feed);`. The number of replicas is that of
/// the data axis; a plan with split layers runs on replicas x ways ranks. After construction no step allocates or
/// starts a thread.
template <class P>
class Trainer : session::OwnRemote,
                public session::HostTrainer<typename P::number>,
                public session::SampleTraining<P, Trainer<P>> {
 public:
  using plan = P;

  /// With `remote`, each process has as many of the ranks as threads, and every call is made by all processes.
  explicit Trainer(int replicas, std::uint64_t seed = 1, backend::host::Remote* remote = nullptr)
      : session::OwnRemote(nullptr),
        session::HostTrainer<typename P::number>(session::training<P>, replicas, seed, remote),
        session::SampleTraining<P, Trainer>(seed) {}
  Trainer() : Trainer(TrainerOptions{}) {}
  explicit Trainer(TrainerOptions const& setup)
      : session::OwnRemote(setup.processes),
        session::HostTrainer<typename P::number>(session::training<P>, session::replicas_of<P>(setup), setup.seed,
                                                 this->own_remote.get()),
        session::SampleTraining<P, Trainer>(setup.seed) {
    this->set_processes(setup.processes);
  }
};
template <class P>
requires(!session::trains<P>) class Trainer<P> : public session::Untrained<P> {
  static_assert(sizeof(typename session::laws_of_trainers<P>::trainer) > 0);

 public:
  using session::Untrained<P>::Untrained;
};
/// Of a plan whose replicas agree through a server: parameter_server/served.hpp.
template <class P>
requires(session::trains<P>&& P::served) class Trainer<P>;

}  // namespace cleave
