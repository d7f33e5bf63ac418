// backend/gpu/tuning/stamps.hpp - the spans of a traced capture: timestamps that the device takes, read when the run has ended.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <vector>

#include "../../host/communication/timeline.hpp"

namespace cleave::backend::gpu {

/// A machine's stamp() enqueues a timestamp; a captured one is taken again in every run.
template <class Machine> class Stamps {
 public:
  using Stream = typename Machine::Stream;
  using Event = typename Machine::Event;

  void open(Machine& m, Stream s, int rank, host::Span const& what) {
    spans_.push_back({s, rank, what, m.timer(), {}, true});
    m.stamp(spans_.back().begin, s);
  }
  /// Closes the span that was opened last on this stream.
  void close(Machine& m, Stream s) {
    for (auto span = spans_.rbegin(); span != spans_.rend(); ++span) {
      if (span->stream != s || !span->open) continue;
      span->open = false;
      span->end = m.timer();
      return m.stamp(span->end, s);
    }
  }
  /// Spans of the run that has ended; `zero` was stamped before it, at `then` by the host's clock.
  void read(Machine& m, Event zero, long then, long step, std::vector<host::Timeline>& into) const {
    auto const at = [&](Event e) { return then + std::lround(m.milliseconds(zero, e) * 1e6); };
    for (Of const& s : spans_) {
      host::Span what = s.what;
      what.step = step;
      what.begin = at(s.begin);
      what.end = at(s.end);
      into[static_cast<std::size_t>(s.rank)].note(what);
    }
  }
  std::size_t size() const { return spans_.size(); }

 private:
  struct Of {
    Stream stream;
    int rank;
    host::Span what;
    Event begin, end;
    bool open;
  };
  std::vector<Of> spans_;
};

}  // namespace cleave::backend::gpu
