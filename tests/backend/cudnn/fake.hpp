// backend/cudnn/fake.hpp - convolutions as cuDNN's documentation defines them, on an emulated device with a clock to set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/backend/cudnn/convolutions.hpp>

#include "../gpu/clocked.hpp"

namespace cleave::testing {

/// Algorithms with the end take what `takes` says, those without `without_end`; each wants `wants` bytes, and runs only
/// once it was checked.
struct FakeDnn {
  using Handle = int;
  using Call = backend::cudnn::Call;
  using Algorithm = backend::gpu::Algorithm;
  using Pass = backend::cudnn::Pass;
  static constexpr int not_supported = 3000;
  struct Described {
    Call call{};
    std::vector<Algorithm> plans;
  };
  struct Log : Asked {
    Log() { version = "9.19.0"; }
    std::vector<double> without_end = {7, 9};
    long wants = 0;
    std::string not_in_a_graph;  // which run
    int most_plans = 0;          // at the end of learning
  };
  Log* log = nullptr;

  int create(Handle* h) const {
    *h = 42;
    return log->say("create");
  }
  void destroy(Handle) const { log->say("destroy"); }
  std::string version() const { return log->version; }
  static std::string text(int e) { return "status " + std::to_string(e); }

  int describe(Call const& c, Described* d) const {
    auto const of = [](backend::cudnn::Tensor const& t) {
      std::string s;
      for (long e : t.extent) s += (s.empty() ? "" : "x") + std::to_string(e);
      return s + (t.of == backend::gpu::Number::Bf16 ? "b" : "f");
    };
    d->call = c;
    ++log->described;
    return log->say("describe " + std::to_string(static_cast<int>(c.pass)) + " " + of(c.x) + " " + of(c.w) + " " +
                    of(c.y) + " end " + std::to_string(static_cast<int>(c.end)) + (c.adds ? " adds" : ""));
  }
  void forget(Described const&) const { --log->described; }
  int suggest(Handle, Described const&, Call const& c, std::size_t room, backend::gpu::Suggested* to) const {
    using enum backend::gpu::End;
    std::uint64_t const bit = backend::cudnn::without_end;
    if (log->wants > static_cast<long>(room)) {
      to->wants = log->wants;
    } else {
      for (std::size_t i = 0; c.end != None && c.end != Other && i < log->takes.size(); ++i)
        to->algorithms.push_back({i, ~i});
      for (std::size_t i = 0; i < log->without_end.size(); ++i) to->algorithms.push_back({i | bit, ~i});
    }
    return log->say("suggest");
  }
  int check(Handle, Described& d, Algorithm const& a, std::size_t* bytes) const {
    *bytes = static_cast<std::size_t>(log->wants);
    bool const known = a.size() == 2 && a[1] == ~(a[0] & ~backend::cudnn::without_end);
    if (known) d.plans.push_back(a);
    return log->say("check") + (known ? 0 : 1);
  }
  void keep(Described& d, Algorithm const& a) const {
    std::erase_if(d.plans, [&](Algorithm const& p) { return p != a; });
    log->most_plans = std::max(log->most_plans, static_cast<int>(d.plans.size()));
  }
  int run(Handle, Described const& d, Algorithm const& a, backend::cudnn::Operands const& o, void*, std::size_t,
          int stream) const {
    bool const whole = (a[0] & backend::cudnn::without_end) == 0;
    std::uint64_t const which = a[0] & ~backend::cudnn::without_end;
    if (std::find(d.plans.begin(), d.plans.end(), a) == d.plans.end()) return 2004;
    std::string const what = (whole ? "run " : "run without end ") + std::to_string(which);
    if (log->machine->capturing && what == log->not_in_a_graph) return 5003;
    if (int const e = log->say(what)) return e;
    double const us = (whole ? log->takes : log->without_end).at(which);
    log->machine->call(stream, [machine = log->machine, c = d.call, o, us, whole] {
      machine->now += us;
      if (machine->works()) compute(c, o, whole);
    });
    return 0;
  }

  /// Every product of an x, a w and a y goes to the one that is made.
  static void compute(Call const& c, backend::cudnn::Operands const& o, bool whole) {
    using enum backend::gpu::End;
    backend::cudnn::Tensor const& made = c.pass == Pass::Forward ? c.y : c.pass == Pass::Input ? c.x : c.w;
    void* const to = c.pass == Pass::Forward ? o.y : c.pass == Pass::Input ? o.x : o.w;
    std::vector<double> sums(static_cast<std::size_t>(made.extent[0] * made.strides()[0]));
    auto const at = [](backend::cudnn::Tensor const& t, long a, long b, long e, long f) {
      auto const s = t.strides();
      return a * s[0] + b * s[1] + e * s[2] + f * s[3];
    };
    long const in = c.w.extent[1], out = c.w.extent[0] / (c.x.extent[1] / in);  // channels of a group
    for (long n = 0; n < c.y.extent[0]; ++n) {
      for (long f = 0; f < c.y.extent[1]; ++f) {
        for (long row = 0; row < c.y.extent[2]; ++row) {
          for (long col = 0; col < c.y.extent[3]; ++col) {
            for (long i = 0; i < in; ++i) {
              for (long k = 0; k < c.w.extent[2] * c.w.extent[3]; ++k) {
                long const h = row * c.stride - c.pad + k / c.w.extent[3] * c.dilation,
                           w = col * c.stride - c.pad + k % c.w.extent[3] * c.dilation;
                if (h < 0 || w < 0 || h >= c.x.extent[2] || w >= c.x.extent[3]) continue;
                long const x = at(c.x, n, f / out * in + i, h, w), y = at(c.y, n, f, row, col);
                long const v = at(c.w, f, i, k / c.w.extent[3], k % c.w.extent[3]);
                if (c.pass == Pass::Forward) {
                  sums[static_cast<std::size_t>(y)] += factor(o.x, x, c.x.of) * factor(o.w, v, c.w.of);
                } else if (c.pass == Pass::Input) {
                  sums[static_cast<std::size_t>(x)] += factor(o.y, y, c.y.of) * factor(o.w, v, c.w.of);
                } else {
                  sums[static_cast<std::size_t>(v)] += factor(o.y, y, c.y.of) * factor(o.x, x, c.x.of);
                }
              }
            }
          }
        }
      }
    }
    for (std::size_t e = 0; e < sums.size(); ++e) {
      long const element = static_cast<long>(e);
      double v = sums[e] + (c.adds ? number(to, element, made.of) : 0);
      if (whole && backend::gpu::has_bias(c.end)) {
        v += number(o.bias, element / c.y.strides()[1] % c.y.extent[1], c.bias.of);
      }
      if (whole && (c.end == Relu || c.end == BiasRelu) && v < 0) v = 0;
      put(to, element, made.of, v);
    }
  }
};

using Convolved = backend::cudnn::With<Clocked, FakeDnn>;
/// A machine and its library, which finds the machine.
inline std::unique_ptr<Convolved> convolved(FakeDnn::Log& log, backend::cudnn::Choices& choices,
                                            backend::gpu::KernelSource source = backend::gpu::KernelSource::Measured,
                                            std::uint64_t seed = 1) {
  auto m = std::make_unique<Convolved>(FakeDnn{&log}, choices, source, seed);
  log.machine = m.get();
  return m;
}

}  // namespace cleave::testing
