// train/fit_progress.hpp - how far a training by `fit` is: what its checkpoint has beside the trainer's state.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "../io/parse_double.hpp"
#include "../meta/in_library.hpp"
#include "../report/history.hpp"
#include "options.hpp"

namespace cleave::session {

struct FitProgress {
  long first = -1;            // the trainer's steps when it began; below 0: it begins now
  std::uint64_t samples = 0;  // a checksum
  History history{};
  EarlyStopping stop{};
  bool within = false;        // an epoch, of which so many steps as the trainer has made are done
  double sum = 0;             // of the losses of these
  double seconds_within = 0;  // until then, of all epochs

  double seconds() const {
    return within ? seconds_within : history.epochs.empty() ? 0 : history.epochs.back().seconds;
  }
  /// As text: numbers with a space behind each; names have their length before them.
  CLEAVE_IN_LIBRARY std::string text() const {
    std::string out;
    auto const add = [&](auto... numbers) {
      char digits[64];
      (out.append(digits, std::to_chars(digits, digits + sizeof digits, numbers).ptr).push_back(' '), ...);
    };
    add(first, samples, int{history.stopped_early}, stop.least, stop.since);
    for (Epoch const& e : history.epochs) add(e.epoch, e.steps, e.loss, e.val_loss, e.val_accuracy, e.seconds);
    if (!(history.monitor == Monitor())) {
      out += monitor_of_best;
      add(history.monitor.name.size());
      out += history.monitor.name;
      add(int{history.monitor.better == Better::Higher});
    }
    if (within) {
      out += steps_of_epoch;
      add(sum, seconds_within);
    }
    if (history.names_measured().empty()) return out;
    out += measured_of_epochs;
    for (Epoch const& e : history.epochs) {
      add(e.measured.size());
      for (EpochValue const& m : e.measured) {
        add(m.name.size());
        out += m.name;
        add(m.value);
      }
    }
    return out;
  }
  /// Throws Error if the text is no such.
  CLEAVE_IN_LIBRARY static FitProgress of(std::string const& text, std::string const& path) {
    char const *at = text.data(), *const last = at + text.size();
    auto const damaged = [&] { throw Error({path, ": what it says of its training cannot be read; it is damaged"}); };
    auto const read = [&](auto& number) {
      std::from_chars_result const r = from_text(at, last, number);
      if (r.ec != std::errc() || r.ptr == last || *r.ptr != ' ') damaged();
      at = r.ptr + 1;
    };
    auto const read_name = [&] {
      std::size_t letters = 0;
      read(letters);
      if (static_cast<std::size_t>(last - at) < letters) damaged();
      return std::string(std::exchange(at, at + letters), letters);
    };
    auto const follows = [&](char mark) {
      if (at == last || *at != mark) return false;
      ++at;
      return true;
    };
    FitProgress out;
    int ended = 0;
    read(out.first), read(out.samples), read(ended), read(out.stop.least), read(out.stop.since);
    out.history.stopped_early = ended != 0;
    if (ended != 0) out.history.stop_reason = StopReason::Patience;
    while (at != last && *at >= '0' && *at <= '9') {
      Epoch& e = out.history.epochs.emplace_back();
      read(e.epoch), read(e.steps), read(e.loss), read(e.val_loss), read(e.val_accuracy), read(e.seconds);
    }
    if (follows(monitor_of_best)) {
      int higher = 0;
      out.history.monitor.name = read_name();
      read(higher);
      out.history.monitor.better = higher != 0 ? Better::Higher : Better::Lower;
    }
    if (follows(steps_of_epoch)) {
      out.within = true;
      read(out.sum), read(out.seconds_within);
    }
    if (at == last) return out;
    if (!follows(measured_of_epochs)) damaged();
    for (Epoch& e : out.history.epochs) {
      std::size_t count = 0;
      for (read(count); count > 0; --count) {
        EpochValue& m = e.measured.emplace_back(EpochValue{read_name()});
        read(m.value);
      }
    }
    if (at != last) damaged();
    return out;
  }

 private:
  // Behind the numbers of the epochs.
  static constexpr char measured_of_epochs = 'm', steps_of_epoch = 's', monitor_of_best = 'b';
  template <class Number> static std::from_chars_result from_text(char const* first, char const* last, Number& out) {
    if constexpr (std::is_floating_point_v<Number>) return io::parse_double(first, last, out);
    if constexpr (!std::is_floating_point_v<Number>) return std::from_chars(first, last, out);
  }
};

/// How `fit` saves and loads its trainer; without a file it does neither.
struct FitFiles {
  std::string last{}, best{};
  std::function<void(std::string const& path, FitProgress const&)> save{};
  std::function<void(std::string const& path)> load{};
  explicit operator bool() const { return !last.empty(); }
};

/// "mine-best.safetensors" for "mine.safetensors".
CLEAVE_IN_LIBRARY std::string best_beside(std::string const& path) {
  auto const dot = path.rfind('.'), folder = path.rfind('/');
  bool const has_suffix = dot != std::string::npos && (folder == std::string::npos || dot > folder + 1);
  return has_suffix ? path.substr(0, dot) + "-best" + path.substr(dot) : path + "-best";
}

}  // namespace cleave::session
