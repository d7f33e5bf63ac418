// report/history.hpp - what a training tells of itself: its steps, its epochs, and all of them in the end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../io/json_line.hpp"
#include "../meta/error.hpp"
#include "../meta/in_library.hpp"

namespace cleave {

namespace session {
struct SamplesRead;  // train/fit.hpp
}

/// What a training by `fit` is about to do.
struct FitStart {
  long first = 0, last = 0;  ///< steps of the trainer before it, and after its last epoch
  int epochs = 1, batch = 1;
  long samples = 0, held_out = 0;
  bool writes = true;                                  ///< of several processes, this is the one that writes files
  session::SamplesRead const* samples_read = nullptr;  // for Report; until `fit` returns
};

/// One or more steps that a training has made since the last call.
struct TrainedStep {
  long step = 0;    ///< of the trainer so far
  int epoch = 1;    ///< counted from 1
  double loss = 0;  ///< the mean of these steps
  int steps = 1;    ///< how many they are
};

/// A figure that a callback has added to an epoch.
struct EpochValue {
  std::string name;
  double value = 0;
};

/// One epoch of a training. What is not known is NaN.
struct Epoch {
  int epoch = 0;                                               ///< counted from 1
  long steps = 0;                                              ///< of the trainer so far
  double loss = 0;                                             ///< mean over the epoch's steps, as the weights changed
  double val_loss = std::numeric_limits<double>::quiet_NaN();  ///< over the samples held out
  double val_accuracy = std::numeric_limits<double>::quiet_NaN();  ///< the same, of classes or of labels of 0 and 1
  double seconds = 0;                                              ///< so far
  std::vector<EpochValue> measured{};                              ///< by `Measure` (train/measure.hpp)

  /// Of loss, val_loss, val_accuracy and what is `measured`; NaN if none has the name.
  double value(std::string_view name) const {
    if (name == "loss") return loss;
    if (name == "val_loss") return val_loss;
    if (name == "val_accuracy") return val_accuracy;
    for (EpochValue const& m : measured)
      if (m.name == name) return m.value;
    return std::numeric_limits<double>::quiet_NaN();
  }
};

enum class Better : int { Lower, Higher };

/// The figure that says which epoch is the best: `{"val_accuracy", Better::Higher}`, or one by `Measure`.
struct Monitor {
  std::string name = "val_loss";
  Better better = Better::Lower;

  Monitor() = default;
  Monitor(std::string figure, Better which) : name(std::move(figure)), better(which) {}

  friend bool operator==(Monitor const&, Monitor const&) = default;
  bool of_held_out() const { return name == "val_loss" || name == "val_accuracy"; }
  /// The figure, negated if higher is better. Throws Error if the epoch has none of that name.
  CLEAVE_IN_LIBRARY double loss_of(Epoch const& e) const {
    double const figure = e.value(name);
    if (std::isnan(figure) && !has(e)) {
      std::string names = "loss, val_loss, val_accuracy";
      for (EpochValue const& m : e.measured) meta::append(names, {", ", m.name});
      throw Error({"fit: no epoch has the figure \"", name, "\" of .monitor; there are ", names});
    }
    return better == Better::Higher ? -figure : figure;
  }

 private:
  bool has(Epoch const& e) const {
    if (name == "val_accuracy") return false;  // NaN: of numbers there is no accuracy
    if (name == "loss" || of_held_out()) return true;
    return std::any_of(e.measured.begin(), e.measured.end(), [&](EpochValue const& m) { return m.name == name; });
  }
};

/// Why no further epoch was trained.
enum class StopReason : int {
  AllEpochs,
  Patience,
  Callback,
  Signal  // in this process or in another of the same training
};

/// What Trainer::fit has done.
struct History {
  std::vector<Epoch> epochs{};
  bool stopped_early = false;  ///< before the last of `.epochs`
  StopReason stop_reason = StopReason::AllEpochs;
  Monitor monitor{};

  /// The best epoch by `monitor`; if that is of samples held out and there are none, the one with the smallest loss.
  /// Throws Error if there is none.
  CLEAVE_IN_LIBRARY Epoch const& best() const {
    if (epochs.empty()) throw Error("history: no epoch was trained");
    Epoch const* best = epochs.data();
    for (Epoch const& e : epochs) {
      if (of(e) < of(*best)) best = &e;
    }
    return *best;
  }
  /// Of all epochs, in the order in which they came.
  std::vector<std::string> names_measured() const {
    std::vector<std::string> out;
    for (Epoch const& e : epochs) {
      for (EpochValue const& m : e.measured)
        if (std::find(out.begin(), out.end(), m.name) == out.end()) out.push_back(m.name);
    }
    return out;
  }
  /// A line for each epoch under a line of names; what is not known is empty.
  CLEAVE_IN_LIBRARY std::string csv() const {
    std::vector<std::string> const names = names_measured();
    std::string out = "epoch,steps,loss,val_loss,val_accuracy,seconds";
    for (std::string const& name : names) meta::append(out, {",", quoted(name)});
    out += '\n';
    auto const number = [](double v) {
      return std::isfinite(v) ? io::number_text(v) : std::isnan(v) ? "" : v > 0 ? "inf" : "-inf";
    };
    for (Epoch const& e : epochs) {
      meta::append(out, {e.epoch, ",", e.steps, ",", number(e.loss), ",", number(e.val_loss), ",",
                         number(e.val_accuracy), ",", number(e.seconds)});
      for (std::string const& name : names) meta::append(out, {",", number(e.value(name))});
      out += '\n';
    }
    return out;
  }

 private:
  static std::string quoted(std::string const& name) {
    if (name.find_first_of(",\"\n") == std::string::npos) return name;
    std::string out = "\"";
    for (char const c : name) out += c == '"' ? "\"\"" : std::string(1, c);
    return out + '"';
  }
  double of(Epoch const& e) const {
    double const figure = e.value(monitor.name);
    if (std::isnan(figure)) return monitor.of_held_out() ? e.loss : std::numeric_limits<double>::infinity();
    return monitor.better == Better::Higher ? -figure : figure;
  }
};

}  // namespace cleave
