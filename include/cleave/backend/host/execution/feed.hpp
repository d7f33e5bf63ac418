// backend/host/execution/feed.hpp - the source of samples, what a plan requires of them, and the result of an evaluation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../../meta/error.hpp"
#include "../../../op/operands.hpp"
#include "../../../schedule/program.hpp"

namespace cleave::backend::host {

/// The source of samples. Each function writes the samples [first, first + count) of a step's batch. `pixels`: inputs
/// (count, input shape); `labels`: class numbers (count, Wanted::labels), from 0, or op::ignored where there are
/// several; `targets`: numbers (count, shape of the loss's input), for losses of numbers. One of the last two may be
/// null. With both, the loss of MeanSquaredError uses the targets, and accuracy uses the labels. `sample_weights`:
/// (count), for a SampleWeighted loss; null: each is 1.
struct Feed {
  void const* self = nullptr;
  void (*pixels)(void const* self, long step, long first, int count, float* out) = nullptr;
  void (*labels)(void const* self, long step, long first, int count, int* out) = nullptr;
  void (*targets)(void const* self, long step, long first, int count, float* out) = nullptr;
  void (*sample_weights)(void const* self, long step, long first, int count, float* out) = nullptr;
};

/// What the loss of a plan compares a sample's outputs with.
struct Wanted {
  std::string_view loss;
  long outputs = 0;  // of a sample, or of each of its positions: as many classes, or as many numbers
  op::Target target = op::Target::Class;
  int labels = 1;  // classes of a sample: one for each position, if the loss is of each
  bool weighs_samples = false;
};
/// The places of what a loss compares samples with: labels (count, Wanted::labels), targets (count, outputs), and the
/// weight of the sample beside each label.
struct Answers {
  int* labels = nullptr;
  float *targets = nullptr, *sample_weights = nullptr;
};
/// Whether the loss uses the targets of this feed.
constexpr bool takes_numbers(Wanted const& w, Feed const& feed) {
  return w.target != op::Target::Class && feed.targets;
}

/// Samples [first, first + count) of a step's batch, of which the first `valid` are in the data.
struct SampleRange {
  long step = 0, first = 0;
  int count = 0;
  long valid = std::numeric_limits<long>::max();
};

[[noreturn]] inline void refuse_label(Wanted const& w, long step, long sample, long label) {
  throw Error({"step ", step, ", sample ", sample, ": label ", label, ", but ", w.loss, " has ", w.outputs,
               " classes, 0 to ", w.outputs - 1,
               "; correct the label, or give the model's last layer an output for every class"});
}

/// Reads weights of samples, if the loss reads them; an Error names the first that is not finite or below 0.
inline void take_weights(Feed const& feed, Wanted const& w, SampleRange const& of, float* weights) {
  if (feed.sample_weights && !w.weighs_samples) {
    throw Error({"the feed has weights of samples, but ", w.loss,
                 " does not read them; end the model with SampleWeighted<loss>"});
  }
  if (!w.weighs_samples) return;
  long const valid = std::clamp<long>(of.valid, 0, of.count);
  std::fill_n(weights, of.count, 1.0f);
  if (feed.sample_weights) feed.sample_weights(feed.self, of.step, of.first, of.count, weights);
  for (long i = 0; i < valid; ++i) {
    if (std::isfinite(weights[i]) && weights[i] >= 0) continue;
    throw Error({"step ", of.step, ", sample ", of.first + i, ": its weight ", meta::short_number(weights[i]),
                 " is not a finite number of 0 or more"});
  }
  std::fill(weights + valid, weights + of.count, 0.0f);
  for (long i = of.count - 1; w.labels > 1 && i >= 0; --i) std::fill_n(weights + i * w.labels, w.labels, weights[i]);
}

/// Reads labels (count, w.labels) and, if the loss uses numbers, targets (count, outputs) from the feed, and checks
/// them: an Error names the first label that is no class, or target that is not finite. Classes become one-hot targets.
/// Samples that are not in the data are 0.
inline void take_answers(Feed const& feed, Wanted const& w, SampleRange const& of, Answers to) {
  int* const labels = to.labels;
  float* const targets = to.targets;
  bool const numbers = takes_numbers(w, feed);
  long const valid = std::clamp<long>(of.valid, 0, of.count);
  if (!numbers && (!feed.labels || w.target == op::Target::Numbers)) {
    throw Error(w.target == op::Target::Numbers
                    ? std::string(w.loss) + " compares with numbers, but the feed has no targets; set Feed::targets"
                : feed.targets ? std::string(w.loss) +
                                     " compares with classes, but the feed has targets and no labels; set "
                                     "Feed::labels, or end the model with MeanSquaredError"
                               : "the feed has neither labels nor targets; set Feed::labels or Feed::targets");
  }
  if (feed.labels) {
    feed.labels(feed.self, of.step, of.first, of.count, labels);
    for (long i = 0; i < valid * w.labels; ++i) {
      if (w.labels > 1 && labels[i] == op::ignored) continue;
      if (labels[i] < 0 || labels[i] >= w.outputs) refuse_label(w, of.step, of.first + i / w.labels, labels[i]);
    }
    std::fill(labels + valid * w.labels, labels + of.count * w.labels, 0);
  } else {
    std::fill_n(labels, of.count * w.labels, 0);
  }
  if (numbers) {
    feed.targets(feed.self, of.step, of.first, of.count, targets);
    for (long i = 0; i < valid * w.outputs; ++i) {
      bool const shares = w.target == op::Target::Shares;
      if (std::isfinite(targets[i]) && (!shares || (targets[i] >= 0 && targets[i] <= 1))) continue;
      throw Error({"step ", of.step, ", sample ", of.first + i / w.outputs, ": target ", i % w.outputs,
                   (std::isfinite(targets[i]) ? " is not from 0 to 1, with which " + std::string(w.loss) + " compares"
                                              : " is not a finite number; leave the sample out")});
    }
    std::fill(targets + valid * w.outputs, targets + of.count * w.outputs, 0.0f);
  } else if (w.target != op::Target::Class) {
    std::fill_n(targets, of.count * w.outputs, 0.0f);
    for (long i = 0; i < of.count; ++i) targets[i * w.outputs + labels[i]] = 1;
  }
  take_weights(feed, w, of, to.sample_weights);
}

/// Tokens that a feed has written as f32, in their place as whole numbers; -1 for what is none.
inline void make_tokens(float* from, long count) {
  for (long i = 0; i < count; ++i) {
    std::int32_t const token = op::token_of(from[i]);
    std::memcpy(from + i, &token, sizeof token);
  }
}

/// The results of an evaluation pass on one rank; each sample is counted by exactly one rank.
struct Seen {
  long samples = 0, labels = 0, correct = 0;
  double loss = 0;                      // the sum over samples
  std::vector<long> confusion{};        // see Score
  long shares = 0, shares_correct = 0;  // outputs that are compared with targets of 0 and 1

  Seen& operator+=(Seen const& o) {
    samples += o.samples;
    correct += o.correct;
    labels += o.labels;
    shares += o.shares;
    shares_correct += o.shares_correct;
    loss += o.loss;
    if (confusion.size() < o.confusion.size()) confusion.resize(o.confusion.size());
    for (std::size_t i = 0; i < o.confusion.size(); ++i) confusion[i] += o.confusion[i];
    return *this;
  }
  /// One sample of a class, and the class of its largest output.
  void take(long classes, long label, long largest) {
    if (confusion.empty()) confusion.resize(static_cast<std::size_t>(classes * classes));
    ++confusion[static_cast<std::size_t>(label * classes + largest)];
  }
};
/// The most classes of which an evaluation counts the pairs.
inline constexpr long most_paired_classes = 100;
/// The number of such pairs; 0: none are counted.
constexpr long pairs_of(schedule::Program const& p) {
  long const classes = p.targets > 0 ? 0 : p.outputs / p.labels;
  return classes <= most_paired_classes ? classes * classes : 0;
}

/// The result of an evaluation: means over `samples` samples. Accuracy is the share of them, or of all their positions,
/// whose largest output is at their label; NaN if the feed has no labels, or none that counts.
struct Score {
  double loss = 0, accuracy = 0;
  long samples = 0;
  /// (classes, classes): samples by label and by the class of their largest output, if the loss is of at most 100
  /// classes; else empty.
  std::vector<long> confusion{};

  static Score of(Seen all, Feed const& feed) {
    double const n = all.samples == 0 ? 1 : static_cast<double>(all.samples);
    bool const counted = feed.labels && (all.labels > 0 || all.samples == 0);
    auto const share = [](long right, long of) {
      return static_cast<double>(right) / static_cast<double>(std::max(of, 1L));
    };
    double const accuracy = counted          ? share(all.correct, all.labels)
                            : all.shares > 0 ? share(all.shares_correct, all.shares)
                                             : std::numeric_limits<double>::quiet_NaN();
    return {all.loss / n, accuracy, all.samples, std::move(all.confusion)};
  }
  /// The same with `sum(values, count)` over the processes of a run, each of which has seen some of the samples: on
  /// which rank, or in no order. Losses are added in the order of the ranks, wherever those are.
  template <class Sum>
  static Score over_processes(std::vector<Seen> const& mine, long pairs, Feed const& feed, Sum sum) {
    Seen here;
    for (Seen const& of_rank : mine) here += of_rank;
    std::vector<double> all{static_cast<double>(here.correct), static_cast<double>(here.samples),
                            static_cast<double>(here.labels), static_cast<double>(here.shares),
                            static_cast<double>(here.shares_correct)};
    auto const counts = static_cast<long>(all.size()), losses = static_cast<long>(mine.size());
    for (Seen const& of_rank : mine) all.push_back(of_rank.loss);
    all.insert(all.end(), here.confusion.begin(), here.confusion.end());
    all.resize(static_cast<std::size_t>(counts + losses + pairs));
    sum(all.data(), static_cast<int>(all.size()));
    Seen of{static_cast<long>(all[1]), static_cast<long>(all[2]), static_cast<long>(all[0])};
    for (long r = 0; r < losses; ++r) of.loss += all[static_cast<std::size_t>(counts + r)];
    of.confusion.assign(all.begin() + counts + losses, all.end());
    of.shares = static_cast<long>(all[3]);
    of.shares_correct = static_cast<long>(all[4]);
    return Score::of(std::move(of), feed);
  }
  /// The accuracy; throws Error if there is none.
  double checked_accuracy() const {
    if (!std::isnan(accuracy)) return accuracy;
    throw Error("accuracy: the feed has targets and no labels; ask score(feed, samples).loss");
  }
};

/// The tensors of a rank in a checkpoint: weights, the optimizer's tensors, running statistics.
enum class Region : unsigned char { Weights, Moments, States };

}  // namespace cleave::backend::host
