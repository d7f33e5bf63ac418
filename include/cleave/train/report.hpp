// train/report.hpp - Report: a callback that leaves a training as one page for a browser.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "../plan/members.hpp"
#include "../report/run_report.hpp"
#include "../schedule/listing.hpp"
#include "fit.hpp"
#include "predicted_classes.hpp"

namespace cleave {

/// `trainer.fit(x, y, {.epochs = 20, .validation = 0.1}, Report("report.html", trainer))`: loss and held-out curves,
/// the confusion matrix and the first pictures held out, a step's timeline by rank, bytes sent by collective, memory by
/// category and over the step, the printed schedule. The page needs no other file. `fit` throws Error before the first
/// step if it cannot be written; if that fails in the end, the trainer is not harmed, and `error` says why.
template <class Trained> class Report {
 public:
  Report(std::string path, Trained& trainer, std::string title = "Training")
      : path_(std::move(path)), title_(std::move(title)), trainer_(trainer) {}

  void begin(FitStart const& start) {
    start_ = start;
    error_.clear();
    auto& of = session::common(trainer_);
    session::Description const& plan = session::description_of(of);
    facts_ = session::plan_facts(schedule::listing(plan.program, plan.request, of.ranks()), plan.program, plan.request,
                                 of.ranks());
    if (start.writes) prepare_file();
    if (shows_a_step) of.trace(traced_steps);
  }
  /// Every process calls it.
  void end(History const& history) try {
    session::RunReport shown;
    shown.class_names = start_.samples_read->training.class_names;
    if (start_.held_out > 0) add_held_out(shown);
    if constexpr (requires { trainer_.ledger(); }) shown.ages = trainer_.ledger().ages;
    if (start_.writes) session::write_page(path_, page(history, std::move(shown)));
  } catch (Error const& e) {
    error_ = e.what();
  }
  /// Why the page was not written in the end; empty if it was.
  std::string const& error() const { return error_; }

 private:
  static constexpr int traced_steps = 5, shown_pictures = 20;
  /// A device's step that is traced is no single graph.
  static constexpr bool shows_a_step = !requires(Trained & t) { t.machine(); };

  /// Throws Error if it cannot be written; a page of an earlier training stays until this one has ended.
  void prepare_file() {
    if (!io::exists(path_)) return session::write_page(path_, page({}, {}));
    std::vector<unsigned char> const before = io::read_file(path_);
    io::write_file(path_, io::Bytes(before));
  }
  void add_held_out(session::RunReport& shown) {
    session::SampleSource const& of = start_.samples_read->held_out;
    session::Loader batches(of, start_.samples_read->scaling, start_.samples_read->in_order);
    batches.begin_epoch(0, 0);
    shown.confusion = session::common(trainer_).score(batches.feed(), of.size()).confusion;
    long const classes = std::lround(std::sqrt(static_cast<double>(shown.confusion.size())));
    bool const pictures = of.input.dims == 3 && (of.input[0] == 1 || of.input[0] == 3) && of.labels == 1;
    if (pictures && classes > 0) shown.pictures = first_pictures(of, classes);
  }
  session::Pictures first_pictures(session::SampleSource const& of, long classes) {
    session::Scaling const& scaling = start_.samples_read->scaling;
    std::vector<float> const inverse = scaling.inverse_deviations();
    auto const size = static_cast<std::size_t>(of.input.size());
    long const count = std::min<long>(shown_pictures, of.size());
    session::Pictures out;
    out.shape = of.input;
    out.predicted = session::predicted_classes(
        session::common(trainer_),
        [&](long i, float* x) {  // by several ranks at once
          int label = 0;
          of.read(i % of.size(), nullptr, x, &label, nullptr);
          session::scale({x, size}, scaling.mean, inverse, false);
        },
        classes, count);
    std::vector<float> x(size);
    for (long i = 0; i < count; ++i) {
      of.read(i, nullptr, x.data(), &out.label.emplace_back(), nullptr);
      auto const [low, high] = std::minmax_element(x.begin(), x.end());
      float const by = *high > *low ? 255 / (*high - *low) : 0;
      for (float const v : x) out.pixels.push_back(static_cast<unsigned char>(std::lround((v - *low) * by)));
    }
    return out;
  }
  std::string page(History const& history, session::RunReport shown) const {
    auto& of = session::common(trainer_);
    shown.title = title_;
    shown.told = meta::joined({"Trained by cleave ", version, "."});
    session::Curves curves;
    for (Epoch const& e : history.epochs) {
      auto const step = static_cast<double>(e.steps);
      curves.losses.x.push_back(step), curves.losses.y.push_back(e.loss);
      if (start_.held_out > 0) curves.held_out.push_back({step, e.val_loss, e.val_accuracy});
    }
    for (std::string const& name : history.names_measured()) {
      io::Series& s = curves.measured.emplace_back(io::Series{name, {}, {}});
      for (Epoch const& e : history.epochs) s.x.push_back(static_cast<double>(e.steps)), s.y.push_back(e.value(name));
    }
    shown.facts.add("training samples", start_.samples)
        .add("samples of a step", start_.batch)
        .add("ranks", of.ranks().world());
    if (!history.epochs.empty()) {
      Epoch const &best = history.best(), &last = history.epochs.back();
      shown.facts.add("epochs", last.epoch).add("steps", last.steps).add("seconds", last.seconds);
      shown.facts.add("loss of the last epoch", last.loss);
      if (start_.held_out > 0) {
        shown.facts.add("held-out samples", start_.held_out).add("best epoch", best.epoch);
        shown.facts.add("its held-out loss", best.val_loss);
        if (!std::isnan(best.val_accuracy)) shown.facts.add("its held-out accuracy", best.val_accuracy);
      }
    }
    return shown.json(facts_, session::description_of(of).program, curves,
                      shows_a_step ? of.timelines() : std::vector<backend::host::Timeline const*>{});
  }

  std::string path_, title_, error_;
  Trained& trainer_;
  FitStart start_;
  session::PlanFacts facts_;
};
/// Of a plan that is not legal, whose violation has been reported.
template <class Trained>
requires(!plan::legal<typename Trained::plan>) class Report<Trained> {
 public:
  Report(std::string const&, Trained&, std::string const& = {}) {}
  void end(History const&) {}
  std::string error() const { return {}; }
};

}  // namespace cleave
