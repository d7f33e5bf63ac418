// cli/fit.hpp - the training loop of a program: epochs, progress, held-out accuracy, saves, and the files it leaves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>

#include "../data/data.hpp"
#include "../io/chart.hpp"
#include "../io/json_line.hpp"
#include "../io/picture.hpp"
#include "../report/metrics.hpp"
#include "../report/progress.hpp"
#include "../report/run_report.hpp"
#include "../report/trace.hpp"
#include "../schedule/listing.hpp"
#include "../train/pace.hpp"
#include "../train/predicted_classes.hpp"
#include "../train/stop.hpp"
#include "checkpoint_files.hpp"
#include "save_every.hpp"

namespace cleave::session {

/// What the command line said.
struct Job {
  std::string program, out;
  int ranks = 1, epochs = 1;
  std::uint64_t seed = 1;
  bool json = false, leads = true;  // leads: this process writes
  std::FILE* say = stdout;
  Tracing tracing{};
  SaveEvery save_every{};
  PlanFacts plan{};
};

/// What a training loop takes from a plan and its data class, besides the plan's description.
struct FitSettings {
  Rate rate;
  Variation variation;
  Pace pace;
};

/// One training by a trainer, from the step at which it is.
template <class Trained, class Set> class Fitting {
 public:
  [[gnu::cold]] Fitting(Trained& trainer, Job const& job, Sets<Set> const& sets, FitSettings const& settings)
      : trainer_(trainer),
        plan_(description_of(trainer)),
        job_(job),
        sets_(sets),
        batches_(sets.training, sets.preprocessing.scaling, plan_.batch, job.seed, true, settings.variation),
        test_(sets.held_out, sets.preprocessing.scaling, plan_.batch, job.seed, false),
        per_epoch_(batches_.steps_per_epoch()),
        first_(trainer.steps()),
        last_(per_epoch_ * job.epochs),
        rate_(settings.rate.over(last_)),
        pace_(settings.pace),
        saver_(trainer, job.program, job.out, job.seed, job.leads, first_ > 0),
        progress_(job.say, last_ - first_, plan_.batch) {
    saver_.files.preprocessing = &sets.preprocessing;
    trainer.set_rate(rate_);
    if (job.tracing) {
      trainer.trace(job.tracing.steps);
    } else if (shows_a_step) {
      trainer.trace(5);
    }
  }

  int run() {
    if (first_ > 0) {
      std::fprintf(job_.say, "resumed at step %ld of %ld: %s\n", first_, last_,
                   first_ < last_ ? (std::to_string(last_ - first_) + " steps are left").c_str() : "no step is left");
    }
    if (first_ >= last_) {
      score_ = trainer_.score(test_.feed(), sets_.held_out.count);
      tell_sums();
      std::fprintf(job_.say, "nothing was written\n");
      tell_json(false);
      return 0;
    }
    if (first_ == 0 && job_.leads && io::exists(saver_.files.last)) {
      std::fprintf(job_.say, "%s is of an earlier run; this one replaces it (--resume auto would go on with it)\n",
                   saver_.files.last.c_str());
    }
    Metrics metrics(job_.program, job_.out + "/metrics.jsonl", first_, job_.leads);
    bool stopped = false;
    try {
      stopped = !train(metrics);
      if (trainer_.steps() > first_) saver_.save();  // else there is nothing new, and maybe something better
    } catch (Diverged const& e) {
      throw Diverged({e.what(), saver_.told()});
    } catch (Error const& e) {
      throw Error({e.what(), saver_.told()});
    }
    if (!stopped) return finish(metrics);
    if (job_.leads) {
      std::fprintf(stderr, "%s: stopped by %s at step %ld of %ld%s; go on with --resume auto\n", job_.program.c_str(),
                   StopSignals::name_of(StopSignals::received()).c_str(), trainer_.steps(), last_,
                   trainer_.steps() > first_ ? ("; saved " + saver_.files.last).c_str() : saver_.told().c_str());
    }
    tell_json(true);
    return ExitCode::stopped;
  }

 private:
  /// False if it was stopped before the last step.
  bool train(Metrics& metrics) {
    saved_at_ = progress_.elapsed();
    for (long step = first_; step < last_;) {
      long const epoch = step / per_epoch_, begin = epoch * per_epoch_,
                 end = std::min({last_, begin + per_epoch_, step + pace_.most - (step - begin) % pace_.most});
      batches_.shuffle(epoch);
      double sum = 0;
      long const from = step;
      bool stop = false;
      while (step < end && !stop) {
        Next const next = agree_on(
            trainer_,
            {StopSignals::received() != 0, job_.save_every.after(progress_.elapsed() - saved_at_), pace_.next()},
            job_.leads);
        if (step > first_ && (due(step) || next.save)) save();
        stop = next.stop;
        if (stop) break;
        int const count = static_cast<int>(std::min<long>(next.steps, job_.save_every.next(step, end) - step));
        double const since = progress_.elapsed();
        for (double l : trainer_.train(step, count, batches_.feed())) sum += l;
        pace_.took(count, progress_.elapsed() - since);
        seconds_ += progress_.elapsed() - since;
        step += count;
      }
      if (step > from) tell(metrics, step, sum / static_cast<double>(step - from));
      if (stop) return false;
      if (step % per_epoch_ == 0) end_epoch(metrics, step);
    }
    return true;
  }
  /// By steps and epochs, which all processes count alike.
  bool due(long step) { return job_.save_every.due(std::exchange(asked_, step), step, per_epoch_); }
  void save() {
    saver_.save_now_and_then();
    saved_at_ = progress_.elapsed();
  }
  void tell(Metrics& metrics, long step, double loss) {
    loss_ = loss;
    metrics.add_loss(step, loss);
    metrics.add(io::JsonLine()
                    .add("step", step)
                    .add("epoch", static_cast<double>(step) / static_cast<double>(per_epoch_))
                    .add("loss", loss)
                    .add("rate", static_cast<double>(rate_.at(step - 1)))
                    .add("seconds", seconds_));
    progress_.show(step - first_, loss);
  }
  /// Saves before it evaluates: that may take long.
  void end_epoch(Metrics& metrics, long step) {
    if (step == last_) {
      saver_.save();
    } else if (due(step)) {
      save();
    }
    score_ = trainer_.score(test_.feed(), sets_.held_out.count);
    io::JsonLine line;
    metrics.add(add_score(line.add("step", step), score_));
    metrics.add_held_out(step, score_.loss, score_.accuracy);
    if (!job_.save_every.never()) saver_.save_if_best(std::isfinite(score_.loss) ? score_.loss : loss_);
    if (step < last_) {
      std::fprintf(job_.say, "epoch %ld: held-out %s\n", step / per_epoch_, text_of(score_).c_str());
    }
  }

  /// Weights are saved; what comes now may fail without harm to them.
  int finish(Metrics const& metrics) {
    tell_sums();
    std::string const curve = job_.out + "/loss.svg", sheet = job_.out + "/samples.png",
                      page = job_.out + "/report.html";
    bool all = metrics.whole();
    Pictures const seen = first_pictures();  // every process computes them
    if (job_.leads) {
      std::string files = saver_.files.last;
      if (saver_.has_best()) files += ", " + saver_.files.best;
      if (metrics.whole()) files += ", " + metrics.path();
      auto const add = [&](std::string const& path, auto write) {
        bool const there = wrote(job_.program, write);
        if (there) files += ", " + path;
        all = all && there;
      };
      add(curve, [&] {
        io::write_line_chart(curve, {job_.program + ": loss", "step", "loss"}, {metrics.curves().losses});
      });
      add(page, [&] { write_page(page, report(seen).json(job_.plan, plan_.program, metrics.curves(), timelines())); });
      if constexpr (std::is_same_v<Set, io::Images>) {
        add(sheet, [&] { io::write_png(sheet, io::sample_sheet(sets_.training, 10)); });
      }
      std::fprintf(job_.say, "wrote %s\n", files.c_str());
    }
    if (job_.tracing) {
      all = wrote(job_.program, [&] { job_.tracing.write(job_.say, plan_.program, trainer_.timelines()); }) && all;
    }
    tell_json(false);
    return all ? 0 : ExitCode::error;
  }
  /// Of a device the trace is made on request only: its step is then no single graph.
  static constexpr bool shows_a_step = !requires(Trained & t) { t.machine(); };
  std::vector<backend::host::Timeline const*> timelines() {
    if (!shows_a_step && !job_.tracing) return {};
    return trainer_.timelines();
  }
  Pictures first_pictures() {
    Pictures out;
    if constexpr (std::is_same_v<Set, io::Images>) {
      io::Images const& set = sets_.held_out;
      long const classes = std::lround(std::sqrt(static_cast<double>(score_.confusion.size())));
      int const count = std::min(20, set.count);
      if (classes == 0) return out;
      backend::host::Feed const feed = test_.feed();
      out.shape = Shape(set.channels, set.height, set.width);
      out.predicted = predicted_classes(
          trainer_, [&](long i, float* x) { feed.pixels(feed.self, 0, i, 1, x); }, classes, count);
      for (int i = 0; i < count; ++i) {
        out.label.push_back(set.label(i));
        auto const of = set.picture(i);
        out.pixels.insert(out.pixels.end(), of.begin(), of.end());
      }
    }
    return out;
  }
  RunReport report(Pictures const& seen) {
    RunReport r{job_.program, meta::joined({"Trained by cleave ", version, "."})};
    if (!std::isnan(score_.accuracy)) r.facts.add("held-out accuracy", score_.accuracy);
    r.facts.add("held-out loss", score_.loss)
        .add("held-out samples", sets_.held_out.count)
        .add("training samples", sets_.training.count)
        .add("training loss", loss_)
        .add("steps", trainer_.steps())
        .add("samples of a step", plan_.batch)
        .add("ranks", job_.ranks)
        .add("seconds", seconds_)
        .add("samples a second", speed())
        .add("seed", job_.seed);
    r.class_names = sets_.preprocessing.class_names;
    r.confusion = score_.confusion;
    r.pictures = seen;
    if constexpr (requires { trainer_.ledger(); }) r.ages = trainer_.ledger().ages;
    return r;
  }
  double speed() const {
    return seconds_ > 0 ? static_cast<double>(trainer_.steps() - first_) * plan_.batch / seconds_ : 0;
  }
  void tell_sums() {
    std::fprintf(job_.say, "held-out %s of %d %s; %.1f s, %.0f %s/s\n", text_of(score_).c_str(), sets_.held_out.count,
                 plural_of<Set>, seconds_, speed(), plural_of<Set>);
    std::fprintf(job_.say, "rank 0 sent %s elements%s\n", schedule::text::grouped(trainer_.sent(0)).c_str(),
                 waiting(trainer_.waited(0), trainer_.exposed(0)).c_str());
    if constexpr (requires { trainer_.ledger(); }) std::fprintf(job_.say, "%s", trainer_.ledger().text().c_str());
  }
  void tell_json(bool stopped) {
    io::JsonLine line;
    if (!stopped) add_score(line, score_);
    line.add("loss", loss_)
        .add("seconds", seconds_)
        .add("images_per_second", speed())
        .add("elements_sent", trainer_.sent(0))
        .add("bytes_sent", trainer_.sent_bytes(0))
        .add("ranks", job_.ranks)
        .add("steps", trainer_.steps());
    if (std::optional<double> const exposed = trainer_.exposed(0)) line.add("exposed_seconds", *exposed);
    if constexpr (requires { trainer_.ledger(); }) {
      auto const ledger = trainer_.ledger();
      line.add("mean_staleness", ledger.mean_age());
      line.add("dropped", std::reduce(ledger.dropped.begin(), ledger.dropped.end()));
    }
    if (stopped) line.add("stopped", true);
    if (job_.json && job_.leads) std::printf("%s\n", line.text().c_str());
  }

  Trained& trainer_;
  Description const& plan_;
  Job const& job_;
  Sets<Set> const& sets_;
  Batches<Set> batches_, test_;
  long per_epoch_, first_, last_;
  long asked_ = first_;  // the step at which it was asked last whether a save is due
  Rate rate_;
  Pace pace_;
  Saver<Trained> saver_;
  Progress progress_;
  backend::host::Score score_{};
  double loss_ = 0, seconds_ = 0, saved_at_ = 0;
};

template <class Trained, class Set>
int fit_for(Trained& trainer, Job const& job, Sets<Set> const& sets, FitSettings const& settings) {
  return Fitting<Trained, Set>(trainer, job, sets, settings).run();
}
/// Trains by any trainer of plan P.
template <class P, class Data, class Trained, class Set>
int fit(Trained& trainer, Job const& job, Sets<Set> const& sets) {
  return fit_for(common(trainer), job, sets, {P::rate, variation_of<Data>(), pace_of<P>(trainer.ranks().replicas())});
}

}  // namespace cleave::session
