// backend/gpu/clocked.hpp - an emulated device with a clock to set, and what a stand-in for a library says of its calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/backend/emulate/machine.hpp>
#include <cleave/backend/gpu/kernels/library.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cleave::testing {

/// Launches take as long as they are told to, and are waited for.
struct Clocked : backend::emulate::Machine {
  double now = 0, launch_takes = 10;  // us
  std::vector<double> stamped;
  long allocated = 0;  // times
  bool capturing = false;
  bool idle = false;  // kernels in graphs take their time and do nothing: enough to learn by

  using backend::emulate::Machine::Machine;
  template <class K> void launch(Stream s, int blocks, typename K::Args const& args) {
    call(s, [this, blocks, args] {
      now += launch_takes;
      if (works()) backend::emulate::launch<K>(blocks, args);
    });
    ++launched_;
  }
  void begin(Stream s) {
    capturing = true;
    backend::emulate::Machine::begin(s);
  }
  Graph end() {
    capturing = false;
    return backend::emulate::Machine::end();
  }
  void run(Graph const& g, Stream s) {
    in_graph_ = true;
    backend::emulate::Machine::run(g, s);
    finish();
    in_graph_ = false;
  }
  /// At once, so that the clock is that of the work which has been put.
  void call(Stream s, std::function<void()> work) {
    backend::emulate::Machine::call(s, std::move(work));
    if (!capturing) finish();
  }
  long launches() const { return launched_; }
  bool works() const { return !idle || !in_graph_; }
  std::byte* allocate(long bytes) {
    ++allocated;
    return backend::emulate::Machine::allocate(bytes);
  }
  Event timer() {
    stamped.push_back(0);
    return static_cast<Event>(stamped.size()) - 1;
  }
  void stamp(Event e, Stream s) {
    call(s, [this, e] { stamped[static_cast<std::size_t>(e)] = now; });
  }
  double milliseconds(Event from, Event to) const {
    return (stamped[static_cast<std::size_t>(to)] - stamped[static_cast<std::size_t>(from)]) * 1e-3;
  }

 private:
  bool in_graph_ = false;
  long launched_ = 0;
};

/// What a library was asked, in words; fails where it is told to. Algorithm i takes takes[i] microseconds.
struct Asked {
  Clocked* machine = nullptr;
  std::vector<std::string> said;
  std::vector<double> takes = {8, 5, 6};
  std::string fails, version = "13.1.0";
  int with = 7;
  long described = 0;  // and not forgotten
  long count(std::string const& what) const {
    long n = 0;
    for (std::string const& s : said) n += s.rfind(what, 0) == 0;
    return n;
  }
  int say(std::string const& what) {
    said.push_back(what);
    return !fails.empty() && what.rfind(fails, 0) == 0 ? with : 0;
  }
};
/// A number in a library's memory, and one that it multiplies.
inline double number(void const* p, long at, backend::gpu::Number of) {
  if (of == backend::gpu::Number::Bf16) return static_cast<double>(static_cast<float>(static_cast<bf16 const*>(p)[at]));
  return static_cast<double>(static_cast<float const*>(p)[at]);
}
inline double factor(void const* p, long at, backend::gpu::Number of) {
  double const v = number(p, at, of);
  return of == backend::gpu::Number::Tf32 ? static_cast<double>(tf32::rounded(static_cast<float>(v))) : v;
}
inline void put(void* p, long at, backend::gpu::Number of, double v) {
  if (of == backend::gpu::Number::Bf16) {
    static_cast<bf16*>(p)[at] = bf16(static_cast<float>(v));
  } else {
    static_cast<float*>(p)[at] = static_cast<float>(v);
  }
}

}  // namespace cleave::testing
