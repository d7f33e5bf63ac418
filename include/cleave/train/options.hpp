// train/options.hpp - options of a trainer, Trainer::fit and a predictor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "../optim/rate.hpp"
#include "../report/history.hpp"

namespace cleave {

class ProcessGroup;

/// Of a trainer: `Trainer<Train> trainer({.replicas = 2});`
struct TrainerOptions {
  /// 0: as many as the plan fixes; else as this machine has cores for, at most one a micro-batch; of several processes,
  /// as many as they make with a rank each. With more of them each process has several ranks, all as many.
  int replicas = 0;
  std::uint64_t seed = 1;
  ProcessGroup* processes = nullptr;  ///< that share the ranks (process_group.hpp); none, or a group of one: one does
};

/// Of a predictor: `Predictor<Net> predict("mine.safetensors", {.threads = 4});`
struct PredictorOptions {
  int threads = 1;  ///< that share the blocks of one call; outputs do not depend on it
};

/// Of a training: `trainer.fit(x, y, {.epochs = 20, .validation = 0.1, .patience = 5});`
struct FitOptions {
  int epochs = 1;
  /// The share of samples that is held out, the same of every class, drawn from the seed: from 0 to below 1.
  double validation = 0;
  /// Training ends after so many epochs without a smaller val_loss, or a better `.monitor`; 0: never early.
  int patience = 0;
  /// Inputs are scaled to mean 0 and deviation 1 over the training samples, by feature (of an image by channel).
  bool standardise = false;
  /// Threads that read a data set ahead of the steps, where it is not in memory; 0: ranks read what they need.
  int readers = 1;
  std::optional<Rate> rate{};  ///< instead of the plan's
  /// A file in which the training is saved after each epoch, and within one as `.save_every` says. If it is there
  /// already, `fit` continues from it, with the results of a training that was never interrupted; if that was on other
  /// samples, `fit` throws Error. With samples held out, the best weights are in a file beside it:
  /// "mine-best.safetensors" beside "mine.safetensors".
  std::string checkpoint{};
  /// The longest time between two saves, in an epoch too: `.save_every = std::chrono::minutes(30)`; 0: after epochs
  /// only.
  std::chrono::milliseconds save_every = std::chrono::minutes(10);
  /// SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGPIPE end the training after a step; it is saved there if there is a
  /// `.checkpoint`, and `History::stop_reason` is `StopReason::Signal`. A second SIGINT ends the program at once. `fit`
  /// takes the signals of the whole program while it runs, and gives them back.
  bool stop_on_signals = false;
  /// Of `batches`: the loop goes on where the trainer is, as if this had made all its steps; `.epochs` are all epochs.
  bool resume = false;
  /// Of each sample, 0 or more, in a SampleWeighted loss; of those that `.validation` holds out too, but not of a set
  /// to hold out. None: those of the data set, or 1.
  std::vector<float> sample_weights{};
  /// What says which epoch is the best, for the weights in the end and for `.patience`.
  Monitor monitor{};
};

/// A layer of the model, counted from 0 with those that have no weights, and the name of the same module in PyTorch:
/// `trainer.load_torch("mlp.safetensors", {{0, "fc1"}, {2, "fc2"}})`.
struct TorchName {
  int layer = 0;
  std::string module;
};
using TorchNames = std::vector<TorchName>;

/// Ends a training that no longer improves: `EarlyStopping stop{.patience = 10};`, and after each epoch
/// `if (stop(val_loss)) break;`.
struct EarlyStopping {
  int patience = 0;  ///< epochs without a smaller loss; 0: never
  double least = std::numeric_limits<double>::infinity();
  int since = 0;  ///< epochs since the smallest loss

  /// Whether to stop, told the loss of an epoch.
  bool operator()(double loss) {
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss;
    return patience > 0 && since >= patience;
  }
  /// Whether the last loss was the smallest so far.
  bool improved() const { return since == 0; }
};

}  // namespace cleave
