// parameter_server/served.hpp - trains a plan around a parameter server, with replicas as threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../train/trainer.hpp"
#include "served_replica.hpp"

namespace cleave {

namespace session {

template <class P> int threads_of(TrainerOptions const& setup) {
  if (setup.processes && setup.processes->size() > 1)
    throw Error(
        "Trainer: replicas that agree through a server do not share a ProcessGroup; leave .processes out, or start the "
        "program's run<Plan, Data> with --serve and --join");
  return setup.replicas != 0 ? setup.replicas : default_replicas<P>();
}

}  // namespace session

/// `Served<Train> trainer(20, seed); trainer.train(0, 100, feed);` A plan whose replicas agree through a server. A step
/// is an update if replicas wait for each other, else one gradient of one replica. Between two calls of train every
/// replica rests. At most 1024 replicas. `Ranks` of each compute: threads, or device_ranks.hpp; the server is on the
/// host.
template <class P, class Ranks = session::ThreadRanks<P>>
class Served : public session::ServedTrainer<session::formats_of<P>>,
               public session::SampleTraining<P, Served<P, Ranks>> {
 public:
  using plan = P;

  explicit Served(int replicas, std::uint64_t seed = 1, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : session::ServedTrainer<session::formats_of<P>>(session::service<P>, session::ranks_by<P, Ranks>, replicas, seed,
                                                       deadline),
        session::SampleTraining<P, Served>(seed) {}
  explicit Served(TrainerOptions const& setup) : Served(session::threads_of<P>(setup), setup.seed) {}
};
template <class P, class Ranks>
requires(!plan::legal<P>) class Served<P, Ranks> : public session::Untrained<P> {
 public:
  using session::Untrained<P>::Untrained;
};

template <class P>
requires(session::trains<P>&& P::served) class Trainer<P> : public Served<P> {
 public:
  using Served<P>::Served;
  Trainer() : Trainer(TrainerOptions{}) {}
};

}  // namespace cleave
