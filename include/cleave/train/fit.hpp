// train/fit.hpp - the training loop over a program's own arrays: epochs, validation, early stopping, the best weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../data/batch_range.hpp"
#include "../data/loader.hpp"
#include "../optim/rate.hpp"
#include "../report/callback.hpp"
#include "description.hpp"
#include "fit_progress.hpp"
#include "losses.hpp"
#include "options.hpp"

namespace cleave::session {

/// Weights and running statistics of a trainer, as they were.
template <class Trained> class Snapshot {
 public:
  void take(Trained& trainer) {
    schedule::Program const& p = description_of(trainer).program;
    values_.resize(static_cast<std::size_t>((p.weight_elements + p.state_elements) * p.mesh.ways()));
    auto* at = values_.data();
    each(p, [&](int way, backend::host::Region region, long count) {
      trainer.read(way, region, 0, count, at);
      at += count;
    });
  }
  void give_back(Trained& trainer) const {
    auto const* at = values_.data();
    each(description_of(trainer).program, [&](int way, backend::host::Region region, long count) {
      trainer.write(way, region, 0, count, at);
      at += count;
    });
    trainer.refresh_copies();
  }
  bool empty() const { return values_.empty(); }

 private:
  template <class Visit> static void each(schedule::Program const& p, Visit visit) {
    for (int way = 0; way < p.mesh.ways(); ++way) {
      visit(way, backend::host::Region::Weights, p.weight_elements);
      visit(way, backend::host::Region::States, p.state_elements);
    }
  }
  std::vector<typename Trained::A> values_;
};

inline std::uint64_t checksum_of(Rate const& rate) {
  std::uint64_t sum = checksum_of({static_cast<long>(rate.shape), rate.period, rate.warm});
  for (float const f : {rate.base, rate.factor, rate.floor}) sum = checksum_of({std::bit_cast<std::int32_t>(f)}, sum);
  return sum;
}

/// What fit takes from a plan and a trainer.
struct Fitted {
  backend::host::Wanted answers;
  Rate rate;
  std::uint64_t seed = 1;
  Scaling scaling{};  // of earlier training, if there was any
  TokenInputs tokens{};
  int at_once = 1;             // steps that replicas may be in at the same time
  bool writes = true;          // of several processes, this is the one that writes files
  bool masks_zeros = false;    // to the model positions of zeros are padding
  bool whole_numbers = false;  // it reads tokens among numbers

  LoaderOptions loading(int batch, int readers) const {
    return {.batch = batch,
            .seed = seed,
            .readers = readers,
            .at_once = at_once,
            .check = {.answers = answers, .tokens = tokens}};
  }
};

/// `call`: fit, or batches.
inline void check(char const* call, FitOptions const& how, long samples, int batch) {
  if (how.epochs < 1) throw Error({call, ": ", how.epochs, " epochs; say at least 1"});
  if (how.readers < 0) throw Error({call, ": ", how.readers, " readers; say at least 0"});
  if (samples < batch)
    throw Error({call, ": ", samples, " samples to train on are fewer than one batch of ", batch,
                 "; say a smaller Batch in the plan"});
}
inline void check_scaling(FitOptions const& how, Fitted const& of) {
  if ((of.tokens.any() || of.whole_numbers) && how.standardise)
    throw Error("fit: Embedding reads token numbers, which cannot be scaled; leave .standardise out");
  if (of.masks_zeros && how.standardise)
    throw Error(
        "fit: Masking takes positions of zeros for padding, which would be scaled too; scale the samples before, and "
        "leave .standardise out");
}

/// The samples to train on, and those held out: a part of the same, by `.validation`, or others.
struct TrainingSets {
  SampleSource training, held_out;  // the latter may be of no samples
};
/// What a report reads of a training's samples, and how.
struct SamplesRead {
  SampleSource const &training, &held_out;
  Scaling const& scaling;
  LoaderOptions in_order;
};
inline TrainingSets sets_of(SampleSource const& all, FitOptions const& how, std::uint64_t seed) {
  if (!(how.validation >= 0 && how.validation < 1))
    throw Error({"fit: a validation share of ", std::to_string(how.validation), "; say one from 0 to below 1"});
  if (how.validation == 0) return {all, {}};
  auto [training, held_out] = split(all, how.validation, seed);
  if (held_out.size() == 0)
    throw Error({"fit: a validation share of ", std::to_string(how.validation), " of ", all.size(),
                 " samples holds out none; say a larger one"});
  return {std::move(training), std::move(held_out)};
}

inline Scaling scaling_for(SampleSource const& training, FitOptions const& how, Fitted const& of) {
  return !of.scaling.empty() ? of.scaling : how.standardise ? scaling_of(training) : Scaling{};
}

/// Throws Error for options that do not go together.
inline void check_stopping(FitOptions const& how, TrainingSets const& sets) {
  if (how.patience < 0) throw Error({"fit: a patience of ", how.patience, " epochs; say at least 0"});
  if (how.patience > 0 && sets.held_out.size() == 0)
    throw Error(
        "fit: patience counts epochs without a smaller val_loss; say which share is held out: .validation = 0.1");
}
inline std::uint64_t checksum_of(TrainingSets const& sets) {
  std::uint64_t const training = checksum_of(sets.training);
  return sets.held_out.size() > 0 ? checksum_of({static_cast<long>(checksum_of(sets.held_out))}, training) : training;
}
/// Throws Error if a checkpoint is of other samples, or not at the end of an epoch.
inline void check_resumed(FitProgress const& at, FitFiles const& files, std::uint64_t samples, long steps,
                          long per_epoch) {
  if (at.samples != samples)
    throw Error(
        {files.last, ": was saved by a training on other samples; say another .checkpoint, or delete the file"});
  auto const epochs = static_cast<long>(at.history.epochs.size());
  if (steps == at.first + epochs * per_epoch) return;
  throw Error({files.last, ": was saved after ", steps, " steps, which are not ", epochs, " epochs of ", per_epoch,
               " from step ", at.first, " on; it is of another Batch"});
}

/// Whether a training ends, because one of its processes says so. `next`, the steps until the next callback, becomes
/// that of the process that writes.
template <class Trained> bool agree(Trained& trainer, bool ends, bool writes, int& next) {
  double of[] = {ends ? 1.0 : 0.0, writes ? static_cast<double>(next) : 0.0};
  if constexpr (requires { trainer.sum_over_processes(of, 2); }) trainer.sum_over_processes(of, 2);
  next = static_cast<int>(of[1]);
  return of[0] > 0;
}

/// Before the first step; if a callback throws in one process, all leave.
template <class Trained> void begin_callbacks(Trained& trainer, Watch const& watch, FitStart const& start) {
  std::exception_ptr failed;
  try {
    watch.begin(start);
  } catch (...) {
    failed = std::current_exception();
  }
  int none = 0;
  bool const any = agree(trainer, failed != nullptr, start.writes, none);
  if (failed) std::rethrow_exception(failed);
  if (any) throw Error("fit: a callback of another process has thrown before the first step");
}

/// An epoch of training from step `from` on, with callbacks of steps; it is over before its last step if one of them
/// ends it.
struct TrainedEpoch {
  double loss = 0;  // mean over its steps
  bool ends = false;
};
template <class Trained>
TrainedEpoch train_epoch(Trained& trainer, Loader& batches, long from, int epoch, Watch const& watch, bool writes) {
  long const to = from + batches.steps_per_epoch();
  batches.begin_epoch(from / batches.steps_per_epoch(), from);
  TrainedEpoch out;
  long step = from;
  int next = watch.next();
  bool const told = agree(trainer, watch.hears(), writes, next);
  while (step < to && !out.ends) {
    int const most = told ? std::clamp(next, 1, int{Trained::most_steps}) : Trained::most_steps;
    auto const count = static_cast<int>(std::min<long>(to - step, most));
    double sum = 0;
    for (double l : trainer.train(step, count, batches.feed())) sum += l;
    step += count;
    out.loss += sum;
    if (!told) continue;
    bool const ends = watch.step({step, epoch, sum / count, count});
    next = watch.next();
    out.ends = agree(trainer, ends, writes, next);
  }
  out.loss /= static_cast<double>(step - from);
  return out;
}

/// Trains, and returns the epochs; the trainer then has the weights of the best one, if samples are held out.
/// `scaling` becomes that of the inputs. Continues from `at`, if that has begun. Throws Error.
template <class Trained>
History fit(Trained& trainer, TrainingSets const& sets, FitOptions const& how, Fitted const& of, Watch const& watch,
            Scaling& scaling, FitProgress at, FitFiles const& files) {
  check_scaling(how, of);
  check_stopping(how, sets);
  int const batch = description_of(trainer).batch;
  check("fit", how, sets.training.size(), batch);
  scaling = scaling_for(sets.training, how, of);
  LoaderOptions const loading = of.loading(batch, how.readers);
  Loader batches(sets.training, scaling, loading);
  std::optional<Loader> test;
  if (sets.held_out.size() > 0) test.emplace(sets.held_out, scaling, loading.in_order());

  auto const begin = std::chrono::steady_clock::now();
  long const per_epoch = batches.steps_per_epoch();
  bool const resumes = at.first >= 0;
  std::uint64_t const samples_sum = files ? checksum_of(sets) : 0;
  if (resumes) check_resumed(at, files, samples_sum, trainer.steps(), per_epoch);
  if (!resumes) at.first = trainer.steps();
  at.samples = samples_sum;
  double const before = at.history.epochs.empty() ? 0 : at.history.epochs.back().seconds;
  long const last = at.first + per_epoch * how.epochs;
  trainer.set_rate(how.rate.value_or(of.rate).over(last));
  at.stop.patience = how.patience;
  Snapshot<Trained> best;
  if (resumes && test && io::exists(files.best)) {
    files.load(files.best);
    best.take(trainer);
    files.load(files.last);
  }
  SamplesRead const samples{sets.training, sets.held_out, scaling, loading.in_order()};
  begin_callbacks(
      trainer, watch,
      {trainer.steps(), last, how.epochs, batch, sets.training.size(), sets.held_out.size(), of.writes, &samples});
  try {
    while (static_cast<int>(at.history.epochs.size()) < how.epochs && !at.history.stopped_early) {
      Epoch now;
      now.epoch = static_cast<int>(at.history.epochs.size()) + 1;
      TrainedEpoch const trained = train_epoch(trainer, batches, trainer.steps(), now.epoch, watch, of.writes);
      now.loss = trained.loss;
      now.steps = trainer.steps();
      bool by_patience = false, improved = false;
      if (test) {
        test->begin_epoch(0, 0);
        backend::host::Score const score = trainer.score(test->feed(), sets.held_out.size());
        now.val_loss = score.loss;
        now.val_accuracy = score.accuracy;
        by_patience = at.stop(score.loss);
        improved = at.stop.improved();
        if (improved) best.take(trainer);
      }
      now.seconds = before + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      bool const ended = watch.epoch(now);  // which may add to it
      at.history.epochs.push_back(now);
      int none = 0;
      bool const ends = agree(trainer, ended || trained.ends || by_patience, of.writes, none);
      // One that a callback has ended may be continued, from its last whole epoch.
      bool const saves = files && now.steps == at.first + per_epoch * now.epoch;
      at.history.stopped_early = by_patience && now.steps < last;
      if (saves && improved) files.save(files.best, at);
      if (saves) files.save(files.last, at);
      at.history.stopped_early = ends && now.steps < last;
    }
  } catch (...) {
    if (!best.empty()) best.give_back(trainer);
    throw;
  }
  if (!best.empty()) best.give_back(trainer);
  meet(trainer);  // no process reads another's weights before they are given back
  watch.end(at.history);
  return std::move(at.history);
}

/// The batches of a loop of one's own, with the trainer's rate set for as many steps.
template <class Trained>
BatchRange batches(Trained& trainer, SampleSource const& all, FitOptions const& how, Fitted const& of,
                   Scaling& scaling) {
  if (how.validation != 0 || how.patience != 0)
    throw Error("batches: validation and patience are of fit; hold samples out, and say EarlyStopping in the loop");
  check_scaling(how, of);
  if (!how.checkpoint.empty()) throw Error("batches: a checkpoint is of fit; call trainer.save in the loop");
  int const batch = description_of(trainer).batch;
  check("batches", how, all.size(), batch);
  scaling = scaling_for(all, how, of);
  BatchRange range(all, scaling, of.loading(batch, how.readers), trainer.steps(), how.epochs);
  trainer.set_rate(how.rate.value_or(of.rate).over(trainer.steps() + range.steps()));
  return range;
}

}  // namespace cleave::session
