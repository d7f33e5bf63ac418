// parameter_server/ledger.hpp - statistics of an agreement: gradients taken and dropped, their ages, and how long replicas waited.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace cleave {

struct Ledger {
  std::vector<long> pushed, taken, dropped;  // gradients by replica, as the first shard saw them
  std::vector<double> waited;                // seconds by replica
  std::vector<long> ages;                    // gradients taken, by the number of updates since their weights were read
  std::vector<int> versions;                 // of each shard
  std::vector<long> sent, sent_bytes;        // elements by replica, and their bytes
  std::vector<long> sent_rows;               // nonzero rows of sparse gradients
  static constexpr int oldest = 256;         // the last bin holds all older ones

  explicit Ledger(int replicas = 0)
      : pushed(static_cast<std::size_t>(replicas)),
        taken(pushed),
        dropped(pushed),
        waited(pushed.size()),
        ages(oldest + 1),
        sent(pushed),
        sent_bytes(pushed),
        sent_rows(pushed) {}
  double mean_age() const {
    double sum = 0, n = 0;
    for (std::size_t a = 0; a < ages.size(); ++a) {
      sum += static_cast<double>(a) * static_cast<double>(ages[a]);
      n += static_cast<double>(ages[a]);
    }
    return n == 0 ? 0 : sum / n;
  }
  /// A line per replica, then the ages that occurred.
  std::string text() const {
    std::string out;
    char line[160];
    for (std::size_t r = 0; r < pushed.size(); ++r) {
      std::snprintf(line, sizeof line, "replica %2zu: %8ld gradients taken, %6ld dropped, waited %.2f s\n", r, taken[r],
                    dropped[r], waited[r]);
      out += line;
    }
    std::snprintf(line, sizeof line, "mean staleness %.2f updates;", mean_age());
    out += line;
    for (std::size_t a = 0; a < ages.size(); ++a) {
      if (ages[a] > 0) out += " " + std::to_string(a) + ":" + std::to_string(ages[a]);
    }
    return out + "\n";
  }
};

}  // namespace cleave

namespace cleave::session {

/// Statistics of a worker pool.
struct CrewLedger {
  long passes = 0;  // a pass is a gradient over the whole batch
  long issued = 0, again = 0, taken = 0, dropped = 0;
  std::vector<long> taken_from;  // of each replica
  long gradients_sent = 0;       // elements, from replicas to shards
  long weights_sent = 0;         // elements, from shards to replicas
};

}  // namespace cleave::session
