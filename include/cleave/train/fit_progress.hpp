// train/fit_progress.hpp - how far a training by `fit` is: what its checkpoint has beside the trainer's state.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "../io/named_tensor.hpp"
#include "history.hpp"

namespace cleave::session {

struct FitProgress {
  long first = -1;  // the trainer's steps when it began; below 0: it begins now
  History history{};
  EarlyStopping stop{};

  bool ended() const { return history.stopped_early; }
  /// As text; epochs follow each other.
  std::string text() const {
    char line[256];
    std::snprintf(line, sizeof line, "%ld %d %.17g %d;", first, int{history.stopped_early}, stop.least, stop.since);
    std::string out = line;
    for (Epoch const& e : history.epochs) {
      std::snprintf(line, sizeof line, "%d %ld %.17g %.17g %.17g %.17g;", e.epoch, e.steps, e.loss, e.val_loss,
                    e.val_accuracy, e.seconds);
      out += line;
    }
    return out;
  }
  /// Throws Error if the text is no such.
  static FitProgress of(std::string const& text, std::string const& path) {
    FitProgress out;
    char const* at = text.c_str();
    auto const number = [&] {
      char* end = nullptr;
      double const v = std::strtod(at, &end);
      if (end == at) throw Error({path, ": what it says of its training cannot be read; it is damaged"});
      at = *end == ';' ? end + 1 : end;
      return v;
    };
    out.first = static_cast<long>(number());
    out.history.stopped_early = number() != 0;
    out.stop.least = number();
    out.stop.since = static_cast<int>(number());
    while (*at != '\0') {
      Epoch e;
      e.epoch = static_cast<int>(number());
      e.steps = static_cast<long>(number());
      e.loss = number();
      e.val_loss = number();
      e.val_accuracy = number();
      e.seconds = number();
      out.history.epochs.push_back(e);
    }
    return out;
  }
};

/// How `fit` saves and loads its trainer; without functions it does not.
struct FitFiles {
  std::string last{}, best{};
  std::function<void(std::string const& path, FitProgress const&)> save{};
  std::function<void(std::string const& path)> load{};
  explicit operator bool() const { return !last.empty(); }
};

/// "mine-best.safetensors" for "mine.safetensors".
inline std::string best_beside(std::string const& path) {
  auto const dot = path.rfind('.'), folder = path.rfind('/');
  bool const has_suffix = dot != std::string::npos && (folder == std::string::npos || dot > folder + 1);
  return has_suffix ? path.substr(0, dot) + "-best" + path.substr(dot) : path + "-best";
}

}  // namespace cleave::session
