// backend/gpu/tuning/learned.hpp - autotuner: uses a library where it was measured to be faster than our kernels on this device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdlib>
#include <deque>
#include <functional>

#include "../kernels/library.hpp"
#include "choices.hpp"

namespace cleave::backend::gpu {

/// The choice set by an environment variable. It reaches processes that a launcher starts, and all machines of a
/// program.
enum class KernelSource : unsigned char { Measured, Own, Library };
inline KernelSource kernel_source_of(Words const& words, char const* said) {
  std::string const s = said ? said : "measured";
  if (s == "measured") return KernelSource::Measured;
  if (s == "own") return KernelSource::Own;
  if (s == words.word) return KernelSource::Library;
  throw Error({words.variable, "=", s, ": say measured, own or ", words.word});
}

/// An algorithm proposed by a library. One that lacked workspace needs at least `wants` bytes.
struct Suggested {
  std::vector<Algorithm> algorithms;
  long wants = 0;
};

/// `Kind` describes the task (gpu/kernels/library.hpp) and how the library is called: words, Task, Call, call_for(Task,
/// Places), operands_for(Task, Places), text(Task, Call), suits(Places), lacks(Task), the reason why the library never
/// computes it, or empty, and ends(Task, Algorithm), whether the algorithm computes the epilogue too. `Api` has the
/// library's functions, or a stand-in for tests. Results are 0 for success, `not_supported` if the library has no
/// algorithm, and otherwise an error that text(result) explains.
///   create(Handle*), destroy(Handle), version(), describe(Call, Described*), forget(Described),
///   suggest(Handle, Described, Call, bytes of workspace, Suggested*),
///   check(Handle, Described, Algorithm, bytes*)   whether it will run, and its workspace; called before run
///   keep(Described, Algorithm)                    only this algorithm will be run from now on; if empty, none
///   run(Handle, Described, Algorithm, Operands, workspace, bytes, Stream)
/// `learn` sees each task first: it asks for algorithms and times each of them, and our kernel, in separate graphs,
/// together with the operations fused to them. A capture only calls run.
template <class Kind, class Api> class Learned {
 public:
  using Task = typename Kind::Task;
  Learned(Api api, Choices& choices, KernelSource source, std::string device)
      : api_(std::move(api)), choices_(choices), source_(source), device_(std::move(device)) {}
  Learned(Learned const&) = delete;
  Learned& operator=(Learned const&) = delete;
  ~Learned() {
    for (Known& k : known_) api_.forget(k.described);
    if (started_) api_.destroy(handle_);
  }
  Api& api() { return api_; }

  using Puts = std::function<void()> const&;  // enqueues kernels
  using Behind = std::function<void(Made)> const&;
  template <class Queue>
  void learn(Queue const& q, Task const& task, Places const& at, Puts fill, Puts own, Behind behind) {
    if (source_ == KernelSource::Own || !Kind::suits(at)) return;
    auto const call = Kind::call_for(task, at);
    if (find(task, call)) return;
    if (std::string const why = Kind::lacks(task); !why.empty()) {
      known_.emplace_back(task, Kind::text(task, call), call).lacks = why;
      return;
    }
    std::lock_guard const alone(Choices::learning);
    start();
    Known& k = known_.emplace_back(task, Kind::text(task, call), call);
    int const e = api_.describe(call, &k.described);
    if (e == Api::not_supported) return;
    settle(e, "describe", k);
    std::string const key =
        device_ + " | " + Kind::words.library + " " + api_.version() + " | " + k.text +
        (q.library_bytes == schedule::workspace_bytes ? "" : " in " + mib(q.library_bytes) + " MiB") + own_revision;
    auto const kept = choices_.find(key);
    if (kept && (!by_library(*kept) || runs(q, k, *kept, at))) {
      k.choice = *kept;
    } else {
      fill();
      k.choice = measured(q, k, at, own, behind);
      if (k.choice.there || !k.failed) choices_.put(key, k.choice);  // an algorithm that failed may work next time
    }
    api_.keep(k.described, by_library(k.choice) ? k.choice.algorithm : Algorithm{});
  }
  /// Whether it was enqueued, and whether with its epilogue.
  template <class Queue> Made put(Queue const& q, Task const& task, Places const& at) {
    Known* const k = Kind::suits(at) ? find(task, Kind::call_for(task, at)) : nullptr;
    if (!k || !by_library(k->choice)) return Made::Nothing;
    settle(run(q, *k, k->choice.algorithm, at), "make", *k);
    return made(*k, k->choice.algorithm);
  }

  /// A line for each task, and one if the file had problems.
  std::string listing() const {
    std::string const things = Kind::words.things, library = Kind::words.library;
    if (source_ == KernelSource::Own) return things + " by own kernels: " + Kind::words.variable + "=own\n";
    std::string s;
    for (Known const& k : known_) {
      bool const theirs = by_library(k.choice), apart = theirs && made(k, k.choice.algorithm) == Made::WithoutEnd;
      char times[96];
      std::snprintf(times, sizeof times, "%.1f us, own %.1f us", k.choice.library_us, k.choice.own_us);
      s += "  " + k.text + ": " + (theirs ? library : "own kernel") + (apart ? ", its end by a kernel of ours" : "") +
           " (" + (k.choice.there ? times : k.lacks.c_str()) +
           (k.choice.wants > 0 ? "; others want Workspace<" + mib(k.choice.wants) + "_MiB>" : "") + ")\n";
    }
    if (!s.empty()) s = things + ", by " + library + " " + api_.version() + " or own kernels" + how() + ":\n" + s;
    return s + (choices_.trouble().empty() ? "" : "  " + choices_.trouble() + "\n");
  }

 private:
  static constexpr int in_a_graph = 8, graphs = 3;
  struct Known {
    Task task;
    std::string text;
    typename Kind::Call call;
    typename Api::Described described{};
    Choice choice{};
    std::string lacks = std::string(Kind::words.library) + " has none";
    bool failed = false;  // an algorithm failed, other than by not being supported
    Known(Task const& t, std::string s, typename Kind::Call const& c) : task(t), text(std::move(s)), call(c) {}
  };

  static std::string mib(long bytes) { return std::to_string((bytes + (1L << 20) - 1) >> 20); }
  static Made made(Known const& k, Algorithm const& a) {
    return Kind::ends(k.task, a) ? Made::Whole : Made::WithoutEnd;
  }
  bool by_library(Choice const& c) const { return c.there && (source_ == KernelSource::Library || !c.own); }
  std::string how() const {
    if (source_ == KernelSource::Library)
      return std::string(" (") + Kind::words.variable + "=" + Kind::words.word + ")";
    return choices_.file().empty() ? ", as measured" : ", as measured (" + choices_.file() + ")";
  }
  Known* find(Task const& task, typename Kind::Call const& call) {
    for (Known& k : known_) {
      if (k.task == task && k.call == call) return &k;
    }
    return nullptr;
  }
  void start() {
    if (started_) return;
    if (int const e = api_.create(&handle_)) settle(e, "begin on", device_);
    started_ = true;
  }
  void settle(int e, char const* what, Known const& k) const { settle(e, what, k.text); }
  void settle(int e, char const* what, std::string const& of) const {
    if (e != 0) throw Error({Kind::words.library, ": ", what, " ", of, ": ", api_.text(e)});
  }
  template <class Queue> int run(Queue const& q, Known& k, Algorithm const& a, Places const& at) {
    return api_.run(handle_, k.described, a, Kind::operands_for(k.task, at), q.workspace,
                    static_cast<std::size_t>(q.library_bytes), q.stream);
  }
  /// 0 if it will run.
  template <class Queue> int fits(Queue const& q, Known& k, Algorithm const& a) {
    std::size_t bytes = 0;
    int const e = api_.check(handle_, k.described, a, &bytes);
    return e == 0 && bytes > static_cast<std::size_t>(q.library_bytes) ? Api::not_supported : e;
  }
  /// Whether the stored algorithm is still valid. It runs once, so that its code is loaded before a capture.
  template <class Queue> bool runs(Queue const& q, Known& k, Choice const& c, Places const& at) {
    return fits(q, k, c.algorithm) == 0 && run(q, k, c.algorithm, at) == 0;
  }
  template <class Queue> Choice measured(Queue const& q, Known& k, Places const& at, Puts own, Behind behind) {
    Suggested some;
    auto const room = static_cast<std::size_t>(q.library_bytes);
    int const e = api_.suggest(handle_, k.described, k.call, room, &some);
    if (e != Api::not_supported) settle(e, "ask for algorithms for", k);
    Choice c;
    c.wants = some.wants;
    c.own_us = timed(q, own);
    for (Algorithm const& a : some.algorithms) {
      int ran = fits(q, k, a);
      if (ran == 0) ran = run(q, k, a, at);
      if (ran != 0 && ran != Api::not_supported) {  // one of many: the others, or our kernel, may work
        k.failed = true;
        k.lacks = std::string(Kind::words.library) + ": " + api_.text(ran);
      }
      if (ran != 0) continue;
      double us = 0;
      try {
        us = timed(q, [&] {
          settle(run(q, k, a, at), "try", k);
          behind(made(k, a));
        });
      } catch (NotCaptured const&) {
        k.lacks = std::string(Kind::words.library) + " has none that a graph takes";
        continue;
      }
      if (c.there && us >= c.library_us) continue;
      c.there = true;
      c.library_us = us;
      c.algorithm = a;
    }
    c.own = !c.there || c.own_us <= c.library_us;
    return c;
  }
  struct NotCaptured : Error {
    using Error::Error;
  };
  template <class Queue> static auto captured(Queue const& q, Puts work) {
    q.machine->begin(q.stream);
    std::string why;
    try {
      for (int i = 0; i < in_a_graph; ++i) work();
    } catch (Error const& e) {
      why = e.what();
    }
    try {  // a capture is ended in any case
      auto graph = q.machine->end();
      if (why.empty()) return graph;
    } catch (Error const& e) {
      if (why.empty()) why = e.what();
    }
    throw NotCaptured(why);
  }
  /// Microseconds of what `work` enqueues, run as a graph as in a step; the shortest of several runs.
  template <class Queue> static double timed(Queue const& q, Puts work) {
    auto& machine = *q.machine;
    work();  // loads what is loaded at a first call
    machine.finish();
    auto const graph = captured(q, work);
    auto const begin = machine.timer(), end = machine.timer();
    double least = 0;
    for (int i = 0; i <= graphs; ++i) {  // the first run is not counted
      machine.stamp(begin, q.stream);
      machine.run(graph, q.stream);
      machine.stamp(end, q.stream);
      machine.finish();
      double const us = machine.milliseconds(begin, end) * 1000 / in_a_graph;
      if (i == 1 || (i > 1 && us < least)) least = us;
    }
    return least;
  }

  Api api_;
  Choices& choices_;
  KernelSource source_;
  std::string device_;
  typename Api::Handle handle_{};
  bool started_ = false;
  std::deque<Known> known_;
};

/// A machine with tuned libraries. There may be several libraries, each for its kind of task.
template <class Base, class Kind, class Api> class WithLibrary : public Base {
 public:
  WithLibrary() : WithLibrary(Api{}, shared(), kernel_source_of(Kind::words, std::getenv(Kind::words.variable))) {}
  template <class... Of>
  WithLibrary(Api api, Choices& choices, KernelSource source, Of&&... of)
      : Base(std::forward<Of>(of)...), learned_(std::move(api), choices, source, Base::title()) {}
  ~WithLibrary() {
    try {  // the library may still be running
      Base::finish();
    } catch (Error const&) {  // a device that does not finish is reported where it is waited for
    }
  }
  std::string listing() const {
    if constexpr (requires { Base::listing(); }) {
      return Base::listing() + learned_.listing();
    } else {
      return learned_.listing();
    }
  }

 protected:
  /// Of this program.
  static Choices& shared() {
    auto const variable = [](char const* name) { return std::getenv(name); };
    static Choices all(Choices::usual_file(Kind::words, variable), Kind::words);
    return all;
  }
  Learned<Kind, Api> learned_;
};

}  // namespace cleave::backend::gpu
