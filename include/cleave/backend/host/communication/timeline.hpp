// backend/host/communication/timeline.hpp - the trace of a rank's first steps, written to memory that was allocated before them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace cleave::backend::host {

/// The two tracks of a rank. On a device they are its streams; on threads its computation and its communication. The
/// second also has a replica's communication with its server.
enum class Lane : unsigned char { Compute, Sums };

enum class Did : unsigned char {
  Load,    // the samples of a round
  Line,    // a line of the schedule: for all micro-batches, or for one
  Merge,   // two branches of that line's sum
  Reduce,  // a round of the sum that the line started
  Wait,    // for others, on that line; without a line: for newer weights from the server
  Pull,    // the server's weights
  Push     // what the server is sent
};

struct Span {
  Did did = Did::Line;
  Lane lane = Lane::Compute;
  int line = -1;  // of the schedule
  int round = 0;
  long step = 0;
  long begin = 0, end = 0;  // nanoseconds
};

class Timeline {
 public:
  Timeline() = default;
  /// Allocates the memory: `each` spans in each of `steps` steps.
  Timeline(int steps, std::size_t each) : left_(steps) { spans_.reserve(static_cast<std::size_t>(steps) * each); }

  static long now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  /// Whether this step is traced.
  bool begin(long step) {
    if (left_ == 0) return false;
    --left_;
    step_ = step;
    round_ = 0;
    return true;
  }
  void begin_round(int round) { round_ = round; }
  void note(Did did, Lane lane, int line, long begin, long end = now()) {
    note({did, lane, line, round_, step_, begin, end});
  }
  /// Records a span; a span that does not fit is counted and dropped.
  void note(Span const& s) {
    if (spans_.size() == spans_.capacity()) {
      ++lost_;
    } else {
      spans_.push_back(s);
    }
  }

  std::vector<Span> const& spans() const { return spans_; }
  long lost() const { return lost_; }

 private:
  std::vector<Span> spans_;
  int left_ = 0, round_ = 0;
  long step_ = 0, lost_ = 0;
};

}  // namespace cleave::backend::host
