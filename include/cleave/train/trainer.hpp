// train/trainer.hpp - trains a plan on threads as ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../lower/host.hpp"
#include "host_trainer.hpp"
#include "untrained.hpp"

namespace cleave {

namespace session {

template <class P>
inline constexpr Training<typename P::number> training{
    &description<P>, lower::executable<P>, &optim::now<typename P::optimizer, tensor::accumulate_t<typename P::number>>,
    P::rate};

}  // namespace session

/// `Trainer<Train> trainer(2, seed); trainer.train(0, 100, feed);` The number of replicas is that of the data axis; a
/// plan with split layers runs on replicas x ways ranks. After construction no step allocates or starts a thread.
template <class P> class Trainer : public session::HostTrainer<typename P::number> {
 public:
  using plan = P;

  /// With `remote`, this process is one of the ranks and every call is made by all of them.
  explicit Trainer(int replicas, std::uint64_t seed = 1, backend::host::Remote* remote = nullptr)
      : session::HostTrainer<typename P::number>(session::training<P>, replicas, seed, remote) {}
};
template <class P>
requires(!plan::legal<P> || P::served || P::infers) class Trainer<P> : public session::Untrained<P> {
  static_assert(sizeof(typename session::laws_of_trainers<P>::trainer) > 0);

 public:
  using session::Untrained<P>::Untrained;
};

}  // namespace cleave
