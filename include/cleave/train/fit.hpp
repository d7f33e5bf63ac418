// train/fit.hpp - the training loop over a program's own samples: epochs, validation, early stopping, the best weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "../data/batch_range.hpp"
#include "../report/callback.hpp"
#include "fit_checks.hpp"
#include "snapshot.hpp"
#include "stop.hpp"

namespace cleave::session {

/// Before the first step; if a callback throws in one process, all leave.
template <class Trained> void begin_callbacks(Trained& trainer, Watch const& watch, FitStart const& start) {
  std::exception_ptr failed;
  try {
    watch.begin(start);
  } catch (...) {
    failed = std::current_exception();
  }
  bool const any = agree_on(trainer, {.stop = failed != nullptr}, start.writes).stop;
  if (failed) std::rethrow_exception(failed);
  if (any) throw Error("fit: a callback of another process has thrown before the first step");
}

/// One call of `fit`.
template <class Trained> class FitLoop {
 public:
  /// `scaling` becomes that of the inputs. Continues from `at`, if that has begun. Throws Error.
  FitLoop(Trained& trainer, TrainingSets const& sets, FitOptions const& how, Fitted const& of, Watch const& watch,
          Scaling& scaling, FitProgress at, FitFiles const& files)
      : trainer_(trainer),
        sets_(sets),
        how_(how),
        watch_(watch),
        scaling_(scaling),
        files_(files),
        rate_(of.rate),
        writes_(of.writes),
        pace_(of.pace),
        at_(std::move(at)) {
    check_scaling(how, of);
    check_stopping(how, sets);
    int const batch = description_of(trainer).batch;
    check("fit", how, sets.training.size(), batch);
    scaling = scaling_for(sets.training, how, of);
    loading_ = of.loading(batch, how.readers);
    batches_.emplace(sets.training, scaling, loading_);
    if (sets.held_out.size() > 0) test_.emplace(sets.held_out, scaling, loading_.in_order());
    per_epoch_ = batches_->steps_per_epoch();
    pace_.most = Trained::most_steps;
  }

  /// Trains, and returns the epochs; the trainer then has the weights of the best one, if samples are held out, or a
  /// figure of `.monitor` says which that is.
  History run() {
    begin();
    try {
      std::optional<StopSignals> signals;
      if (how_.stop_on_signals) signals.emplace();
      while (static_cast<int>(at_.history.epochs.size()) < how_.epochs && !at_.history.stopped_early) train_epoch();
    } catch (...) {
      if (!best_.empty()) best_.give_back(trainer_);
      throw;
    }
    if (!best_.empty()) best_.give_back(trainer_);
    meet(trainer_);  // no process reads another's weights before they are given back
    watch_.end(at_.history);
    return std::move(at_.history);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void begin() {
    std::uint64_t const samples = files_ ? checksum_of(sets_) : 0;
    bool const resumes = at_.first >= 0;
    if (resumes) check_resumed(at_, how_, files_, samples, trainer_.steps(), per_epoch_);
    if (!resumes) at_.first = trainer_.steps();
    at_.samples = samples;
    at_.stop.patience = how_.patience;
    at_.history.monitor = how_.monitor;
    before_ = at_.seconds();
    last_ = at_.first + per_epoch_ * how_.epochs;
    trainer_.set_rate(how_.rate.value_or(rate_).over(last_));
    if (resumes && keeps_best() && io::exists(files_.best)) {
      files_.load(files_.best);
      best_.take(trainer_);
      files_.load(files_.last);
    }
    samples_.emplace(SamplesRead{sets_.training, sets_.held_out, scaling_, loading_.in_order()});
    begin_callbacks(trainer_, watch_,
                    {trainer_.steps(), last_, how_.epochs, loading_.batch, sets_.training.size(), sets_.held_out.size(),
                     writes_, &*samples_});
    begun_ = saved_ = Clock::now();
  }
  bool keeps_best() const { return test_ || !how_.monitor.of_held_out(); }
  static double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

  /// Trains an epoch, or what is left of one, and evaluates it. One that a signal ends is saved as far as it is.
  void train_epoch() {
    long const from = at_.first + per_epoch_ * static_cast<long>(at_.history.epochs.size());
    int const number = static_cast<int>(at_.history.epochs.size()) + 1;
    if (!at_.within) at_.sum = 0;
    at_.within = true;
    batches_->begin_epoch(from / per_epoch_, from);
    Next const last = train_steps(number, from + per_epoch_);
    bool const whole = trainer_.steps() == from + per_epoch_;
    if (files_ && (last.stop || !whole)) save_within();
    if (last.stop) {
      at_.history.stopped_early = trainer_.steps() < last_;
      at_.history.stop_reason = StopReason::Signal;
      return;
    }
    Epoch now;
    now.epoch = number;
    now.steps = trainer_.steps();
    now.loss = at_.sum / static_cast<double>(now.steps - from);
    end_epoch(std::move(now), whole, last.ends);
  }

  /// The steps until `to`, or until a callback or a signal ends them.
  Next train_steps(int epoch, long to) {
    bool const saves = files_ && how_.save_every.count() > 0, in_parts = saves || how_.stop_on_signals;
    bool const hears = watch_.hears();
    Next next{.stop = in_parts || hears, .steps = in_parts ? pace_.next() : Trained::most_steps};
    if (hears) next.steps = std::min(next.steps, watch_.next());
    next = agree_on(trainer_, next, writes_);
    bool const agrees = std::exchange(next.stop, false);
    long step = trainer_.steps();
    while (step < to && !next.stop && !next.ends) {
      auto const since = Clock::now();
      auto const count = static_cast<int>(std::min<long>(to - step, std::clamp(next.steps, 1, int{pace_.most})));
      double sum = 0;
      for (double l : trainer_.train(step, count, batches_->feed())) {
        sum += l;
        at_.sum += l;
      }
      step += count;
      if (!agrees) continue;
      pace_.took(count, seconds_since(since));
      next = {};
      if (hears) next.ends = watch_.step({step, epoch, sum / count, count});
      next.stop = how_.stop_on_signals && StopSignals::received() != 0;
      next.save = saves && Clock::now() - saved_ >= how_.save_every;
      next.steps = in_parts ? pace_.next() : Trained::most_steps;
      if (hears) next.steps = std::min(next.steps, watch_.next());
      next = agree_on(trainer_, next, writes_);
      if (next.save && step < to) save_within();
    }
    return next;
  }
  void save_within() {
    at_.seconds_within = before_ + seconds_since(begun_);
    save(files_.last);
  }
  void save(std::string const& path) {
    files_.save(path, at_);
    saved_ = Clock::now();
  }

  /// `whole`: all its steps were made.
  void end_epoch(Epoch now, bool whole, bool by_callback) {
    if (test_) {
      test_->begin_epoch(0, 0);
      backend::host::Score const score = trainer_.score(test_->feed(), sets_.held_out.size());
      now.val_loss = score.loss;
      now.val_accuracy = score.accuracy;
    }
    watch_.measure(now);
    Next judged;  // stop: by patience; save: the best so far
    if (keeps_best()) {
      judged.stop = at_.stop(how_.monitor.loss_of(now));
      judged = agree_on(trainer_, {.stop = judged.stop, .save = at_.stop.improved()}, writes_);
    }
    if (judged.save) best_.take(trainer_);
    now.seconds = before_ + seconds_since(begun_);
    by_callback = watch_.epoch(now) || by_callback;
    by_callback = agree_on(trainer_, {.ends = by_callback}, writes_).ends;

    bool const more = now.steps < last_;
    History& history = at_.history;
    history.epochs.push_back(std::move(now));
    // One that a callback has ended may be continued.
    history.stopped_early = judged.stop && more;
    history.stop_reason = history.stopped_early ? StopReason::Patience : StopReason::AllEpochs;
    at_.within = false;
    if (files_ && whole && judged.save) save(files_.best);
    if (files_ && whole) save(files_.last);
    if (!by_callback || !more) return;
    history.stopped_early = true;
    if (history.stop_reason != StopReason::Patience) history.stop_reason = StopReason::Callback;
  }

  Trained& trainer_;
  TrainingSets const& sets_;
  FitOptions const& how_;
  Watch const& watch_;
  Scaling& scaling_;
  FitFiles const& files_;
  Rate rate_;  // of the plan
  bool writes_;
  Pace pace_;
  FitProgress at_;
  LoaderOptions loading_;
  std::optional<SamplesRead> samples_;
  std::optional<Loader> batches_, test_;
  Snapshot<Trained> best_;
  long per_epoch_ = 0, last_ = 0;
  double before_ = 0;  // seconds that earlier calls took
  Clock::time_point begun_, saved_;
};

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
  long const made = trainer.steps();
  BatchRange range(all, scaling, of.loading(batch, how.readers), how.resume ? 0 : made, how.epochs);
  trainer.set_rate(how.rate.value_or(of.rate).over((how.resume ? 0 : made) + range.steps()));
  if (how.resume) range.skip(made);
  return range;
}

}  // namespace cleave::session
