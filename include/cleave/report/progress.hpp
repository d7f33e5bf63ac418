// report/progress.hpp - the progress line: updated in place on a terminal, printed at intervals to a log.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

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
  Progress(std::FILE* out, long steps, int batch)
      : out_(out),
        terminal_(isatty(fileno(out)) != 0),
        steps_(steps),
        batch_(batch),
        begin_(std::chrono::steady_clock::now()) {}

  void show(long done, double loss) {
    double const seconds = elapsed(), rate = static_cast<double>(done) * batch_ / (seconds > 0 ? seconds : 1);
    bool const last = done >= steps_;
    if (!last && seconds - shown_ < (terminal_ ? 0.1 : 5.0)) return;
    shown_ = seconds;
    int const width = 24, full = steps_ > 0 ? static_cast<int>(width * done / steps_) : width;
    std::string const bar =
        std::string(static_cast<std::size_t>(full), '#') + std::string(static_cast<std::size_t>(width - full), '.');
    double const left = done > 0 ? seconds / static_cast<double>(done) * static_cast<double>(steps_ - done) : 0;
    std::fprintf(out_, "%s[%s] step %ld/%ld  loss %.4f  %.0f images/s  %s %.0f s%s", terminal_ ? "\r" : "", bar.c_str(),
                 done, steps_, loss, rate, last ? "took" : "ETA", last ? seconds : left,
                 terminal_ && !last ? "   " : "   \n");
    std::fflush(out_);
  }
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::FILE* out_;
  bool terminal_;
  long steps_;
  int batch_;
  std::chrono::steady_clock::time_point begin_;
  double shown_ = -1e9;
};

}  // namespace cleave::session
