// benchmarks/burst.hpp - one measurement, the same for every C++ program here, and the rows asked for by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Microseconds of one step: the median of bursts of at least 5 ms, over 0.25 s, after 0.1 s that do not count.
/// `steps(n)` makes n steps; it is never asked for more than 256.
template <class Steps> double step_us(Steps steps) {
  int n = 1;
  double const start = now();
  for (double begin = start; now() < start + 0.1; begin = now()) {
    steps(n);
    if (now() - begin < 0.005 && n < 256) n *= 2;
  }
  std::vector<double> bursts;
  double const begin = now();
  while (now() < begin + 0.25 || bursts.size() < 3) {
    double const t = now();
    int done = 0;
    do {
      steps(n);
      done += n;
    } while (now() < t + 0.005);
    bursts.push_back((now() - t) * 1e6 / done);
  }
  std::nth_element(bursts.begin(), bursts.begin() + static_cast<long>(bursts.size() / 2), bursts.end());
  return bursts[bursts.size() / 2];
}

/// Rows from the command line, or one a line from standard input until it ends; one JSON line for each.
template <class Row> int serve(int argc, char** argv, char const* who, Row row) {
  auto const answer = [&](std::string const& name) {
    double const us = row(name);
    if (us < 0) {
      std::fprintf(stderr, "%s: no row %s\n", who, name.c_str());
      return false;
    }
    std::printf("{\"row\":\"%s\",\"who\":\"%s\",\"us\":%.4f}\n", name.c_str(), who, us);
    std::fflush(stdout);
    return true;
  };
  bool good = true;
  for (int i = 1; i < argc; ++i) good = answer(argv[i]) && good;
  std::string name;
  while (argc == 1 && std::getline(std::cin, name)) {
    if (!answer(name)) std::printf("{}\n"), std::fflush(stdout);
  }
  return good ? 0 : 1;
}

}  // namespace bench
