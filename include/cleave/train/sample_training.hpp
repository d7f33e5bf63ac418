// train/sample_training.hpp - what every trainer of a plan offers for samples: fit, batches, evaluate, save, load, predictor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "../data/arrays.hpp"
#include "../data/checks.hpp"
#include "../data/laws.hpp"
#include "../data/preprocessing.hpp"
#include "../lower/answers.hpp"
#include "../meta/list.hpp"
#include "fit.hpp"
#include "process_group.hpp"

namespace cleave {

template <class Net, class Number = f32, class Machine = void> class Predictor;

namespace session {

/// Of a deduced T&&.
template <class T>
concept is_temporary_vector = !std::is_reference_v<T> && requires {
  typename T::allocator_type;
};

/// A base of the trainers of plan P: `Self` trains steps on a feed.
template <class P, class Self> class SampleTraining {
 public:
  /// Trains on samples in memory: x (n, inputs), y (n) classes from 0 (of sequences (n,
  /// positions)), or (n, outputs) targets, for a loss that takes
  /// them. Each epoch has its own order; samples beyond the last whole batch of an epoch are left out of it. With
  /// `.validation`, the trainer has the weights of the best epoch in the end. `watch`: callbacks (report/callback.hpp),
  /// one, or several in braces: `trainer.fit(x, y, {.epochs = 20}, {ProgressBar(), JsonLines("run.jsonl")})`. The
  /// learning rate is that of the plan, unless `.rate` is given. Throws Error, before anything is trained, if sizes,
  /// labels or targets do not fit.
  History fit(std::span<float const> x, std::span<int const> y, FitOptions const& how = {}, Watch const& watch = {}) {
    return fit_source(arrays(x, y, {}), how, watch);
  }
  History fit(std::span<float const> x, std::span<float const> y, FitOptions const& how = {}, Watch const& watch = {}) {
    static_assert(wanted.target != op::Target::Class,
                  "fit: CrossEntropy compares with classes; give them as int (std::vector<int>), or end the model with "
                  "MeanSquaredError");
    return fit_source(arrays(x, {}, y), how, watch);
  }
  /// The same on a data set (data/dataset.hpp), which is read as training goes; with `.validation`, on a part of it, or
  /// with the samples of `held_out` held out.
  template <Dataset D> History fit(D const& all, FitOptions const& how = {}, Watch const& watch = {}) {
    return fit_source(source(all), how, watch);
  }
  template <Dataset D, Dataset V>
  History fit(D const& training, V const& held_out, FitOptions const& how = {}, Watch const& watch = {}) {
    if (how.validation != 0) throw Error("fit: samples to hold out are given; leave .validation out");
    if (held_out.size() < 1) throw Error("fit: the data set to hold out has no samples");
    SampleSource const weighed = weighted("fit", source(training), how, wanted);
    return fit_sources({weighed, source(held_out)}, how, watch, progress_of(how));
  }
  /// For a loop of one's own: `for (auto const& at : trainer.batches(x, y, {.epochs = 20})) { trainer.step(at); }`. Of
  /// the options, epochs, standardise and sample_weights count; the samples are all to train on. Throws Error as `fit`
  /// does.
  BatchRange batches(std::span<float const> x, std::span<int const> y, FitOptions const& how = {}) {
    return batches_of(arrays(x, y, {}), how);
  }
  BatchRange batches(std::span<float const> x, std::span<float const> y, FitOptions const& how = {}) {
    return batches_of(arrays(x, {}, y), how);
  }
  template <Dataset D> BatchRange batches(D const& all, FitOptions const& how = {}) {
    return batches_of(source(all), how);
  }
  template <Dataset D> void batches(D const&& all, FitOptions const& how = {}) = delete;  // they view it
  template <class X, class Y>
  requires(is_temporary_vector<X> || is_temporary_vector<Y>) void batches(X&&, Y&&, FitOptions const& = {}) {
    static_assert(std::is_reference_v<X> && std::is_reference_v<Y>,
                  "batches: the loop reads the samples as it goes; keep x and y in variables that outlive it");
  }
  /// Trains one step, and returns its loss, the mean over the batch.
  double step(BatchAt const& at) { return self().train(at.step, 1, at.feed)[0]; }

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
  /// Metrics (data/metrics.hpp) of all samples, by the trainer's predictor: `auto [top1, top5] = trainer.evaluate(test,
  /// Accuracy{}, TopKAccuracy<5>{});`. Every process computes all of them.
  template <class X, class Y, class Metric, class... Metrics>
  requires(!Dataset<X>) auto evaluate(X const& x, Y const& y, Metric metric, Metrics... metrics) {
    return predictor().evaluate(x, y, std::move(metric), std::move(metrics)...);
  }
  template <Dataset D, class Metric, class... Metrics> auto evaluate(D const& all, Metric metric, Metrics... metrics) {
    return predictor().evaluate(all, std::move(metric), std::move(metrics)...);
  }

  /// Saves weights, optimizer state, step and the scaling of inputs, atomically; and loads them. Throw Error. They are
  /// in checkpoint.hpp.
  void save(std::string const& path);
  void load(std::string const& path);
  /// Weights and running statistics of the first layers (default: all), from a checkpoint of this model or of another
  /// one that begins with the same layers; any plan's. Optimizer, step and the other layers stay; inputs are scaled as
  /// in the file if this trainer has no scaling yet. With `Freeze<n>` in the plan, these layers then stay as they are.
  /// Throws Error, and changes nothing, if a tensor is missing or has another shape, or if the model has fewer layers.
  /// It is in pretrained.hpp.
  void load_weights(std::string const& path, int layers = std::numeric_limits<int>::max());
  /// Weights and running statistics of the layers that have a name, from a safetensors file of PyTorch
  /// (`safetensors.torch.save_file(model.state_dict(), path)`), and to one. Layers behind the last name stay as they
  /// are, or are not written. The weight of layers that are Tied is read under either name, and written under those
  /// that are given. Throw Error, and change nothing, if a tensor is missing or has another shape, if a named module
  /// has one more, or if a Tied weight is there twice and differs. They are in torch_weights.hpp.
  void load_torch(std::string const& path, TorchNames const& names);
  void save_torch(std::string const& path, TorchNames const& names);
  /// The model as it is now, as a function: with copies of the weights and the scaling, in the plan's number format. It
  /// is in predict/predictor.hpp.
  Predictor<typename P::Net, typename P::number> predictor(PredictorOptions const& how = {});
  /// The scaling of inputs, that of `fit` or of the loaded file.
  Preprocessing const& preprocessing() const { return preprocessing_; }

 protected:
  explicit SampleTraining(std::uint64_t seed) : seed_(seed) {}
  ~SampleTraining() = default;
  void set_processes(ProcessGroup* group) { processes_ = group; }

 private:
  static constexpr backend::host::Wanted wanted = lower::wanted<P>();
  static SampleSource arrays(std::span<float const> x, std::span<int const> labels, std::span<float const> targets) {
    Arrays out = arrays_of(x, labels, targets, P::Net::input::shape.size(), wanted.outputs, wanted.labels);
    out.shape = P::Net::input::shape;
    check_inputs(out, token_inputs_of<P>);
    check_labels("y", out, wanted);
    check_targets("y", out, wanted);
    return source_of(out);
  }
  template <class D> static SampleSource source(D const& of) {
    using law =
        law_of_data<typename P::Net::input, D, wanted.outputs, wanted.labels, wanted.target != op::Target::Numbers,
                    wanted.target != op::Target::Class, wanted.weighs_samples>;
    static_assert(sizeof(typename law::template tell<law::holds>) > 0);
    check_padding("fit", of, typename P::ops{});
    return source_of(of);
  }
  History fit_source(SampleSource const& all, FitOptions const& how, Watch const& watch) {
    SampleSource const weighed = weighted("fit", all, how, wanted);
    FitProgress const at = progress_of(how);  // which may bring another seed
    return fit_sources(sets_of(weighed, how, seed_), how, watch, at);
  }
  /// Of the checkpoint, if there is one, which is loaded.
  FitProgress progress_of(FitOptions const& how);
  FitFiles files_of(FitOptions const& how);
  History fit_sources(TrainingSets const& sets, FitOptions const& how, Watch const& watch, FitProgress const& at) {
    check_same(sets.training, how, watch.hears());
    if (sets.held_out.size() > 0) check_same(sets.held_out, how);
    check_class_names(sets.training.class_names, sets.held_out.class_names);
    if (!sets.training.class_names.empty()) preprocessing_.class_names = sets.training.class_names;
    FitFiles const files = files_of(how);
    return FitLoop(common(self()), sets, how, fitted(), watch, preprocessing_.scaling, at, files).run();
  }
  BatchRange batches_of(SampleSource const& samples, FitOptions const& how) {
    SampleSource const all = weighted("batches", samples, how, wanted);
    check_same(all, how);
    if (!all.class_names.empty()) preprocessing_.class_names = all.class_names;
    return session::batches(common(self()), all, how, fitted(), preprocessing_.scaling);
  }
  Fitted fitted() {
    Fitted of{wanted, P::rate, seed_, preprocessing_.scaling, token_inputs_of<P>, at_once(), writes_files()};
    of.masks_zeros = masks_zeros(typename P::ops{});
    of.whole_numbers = reads_whole_numbers(typename P::ops{});
    of.pace = pace_of<P>(self().ranks().replicas());
    return of;
  }
  /// Replicas around a server may each be in a step of their own.
  int at_once() {
    if constexpr (P::served) return self().ranks().replicas();
    return 1;
  }
  /// Throws Error, on every process, unless all give the same samples and options and have trained alike.
  void check_same(SampleSource const& all, FitOptions const& how, bool hears_steps = false) {
    if (!processes_ || processes_->size() == 1) return;
    processes_->check_same(
        checksum_of({static_cast<long>(checksum_of(all)), how.epochs, how.patience, std::lround(how.validation * 1e9),
                     how.standardise, !how.checkpoint.empty(), how.save_every.count() > 0, how.stop_on_signals,
                     static_cast<long>(checksum_of(how.monitor.name.c_str())), hears_steps,
                     static_cast<long>(how.rate ? checksum_of(*how.rate) : 0)}),
        "other samples or options");
    std::uint64_t state = checksum_of({self().steps(), static_cast<long>(seed_)});
    for (auto const* of : {&preprocessing_.scaling.mean, &preprocessing_.scaling.deviation})
      for (float const f : *of) state = checksum_of({std::bit_cast<std::int32_t>(f)}, state);
    processes_->check_same(state, "trained other steps, or loaded another file,");
  }
  backend::host::Score evaluate_source(SampleSource const& all) {
    check_same(all, {});
    check_class_names(preprocessing_.class_names, all.class_names);
    Loader batches(all, preprocessing_.scaling, fitted().loading(P::batch, 1).in_order());
    batches.begin_epoch(0, 0);
    return self().score(batches.feed(), all.size());
  }

  /// Of the processes that train together one does.
  bool writes_files() {
    if constexpr (requires { self().leads(); }) return self().leads();
    return true;
  }
  Self& self() { return static_cast<Self&>(*this); }

  std::uint64_t seed_;
  ProcessGroup* processes_ = nullptr;
  Preprocessing preprocessing_;
};

}  // namespace session
}  // namespace cleave
