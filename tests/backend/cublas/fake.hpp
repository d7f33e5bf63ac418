// backend/cublas/fake.hpp - products as cuBLASLt's documentation defines them, on an emulated device with a clock to set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/backend/cublas/products.hpp>
#include "../gpu/clocked.hpp"

namespace cleave::testing {

struct Fake {
  using Handle = int;
  using Described = backend::cublas::Call;
  using Call = backend::cublas::Call;
  using Algorithm = backend::gpu::Algorithm;
  static constexpr int not_supported = 15;
  using Log = Asked;
  Log* log = nullptr;

  int say(std::string const& what) const { return log->say(what); }
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
      if (machine->works()) compute(c, o);
    });
    return 0;
  }

  /// Column-major: element (i, j) of a matrix lies at i + j * ld. A bias has an element for each row of D.
  static void compute(Call const& c, backend::cublas::Operands const& o) {
    using backend::gpu::End;
    for (int j = 0; j < c.n; ++j) {
      for (int i = 0; i < c.m; ++i) {
        double sum = 0;
        for (int l = 0; l < c.k; ++l) {
          double const a = factor(o.a, c.a_turned ? l + i * c.lda : i + l * c.lda, c.of);
          sum += a * factor(o.b, c.b_turned ? j + l * c.ldb : l + j * c.ldb, c.of);
        }
        long const at = i + j * c.ldd;
        if (o.beta != 0) sum += static_cast<double>(o.beta) * number(o.d, at, c.to);
        if (c.end == End::Bias || c.end == End::BiasRelu) sum += number(o.bias, i, c.to);
        if ((c.end == End::Relu || c.end == End::BiasRelu) && sum < 0) sum = 0;
        put(o.d, at, c.to, sum);
      }
    }
  }
};

using Helped = backend::cublas::With<Clocked, Fake>;
/// A machine and its library, which finds the machine.
inline std::unique_ptr<Helped> helped(Fake::Log& log, backend::cublas::Choices& choices,
                                      backend::cublas::KernelSource source = backend::cublas::KernelSource::Measured,
                                      std::uint64_t seed = 1) {
  auto m = std::make_unique<Helped>(Fake{&log}, choices, source, seed);
  log.machine = m.get();
  return m;
}

}  // namespace cleave::testing
