// report/json_lines.hpp - JsonLines: a callback that writes a line of JSON for each epoch, and for steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "callback.hpp"
#include "metrics.hpp"

namespace cleave {

/// `trainer.fit(x, y, {.epochs = 20}, JsonLines("run.jsonl"))`: {"step":128,"epoch":1,"loss":0.25,...}, written as
/// training goes. With `every`, also a line for so many steps. A training that continues adds to the file what comes
/// after its first step. `fit` throws Error before the first step
/// if the file cannot be written; if that fails later, training goes on, and `error` says why.
class JsonLines {
 public:
  explicit JsonLines(std::string path, int every = 0) : path_(std::move(path)), every_(every) {
    if (every < 0) throw Error({"JsonLines: a line for every ", every, " steps; say at least 1, or 0 for none"});
  }

  void begin(FitStart const& start) {
    lines_ = std::make_unique<session::Metrics>("", path_, start.first, start.writes);
    if (!lines_->whole()) throw Error(lines_->warning());
  }
  int every() const { return every_; }
  void step(TrainedStep const& s) {
    lines_->add(io::JsonLine().add("step", s.step).add("epoch", s.epoch).add("loss", s.loss));
  }
  void epoch(Epoch const& e) {
    io::JsonLine line;
    line.add("step", e.steps).add("epoch", e.epoch).add("loss", e.loss);
    if (!std::isnan(e.val_loss)) line.add("val_loss", e.val_loss);
    if (!std::isnan(e.val_accuracy)) line.add("val_accuracy", e.val_accuracy);
    for (EpochValue const& m : e.measured) line.add(m.name, m.value);
    lines_->add(line.add("seconds", e.seconds));
  }
  /// Why lines are missing; empty if none is.
  std::string error() const { return lines_ ? lines_->warning() : ""; }

 private:
  std::string path_;
  int every_;
  std::unique_ptr<session::Metrics> lines_;
};

}  // namespace cleave
