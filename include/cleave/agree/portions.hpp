// agree/portions.hpp - work queue: which worker computes which portion of a batch, and which result counts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::agree {

// A batch is a pass over many small portions of work. A free worker gets the next one, so that a fast worker computes
// many and a slow one few. When none is left to begin, a portion that is late is issued again.
//
//      worker                             dealer
//        |  Asked ------------------------>  |
//        |  <------- Issue(pass, portion)    |   the lowest not begun; else one that is late
//        |  Finished(pass, portion) ------>  |   Take, or Drop if another was first or the pass is over
//        |  Asked ------------------------>  |   perhaps Complete: all portions are taken
//
// Source: Dean et al., "Large scale distributed deep networks", NIPS 2012, section 4.2: portions much smaller than
// 1/N of a batch, and at its end copies of outstanding ones, of which the first to finish counts.

enum class Work : int {
  Begun,     // the coordinator wants the next pass, of `portion` portions
  Asked,     // the worker is free; the first time it joins
  Finished,  // it has the gradient of `portion` of `pass`
  Left,      // it has ended
  Late       // only updates the time `now`
};
struct Told {
  Work what = Work::Asked;
  int worker = 0;
  int pass = 0;
  int portion = 0;
  long now = 0;  // in ticks of the caller's clock
};

enum class Deal : int {
  Issue,     // the worker computes `portion` of `pass`; `again`: it was issued before
  Take,      // the worker's result counts
  Drop,      // it does not
  Complete,  // every portion of `pass` is taken
  Fail       // no worker lives, and `portion` portions are not taken
};
struct Dealt {
  Deal what = Deal::Issue;
  int worker = -1;
  int pass = 0;
  int portion = 0;
  int again = 0;
};

/// At most one issue for every worker and two more actions.
template <int Most> struct Deals {
  Dealt of[Most + 3]{};
  int count = 0;
  constexpr void add(Dealt d) { of[count++] = d; }
  constexpr Dealt const* begin() const { return of; }
  constexpr Dealt const* end() const { return of + count; }
};

/// The queue: integers only, one event at a time.
template <int MostWorkers, int MostPortions> struct Portions {
  static constexpr int most = MostWorkers;
  long patience = 0;  // ticks after which a portion is late; 0: as soon as no other is left
  long clock = 0;
  int pass = 0, portions = 0, taken = 0, live = 0;
  struct Worker {
    int here = 0, waits = 0;
    int holds = 0, of_pass = 0;  // 1 + portion; 0: nothing
  };
  struct Portion {
    int done = 0, issued = 0, out = 0;  // out: copies that workers compute now
    long since = 0;                     // when it was last issued
  };
  Worker worker[MostWorkers]{};
  Portion portion[MostPortions]{};

  constexpr bool complete() const { return taken == portions; }

  constexpr void hear(Told const& e, Deals<MostWorkers>& out) {
    clock = e.now > clock ? e.now : clock;
    switch (e.what) {
      case Work::Begun:
        ++pass;
        portions = e.portion;
        taken = 0;
        for (Portion& p : portion) p = {};
        if (live == 0) return out.add({Deal::Fail, -1, pass, portions});
        break;
      case Work::Asked:
        live += !at(e).here;
        at(e).here = at(e).waits = 1;
        break;
      case Work::Finished:
        finished(e, out);
        break;
      case Work::Left:
        if (!at(e).here) return;
        put_down(at(e));
        at(e) = {};
        --live;
        if (live == 0 && !complete()) return out.add({Deal::Fail, e.worker, pass, portions - taken});
        break;
      case Work::Late:
        break;
    }
    for (int w = 0; w < MostWorkers; ++w) deal(w, out);
  }

 private:
  constexpr Worker& at(Told const& e) { return worker[e.worker]; }
  constexpr void put_down(Worker& w) {
    if (w.holds > 0 && w.of_pass == pass) --portion[w.holds - 1].out;
    w.holds = 0;
  }
  constexpr void finished(Told const& e, Deals<MostWorkers>& out) {
    bool const its = at(e).holds == e.portion + 1 && at(e).of_pass == e.pass;  // else a duplicated message
    if (its) put_down(at(e));
    bool const counts = its && e.pass == pass && !portion[e.portion].done;
    out.add({counts ? Deal::Take : Deal::Drop, e.worker, e.pass, e.portion});
    if (!counts) return;
    portion[e.portion].done = 1;
    if (++taken == portions) out.add({Deal::Complete, e.worker, pass});
  }
  /// Portions not begun, or lost by dead workers, come first; then, of the late ones, the one with the fewest copies,
  /// of these the one that has waited longest. -1: none.
  constexpr int next() const {
    int late = -1;
    for (int i = 0; i < portions; ++i) {
      Portion const& p = portion[i];
      if (p.done) continue;
      if (p.out == 0) return i;
      if (clock - p.since < patience) continue;
      if (late < 0 || p.out < portion[late].out || (p.out == portion[late].out && p.since < portion[late].since))
        late = i;
    }
    return late;
  }
  constexpr void deal(int w, Deals<MostWorkers>& out) {
    int const i = worker[w].waits && !complete() ? next() : -1;
    if (i < 0) return;
    Portion& p = portion[i];
    out.add({Deal::Issue, w, pass, i, p.issued > 0});
    ++p.issued, ++p.out;
    p.since = clock;
    worker[w].waits = 0;
    worker[w].holds = i + 1;
    worker[w].of_pass = pass;
  }
};

}  // namespace cleave::agree
