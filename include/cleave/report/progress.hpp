// report/progress.hpp - a progress line, updated in place on a terminal, printed at intervals to a log; ProgressBar.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "../meta/text.hpp"
#include "history.hpp"

namespace cleave::session {

/// ", waited 2.35 s for others, 0.10 s of it for gradients after its backward pass"; unknown figures are left out.
inline std::string waiting(std::optional<double> waited, std::optional<double> exposed) {
  char text[96] = "";
  if (!waited) return text;
  std::snprintf(text, sizeof text, ", waited %.2f s for others", *waited);
  std::string out = text;
  if (!exposed) return out;
  std::snprintf(text, sizeof text, ", %.2f s of it for gradients after its backward pass", *exposed);
  return out + text;
}

class Progress {
 public:
  Progress(std::FILE* out, long steps, int batch, char const* samples = "images")
      : out_(out),
        samples_(samples),
        terminal_(isatty(fileno(out)) != 0),
        steps_(steps),
        batch_(batch),
        begin_(std::chrono::steady_clock::now()) {}

  void show(long done, double loss) {
    double const seconds = elapsed(), rate = static_cast<double>(done) * batch_ / (seconds > 0 ? seconds : 1);
    bool const last = done >= steps_;
    if (!last && seconds - shown_ < (terminal_ ? 0.1 : 5.0)) return;
    shown_ = seconds;
    open_ = terminal_ && !last;
    int const width = 24, full = steps_ > 0 ? static_cast<int>(width * done / steps_) : width;
    std::string const bar =
        std::string(static_cast<std::size_t>(full), '#') + std::string(static_cast<std::size_t>(width - full), '.');
    double const left = done > 0 ? seconds / static_cast<double>(done) * static_cast<double>(steps_ - done) : 0;
    std::fprintf(out_, "%s[%s] step %ld/%ld  loss %.4f  %.0f %s/s  %s %.0f s%s", terminal_ ? "\r" : "", bar.c_str(),
                 done, steps_, loss, rate, samples_, last ? "took" : "ETA", last ? seconds : left,
                 terminal_ && !last ? "   " : "   \n");
    std::fflush(out_);
  }
  /// A line of its own.
  void say(std::string const& line) {
    std::fprintf(out_, "%s%s\n", open_ ? "\r\033[K" : "", line.c_str());
    std::fflush(out_);
    open_ = false;
  }
  /// Ends a line that would be updated.
  void end() {
    if (open_) std::fputc('\n', out_);
    open_ = false;
  }
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::FILE* out_;
  char const* samples_;
  bool terminal_, open_ = false;  // open: the line can be updated
  long steps_;
  int batch_;
  std::chrono::steady_clock::time_point begin_;
  double shown_ = -1e9;
};

}  // namespace cleave::session

namespace cleave {

/// `trainer.fit(x, y, {.epochs = 20}, ProgressBar())`: step, loss, samples a second and the time that is left, and a
/// line for each epoch. Of several processes the first prints.
class ProgressBar {
 public:
  explicit ProgressBar(std::FILE* out = stderr) : out_(out) {}

  void begin(FitStart const& start) {
    start_ = start;
    every_ = 1;
    told_ = 0;
    line_.reset();
    if (start.writes) line_.emplace(out_, start.last - start.first, start.batch, "samples");
  }
  /// About as many as a tenth of a second has.
  int every() const { return every_; }
  void step(TrainedStep const& s) {
    if (!line_) return;
    line_->show(s.step - start_.first, s.loss);
    double const now = line_->elapsed(), took = now - std::exchange(told_, now);
    every_ = static_cast<int>(std::clamp(0.1 / std::max(took, 1e-6) * every_, 1.0, 256.0));
  }
  void epoch(Epoch const& e) {
    if (!line_) return;
    auto const figure = [](char const* name, double value) {
      char text[32] = "";
      std::snprintf(text, sizeof text, " %.4f", value);
      return std::isnan(value) ? std::string() : meta::joined({", ", name, text});
    };
    std::string measured;
    for (EpochValue const& m : e.measured) measured += figure(m.name.c_str(), m.value);
    line_->say(meta::joined({"epoch ", e.epoch, " of ", start_.epochs, figure("loss", e.loss),
                             figure("val_loss", e.val_loss), figure("val_accuracy", e.val_accuracy), measured}));
    told_ = line_->elapsed();
  }
  void end(History const&) {
    if (line_) line_->end();
  }

 private:
  std::FILE* out_;
  FitStart start_;
  int every_ = 1;
  double told_ = 0;  // seconds
  std::optional<session::Progress> line_;
};

}  // namespace cleave
