// train/measure.hpp - Measure: a figure of each epoch beside loss and accuracy, for all other callbacks and the history.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "../data/metrics.hpp"
#include "../meta/error.hpp"
#include "../plan/members.hpp"
#include "../report/history.hpp"
#include "fit.hpp"

namespace cleave {

/// `trainer.fit(points, {.epochs = 20, .validation = 0.2}, {Measure("f1", trainer, MacroF1{}), ProgressBar(),
/// JsonLines("run.jsonl"), Report("report.html", trainer)})`: a metric (data/metrics.hpp) of the samples held out,
/// after each epoch; `epoch.value("f1")` is its value. Other callbacks show it, wherever in the list they are. Every
/// process computes it. `fit` throws Error before the first step if no samples are held out.
template <class Trained, class Metric = void> class Measure {
  static_assert(ClassMetric<Metric> || TargetMetric<Metric>,
                "Measure: a metric has add(outputs, class) or add(outputs, targets), merge and value");

 public:
  Measure(std::string name, Trained& trainer, Metric metric)
      : name_(std::move(name)), trainer_(trainer), metric_(std::move(metric)) {}

  void begin(FitStart const& start) {
    if (start.held_out == 0)
      throw Error({"Measure: \"", name_, "\" is of samples held out, and none are; say .validation = 0.1"});
    samples_ = start.samples_read;
  }
  void measure(Epoch& epoch) {
    if constexpr (plan::legal<typename Trained::plan>)  // else its violation has been reported
      epoch.measured.push_back({name_, trainer_.predictor().evaluate(samples_->held_out, metric_).value()});
  }

 private:
  std::string name_;
  Trained& trainer_;
  Metric metric_;
  session::SamplesRead const* samples_ = nullptr;
};
/// Of a function: `Measure("learning rate", [&] { return rate; })`.
template <class F> class Measure<F, void> {
  static_assert(std::convertible_to<std::invoke_result_t<F&>, double>, "Measure: the function returns a number");

 public:
  Measure(std::string name, F figure) : name_(std::move(name)), figure_(std::move(figure)) {}
  void measure(Epoch& epoch) { epoch.measured.push_back({name_, static_cast<double>(figure_())}); }

 private:
  std::string name_;
  F figure_;
};
template <class F> Measure(std::string, F) -> Measure<F>;
template <class Trained, class Metric> Measure(std::string, Trained&, Metric) -> Measure<Trained, Metric>;

}  // namespace cleave
