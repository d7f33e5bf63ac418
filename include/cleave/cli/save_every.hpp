// cli/save_every.hpp - how often a run saves: every so many steps, epochs or minutes, as --save-every says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "../meta/error.hpp"

namespace cleave::session {

/// Intervals between saves; 0: none of that kind. With several, a run saves whenever one of them is over.
struct SaveEvery {
  static constexpr char const* standard = "1epoch,10min";
  static constexpr char const* help =
      "save every so many steps, epochs or minutes, such as 500steps or 2epochs,30min; never: only at the end and when "
      "stopped";
  long steps = 0, epochs = 0, minutes = 0;

  /// Reads such a text. Throws Error.
  static SaveEvery of(std::string_view text) {
    SaveEvery every;
    if (text == "never") return every;
    for (std::string_view rest = text;;) {
      std::size_t const comma = std::min(rest.find(','), rest.size());
      every.add(rest.substr(0, comma), text);
      if (comma == rest.size()) return every;
      rest.remove_prefix(comma + 1);
    }
  }

  bool never() const { return steps == 0 && epochs == 0 && minutes == 0; }
  /// Is one over? A number of steps or epochs is over at the first step that is asked about at its end or behind it:
  /// `step` is where the run is now, `before` where it was when this was asked last.
  bool due(long before, long step, long steps_per_epoch, double seconds_since_last = 0) const {
    auto const ends = [&](long each) { return each > 0 && step / each > before / each; };
    return ends(steps) || ends(epochs * steps_per_epoch) || after(seconds_since_last);
  }
  bool after(double seconds_since_last) const {
    return minutes > 0 && seconds_since_last >= 60 * static_cast<double>(minutes);
  }
  /// The first step behind `step` at which a number of steps is over, at most `end`.
  long next(long step, long end) const { return steps > 0 ? std::min(end, (step / steps + 1) * steps) : end; }

 private:
  static constexpr long most = 1'000'000'000;

  void add(std::string_view one, std::string_view whole) {
    long count = 0;
    auto const [end, code] = std::from_chars(one.data(), one.data() + one.size(), count);
    std::string_view const unit(end, static_cast<std::size_t>(one.data() + one.size() - end));
    long* const to = unit == "step" || unit == "steps"     ? &steps
                     : unit == "epoch" || unit == "epochs" ? &epochs
                     : unit == "min" || unit == "minutes"  ? &minutes
                                                           : nullptr;
    if (code != std::errc() || count < 1 || count > most || !to) {
      throw Error({"--save-every wants a number with steps, epochs or min behind it, such as 500steps or ", standard,
                   ", or never; got '", whole, "'"});
    }
    *to = count;
  }
};

}  // namespace cleave::session
