// train/fit_checks.hpp - what fit takes from a plan and its samples, and what it refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../data/loader.hpp"
#include "../meta/in_library.hpp"
#include "../optim/rate.hpp"
#include "fit_progress.hpp"
#include "losses.hpp"
#include "options.hpp"
#include "pace.hpp"
#include "stop.hpp"

namespace cleave::session {

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
  Pace pace{};

  LoaderOptions loading(int batch, int readers) const {
    return {.batch = batch,
            .seed = seed,
            .readers = readers,
            .at_once = at_once,
            .check = {.answers = answers, .tokens = tokens}};
  }
};

/// `call`: fit, or batches.
CLEAVE_IN_LIBRARY void check(char const* call, FitOptions const& how, long samples, int batch) {
  if (how.epochs < 1) throw Error({call, ": ", how.epochs, " epochs; say at least 1"});
  if (how.save_every.count() < 0) throw Error({call, ": a negative time in .save_every"});
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
/// With the weights that `call` is given. Throws Error if they do not fit, or if the loss reads none.
CLEAVE_IN_LIBRARY SampleSource weighted(char const* call, SampleSource all, FitOptions const& how,
                                        backend::host::Wanted const& w) {
  if (how.sample_weights.empty()) return all;
  if (!w.weighs_samples)
    throw Error({call, ": .sample_weights are given, which ", w.loss,
                 " does not read; end the model with SampleWeighted<loss>"});
  if (all.has_weights())
    throw Error({call, ": .sample_weights are given, but the data set has weights of its own; leave one out"});
  if (static_cast<long>(how.sample_weights.size()) != all.size())
    throw Error({call, ": ", how.sample_weights.size(), " .sample_weights for ", all.size(), " samples"});
  check_weights(call, how.sample_weights);
  all.weights = std::make_shared<std::vector<float> const>(how.sample_weights);
  return all;
}
CLEAVE_IN_LIBRARY TrainingSets sets_of(SampleSource const& all, FitOptions const& how, std::uint64_t seed) {
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
CLEAVE_IN_LIBRARY void check_stopping(FitOptions const& how, TrainingSets const& sets) {
  if (how.resume) throw Error("fit: .resume is of batches; fit continues from its .checkpoint");
  if (how.patience < 0) throw Error({"fit: a patience of ", how.patience, " epochs; say at least 0"});
  if (how.patience > 0 && how.monitor.of_held_out() && sets.held_out.size() == 0)
    throw Error({"fit: patience counts epochs without a better ", how.monitor.name,
                 "; say which share is held out: .validation = 0.1"});
  if (how.monitor.name == "val_accuracy" && sets.held_out.size() == 0)
    throw Error("fit: the monitor is val_accuracy, and no samples are held out; say .validation = 0.1");
  if (how.stop_on_signals && StopSignals::any())
    throw Error("fit: .stop_on_signals is of one training at a time in a program");
}
inline std::uint64_t checksum_of(TrainingSets const& sets) {
  std::uint64_t const training = checksum_of(sets.training);
  return sets.held_out.size() > 0 ? checksum_of({static_cast<long>(checksum_of(sets.held_out))}, training) : training;
}
/// Throws Error if a checkpoint is of other samples, or of epochs of other lengths.
CLEAVE_IN_LIBRARY void check_resumed(FitProgress const& at, FitOptions const& how, FitFiles const& files,
                                     std::uint64_t samples, long steps, long per_epoch) {
  if (at.samples != samples)
    throw Error(
        {files.last, ": was saved by a training on other samples; say another .checkpoint, or delete the file"});
  if (!(at.history.monitor == how.monitor))
    throw Error({files.last, ": was saved by a training whose .monitor was ", at.history.monitor.name, ", not ",
                 how.monitor.name, "; say the same, or another .checkpoint"});
  auto const epochs = static_cast<long>(at.history.epochs.size());
  long const within = steps - at.first - epochs * per_epoch;
  if (at.within ? within >= 0 && within <= per_epoch : within == 0) return;
  throw Error({files.last, ": was saved after ", steps, " steps, which are not ", epochs, " epochs of ", per_epoch,
               " from step ", at.first, " on; it is of another Batch"});
}

}  // namespace cleave::session
