// published.hpp - a table of published results beside modelled ones, in Markdown.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace bench {

[[gnu::format(printf, 1, 2)]] inline std::string text(char const* format, ...) {
  char out[400];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(out, sizeof out, format, values);
  va_end(values);
  return out;
}

/// How we know what was published: the source was read, or what others noted from it; or it is recalled.
enum class Known { Seen, Noted, Recalled };

/// What a model says of it: a fitted number is no test of the model.
enum class Mark { Reached, Missed, Fitted, Untested };

class Table {
 public:
  Table() {
    std::puts("Modelled, not measured, but for the speed of the simulation itself.\n");
    std::puts("| result | published | modelled | error | | constants, and what they were fitted on |");
    std::puts("| --- | --- | --- | ---: | --- | --- |");
  }
  /// `what`, of a model with these constants.
  void line(std::string const& what, std::string const& published, Known known, std::string const& modelled,
            std::string const& error, Mark mark, std::string const& constants = "the same") {
    char const* const knows[] = {"", ", by notes on the paper", ", not verified"};
    char const* const says[] = {"reached", "**missed**", "fitted", "no test"};
    std::printf("| %s | %s%s | %s | %s | %s | %s |\n", what.c_str(), published.c_str(), knows[static_cast<int>(known)],
                modelled.c_str(), error.c_str(), says[static_cast<int>(mark)], constants.c_str());
    std::fflush(stdout);
    ++count_[static_cast<int>(mark)];
  }
  /// Two numbers, which may differ by `within` of the published one; 0: it was fitted.
  void number(std::string const& what, char const* format, double published, Known known, double modelled,
              double within, std::string const& constants = "the same") {
    double const error = modelled / published - 1;
    char out[2][40];
    double const values[] = {published, modelled};
    for (int i = 0; i < 2; ++i) std::snprintf(out[i], sizeof out[i], format, values[i]);
    line(what, out[0], known, out[1], within == 0 ? "" : text("%+.1f %%", 100 * error),
         within == 0                  ? Mark::Fitted
         : std::fabs(error) <= within ? Mark::Reached
                                      : Mark::Missed,
         constants);
  }
  void end() const {
    std::printf("\nReached: %d; missed: %d; fitted: %d; no test of the model: %d.\n", count_[0], count_[1], count_[2],
                count_[3]);
  }

 private:
  int count_[4]{};
};

/// Where a rising or falling function is `value`, between low and high.
template <class F> double solve(F const& f, double value, double low, double high) {
  bool const rises = f(high) > f(low);
  for (int i = 0; i < 40; ++i) {
    double const middle = (low + high) / 2;
    ((f(middle) < value) == rises ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace bench
