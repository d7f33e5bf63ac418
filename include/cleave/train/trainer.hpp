// train/trainer.hpp - trains a plan on threads as ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <thread>

#include "../data/arrays.hpp"
#include "../data/checks.hpp"
#include "../data/laws.hpp"
#include "../data/preprocessing.hpp"
#include "../lower/host.hpp"
#include "fit.hpp"
#include "host_trainer.hpp"
#include "process_group.hpp"
#include "untrained.hpp"

namespace cleave {

template <class Net, class Number = f32> class Predictor;

namespace session {

template <class P>
inline constexpr Training<typename P::number> training{
    &description<P>, lower::executable<P>, &optim::now<typename P::optimizer, tensor::accumulate_t<typename P::number>>,
    P::rate};

/// Replicas of plan P, if the caller names no number.
template <class P> int default_replicas() {
  int const cores = static_cast<int>(std::thread::hardware_concurrency());
  return P::replicas > 0 ? P::replicas : std::clamp(cores / P::ways, 1, P::micro_batches);
}

template <class P> int replicas_of(TrainerOptions const& setup) {
  if (!setup.processes || setup.processes->size() == 1)
    return setup.replicas > 0 ? setup.replicas : default_replicas<P>();
  setup.processes->check_same(checksum_of({P::batch, P::schedule.steps, P::schedule.weight_elements, P::micro_batches,
                                           static_cast<long>(setup.seed)}),
                              "another plan or seed");
  return setup.processes->replicas(P::ways, setup.replicas);
}

}  // namespace session

/// `Trainer<Train> trainer({.replicas = 2}); trainer.fit(x, y, {.epochs = 20}); trainer.save("mine.safetensors");`
///
/// Or with a feed: `Trainer<Train> trainer(2, seed); trainer.train(0, 100, feed);`. The number of replicas is that of
/// the data axis; a plan with split layers runs on replicas x ways ranks. After construction no step allocates or
/// starts a thread.
template <class P> class Trainer : public session::HostTrainer<typename P::number> {
 public:
  using plan = P;

  /// With `remote`, this process is one of the ranks and every call is made by all of them.
  explicit Trainer(int replicas, std::uint64_t seed = 1, backend::host::Remote* remote = nullptr)
      : session::HostTrainer<typename P::number>(session::training<P>, replicas, seed, remote), seed_(seed) {}
  Trainer() : Trainer(TrainerOptions{}) {}
  explicit Trainer(TrainerOptions const& setup)
      : Trainer(session::replicas_of<P>(setup), setup.seed, setup.processes ? setup.processes->remote() : nullptr) {
    processes_ = setup.processes;
  }

  /// Trains on samples in memory: x (n, inputs), y (n) classes from 0, or (n, outputs) targets, for a loss that takes
  /// them. Each epoch has its own order; samples beyond the last whole batch of an epoch are left out of it. With
  /// `.validation`, the trainer has the weights of the best epoch in the end. `watch` is called after each epoch; true
  /// ends the training. The learning rate is that of the plan. Throws Error, before anything is trained, if sizes,
  /// labels or targets do not fit.
  History fit(std::span<float const> x, std::span<int const> y, FitOptions const& how = {},
              session::Watch const& watch = {}) {
    return fit_source(arrays(x, y, {}), how, watch);
  }
  History fit(std::span<float const> x, std::span<float const> y, FitOptions const& how = {},
              session::Watch const& watch = {}) {
    static_assert(wanted.target != op::Target::Class,
                  "fit: CrossEntropy compares with classes; give them as int (std::vector<int>), or end the model with "
                  "MeanSquaredError");
    return fit_source(arrays(x, {}, y), how, watch);
  }
  /// The same on a data set (data/dataset.hpp), which is read as training goes; with `.validation`, on a part of it, or
  /// with the samples of `held_out` held out.
  template <Dataset D> History fit(D const& all, FitOptions const& how = {}, session::Watch const& watch = {}) {
    return fit_sources(session::sets_of(source(all), how, seed_), how, watch);
  }
  template <Dataset D, Dataset V>
  History fit(D const& training, V const& held_out, FitOptions const& how = {}, session::Watch const& watch = {}) {
    if (how.validation != 0) throw Error("fit: samples to hold out are given; leave .validation out");
    return fit_sources({source(training), source(held_out)}, how, watch);
  }
  /// For a loop of one's own: `for (auto const& at : trainer.batches(x, y, {.epochs = 20})) { trainer.step(at); }`. Of
  /// the options, epochs and standardise count; the samples are all to train on. Throws Error as `fit` does.
  session::BatchRange batches(std::span<float const> x, std::span<int const> y, FitOptions const& how = {}) {
    return batches_of(arrays(x, y, {}), how);
  }
  session::BatchRange batches(std::span<float const> x, std::span<float const> y, FitOptions const& how = {}) {
    return batches_of(arrays(x, {}, y), how);
  }
  template <Dataset D> session::BatchRange batches(D const& all, FitOptions const& how = {}) {
    return batches_of(source(all), how);
  }
  /// Trains one step, and returns its loss, the mean over the batch.
  double step(session::BatchAt const& at) { return this->train(at.step, 1, at.feed)[0]; }

  /// Mean loss, and accuracy if y are classes (else NaN), over all samples; inputs are scaled as in `fit`.
  backend::host::Score evaluate(std::span<float const> x, std::span<int const> y) {
    return evaluate_source(arrays(x, y, {}));
  }
  backend::host::Score evaluate(std::span<float const> x, std::span<float const> y) {
    static_assert(wanted.target != op::Target::Class,
                  "evaluate: CrossEntropy compares with classes; give them as int (std::vector<int>)");
    return evaluate_source(arrays(x, {}, y));
  }
  template <Dataset D> backend::host::Score evaluate(D const& all) { return evaluate_source(source(all)); }

  /// Saves weights, optimizer state, step and the scaling of inputs, atomically; and loads them. Throw Error. They are
  /// in checkpoint.hpp.
  void save(std::string const& path);
  void load(std::string const& path);
  /// Weights and running statistics of the first layers (default: all), from a checkpoint of this model or of another
  /// one that begins with the same layers; any plan's. Optimizer, step and the other layers stay; inputs are scaled as
  /// in the file if this trainer has no scaling yet. With `Freeze<n>` in the plan, these layers then stay as they are.
  /// Throws Error, and changes nothing, if a tensor is missing or has another shape. It is in pretrained.hpp.
  void load_weights(std::string const& path, int layers = std::numeric_limits<int>::max());
  /// The model as it is now, as a function: with copies of the weights and the scaling, in the plan's number format. It
  /// is in predict/predictor.hpp.
  Predictor<typename P::Net, typename P::number> predictor(PredictorOptions const& how = {});
  /// The scaling of inputs, that of `fit` or of the loaded file.
  session::Preprocessing const& preprocessing() const { return preprocessing_; }

 private:
  static constexpr backend::host::Wanted wanted = lower::wanted<P>();
  static session::SampleSource arrays(std::span<float const> x, std::span<int const> labels,
                                      std::span<float const> targets) {
    session::Arrays out = session::arrays_of(x, labels, targets, P::Net::input::shape.size(), wanted.outputs);
    out.shape = P::Net::input::shape;
    session::check_inputs(out, P::tokens.vocabulary);
    session::check_labels("y", out, wanted);
    session::check_targets("y", out, wanted);
    return session::source_of(out);
  }
  template <class D> static session::SampleSource source(D const& of) {
    using law = session::law_of_data<typename P::Net::input, D, wanted.outputs, wanted.target != op::Target::Numbers,
                                     wanted.target != op::Target::Class>;
    static_assert(sizeof(typename law::template tell<law::holds>) > 0);
    return session::source_of(of);
  }
  History fit_source(session::SampleSource const& all, FitOptions const& how, session::Watch const& watch) {
    return fit_sources(session::sets_of(all, how, seed_), how, watch);
  }
  History fit_sources(session::TrainingSets const& sets, FitOptions const& how, session::Watch const& watch) {
    session::HostTrainer<typename P::number>& self = *this;
    check_same(sets.training, how);
    if (sets.held_out.size() > 0) check_same(sets.held_out, how);
    History const out = session::fit(self, sets, how, fitted(), watch, preprocessing_.scaling);
    if (!sets.training.class_names.empty()) preprocessing_.class_names = sets.training.class_names;
    return out;
  }
  session::BatchRange batches_of(session::SampleSource const& all, FitOptions const& how) {
    check_same(all, how);
    if (!all.class_names.empty()) preprocessing_.class_names = all.class_names;
    return session::batches(*this, all, how, fitted(), preprocessing_.scaling);
  }
  session::Fitted fitted() const { return {wanted, P::rate, seed_, preprocessing_.scaling, P::tokens.vocabulary}; }
  void check_same(session::SampleSource const& all, FitOptions const& how) const {
    if (!processes_) return;
    processes_->check_same(session::checksum_of({static_cast<long>(session::checksum_of(all)), how.epochs, how.patience,
                                                 std::lround(how.validation * 1e9), how.standardise}),
                           "other samples or options");
  }
  backend::host::Score evaluate_source(session::SampleSource const& all) {
    session::Loader batches(all, preprocessing_.scaling, {P::batch, 1, false, 1, {wanted, P::tokens.vocabulary}});
    batches.begin_epoch(0, 0);
    return this->score(batches.feed(), all.size());
  }

  std::uint64_t seed_;
  ProcessGroup* processes_ = nullptr;
  session::Preprocessing preprocessing_;
};
template <class P>
requires(!plan::legal<P> || P::served || P::infers) class Trainer<P> : public session::Untrained<P> {
  static_assert(sizeof(typename session::laws_of_trainers<P>::trainer) > 0);

 public:
  using session::Untrained<P>::Untrained;
};

}  // namespace cleave
