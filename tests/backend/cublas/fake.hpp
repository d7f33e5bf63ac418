// backend/cublas/fake.hpp - products as cuBLASLt's documentation defines them, on an emulated device with a clock to set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/backend/cublas/products.hpp>
#include <cleave/backend/emulate/machine.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace cleave::testing {

/// Launches take as long as they are told to.
struct Clocked : backend::emulate::Machine {
  double now = 0, launch_takes = 10;  // us
  std::vector<double> stamped;
  long allocated = 0;  // times

  using backend::emulate::Machine::Machine;
  template <class K> void launch(Stream s, int blocks, typename K::Args const& args) {
    call(s, [this] { now += launch_takes; });
    backend::emulate::Machine::launch<K>(s, blocks, args);
  }
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
};

/// What it was asked, in words; fails where it is told to. Algorithm i takes takes[i] microseconds.
struct Fake {
  using Handle = int;
  using Described = backend::cublas::Call;
  using Call = backend::cublas::Call;
  using Algorithm = backend::gpu::Algorithm;
  static constexpr int not_supported = 15;
  struct Log {
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
  };
  Log* log = nullptr;

  int say(std::string const& what) const {
    log->said.push_back(what);
    return !log->fails.empty() && what.rfind(log->fails, 0) == 0 ? log->with : 0;
  }
  int create(Handle* h) const {
    *h = 42;
    return say("create");
  }
  void destroy(Handle) const { say("destroy"); }
  std::string version() const { return log->version; }
  static std::string text(int e) { return "status " + std::to_string(e); }

  int describe(Call const& c, Described* m) const {
    *m = c;
    ++log->described;
    return say("describe " + std::string(c.a_turned ? "T" : "N") + (c.b_turned ? "T " : "N ") + std::to_string(c.m) +
               " " + std::to_string(c.n) + " " + std::to_string(c.k) + " end " +
               std::to_string(static_cast<int>(c.end)) + " aligned " + std::to_string(c.a_aligned));
  }
  void forget(Described const&) const { --log->described; }
  int suggest(Handle, Described const&, Call const&, std::size_t, backend::gpu::Suggested* to) const {
    for (std::size_t i = 0; i < log->takes.size(); ++i) to->algorithms.push_back({i, ~i});
    return say("suggest");
  }
  int check(Handle, Described const&, Algorithm const& a, std::size_t* bytes) const {
    *bytes = 0;
    return say("check " + std::to_string(a[0])) + (a.size() == 2 && a[1] == ~a[0] ? 0 : 1);
  }
  void keep(Described const&, Algorithm const&) const {}
  int run(Handle, Described const& c, Algorithm const& a, backend::cublas::Operands const& o, void*, std::size_t,
          int stream) const {
    if (int const e = say("multiply " + std::to_string(a[0]))) return e;
    double const us = log->takes.at(a[0]);
    log->machine->call(stream, [machine = log->machine, c, o, us] {
      machine->now += us;
      compute(c, o);
    });
    return 0;
  }

  /// Column-major: element (i, j) of a matrix lies at i + j * ld. A bias has an element for each row of D.
  static void compute(Call const& c, backend::cublas::Operands const& o) {
    using backend::gpu::End;
    using backend::gpu::Number;
    auto const get = [](void const* p, long at, Number of) {
      if (of == Number::Bf16) return static_cast<float>(static_cast<bf16 const*>(p)[at]);
      return static_cast<float const*>(p)[at];
    };
    auto const factor = [&](void const* p, long at) {
      float const v = get(p, at, c.of);
      return c.of == Number::Tf32 ? tf32::rounded(v) : v;
    };
    for (int j = 0; j < c.n; ++j) {
      for (int i = 0; i < c.m; ++i) {
        double sum = 0;
        for (int l = 0; l < c.k; ++l) {
          double const a = static_cast<double>(factor(o.a, c.a_turned ? l + i * c.lda : i + l * c.lda));
          sum += a * static_cast<double>(factor(o.b, c.b_turned ? j + l * c.ldb : l + j * c.ldb));
        }
        long const at = i + j * c.ldd;
        if (o.beta != 0) sum += static_cast<double>(o.beta * get(o.d, at, c.to));
        if (c.end == End::Bias || c.end == End::BiasRelu) sum += static_cast<double>(get(o.bias, i, c.to));
        if ((c.end == End::Relu || c.end == End::BiasRelu) && sum < 0) sum = 0;
        if (c.to == Number::Bf16) {
          static_cast<bf16*>(o.d)[at] = bf16(static_cast<float>(sum));
        } else {
          static_cast<float*>(o.d)[at] = static_cast<float>(sum);
        }
      }
    }
  }
};

using Helped = backend::cublas::With<Clocked, Fake>;
/// A machine and its library, which finds the machine.
inline std::unique_ptr<Helped> helped(Fake::Log& log, backend::cublas::Choices& choices,
                                      backend::cublas::Pin pin = backend::cublas::Pin::Measured,
                                      std::uint64_t seed = 1) {
  auto m = std::make_unique<Helped>(Fake{&log}, choices, pin, seed);
  log.machine = m.get();
  return m;
}

}  // namespace cleave::testing
