// data/check_data.hpp - tests a user's data set and metric: what is read, by one thread and by several; merges in any order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "../meta/check_report.hpp"
#include "../meta/text.hpp"
#include "dataset.hpp"
#include "metrics.hpp"

namespace cleave {

namespace session {

/// What read(i) has given.
struct ReadSample {
  std::vector<float> input, values;
  std::vector<int> classes;
  friend bool operator==(ReadSample const&, ReadSample const&) = default;
};
/// Into buffers that are full of a number, of which nothing must be left.
template <Dataset D> ReadSample read_over(D const& data, long i, float full, int label) {
  using Target = typename D::Target;
  ReadSample out;
  out.input.assign(static_cast<std::size_t>(D::Input::shape.size()), full);
  if constexpr (requires { Target::classes; }) {
    out.classes.assign(static_cast<std::size_t>(Target::labels), label);
    if constexpr (Target::labels == 1) {
      data.read(i, std::span<float>(out.input), out.classes[0]);
    } else {
      data.read(i, std::span<float>(out.input), std::span<int>(out.classes));
    }
  } else {
    out.values.assign(static_cast<std::size_t>(Target::values), full);
    data.read(i, std::span<float>(out.input), std::span<float>(out.values));
  }
  return out;
}
/// The first mistake in what was read of sample i, or nothing.
template <Dataset D> std::string wrong_in(D const& data, long i, ReadSample const& s) {
  using Target = typename D::Target;
  auto const of = [&](char const* what, std::size_t k, double v) {
    return meta::joined({"sample ", i, ": ", what, " ", k, " is ", meta::short_number(v)});
  };
  for (std::size_t k = 0; k < s.input.size(); ++k)
    if (!std::isfinite(s.input[k])) return of("input", k, static_cast<double>(s.input[k]));
  for (std::size_t k = 0; k < s.values.size(); ++k)
    if (!std::isfinite(s.values[k])) return of("target", k, static_cast<double>(s.values[k]));
  if constexpr (requires { data.weight(i); }) {
    double const weight = static_cast<double>(data.weight(i));
    if (!std::isfinite(weight) || weight < 0)
      return meta::joined(
          {"sample ", i, ": weight() says ", meta::short_number(weight), ", not a number of 0 or more"});
  }
  if constexpr (requires { Target::classes; }) {
    for (int const c : s.classes) {
      if (Target::labels > 1 && c == Target::ignored) continue;
      if (c < 0 || c >= Target::classes) return meta::joined({"sample ", i, ": class ", c, " of ", Target::classes});
    }
    if constexpr (requires { data.label(i); }) {
      if (data.label(i) != s.classes[0])
        return meta::joined({"sample ", i, ": label() says class ", data.label(i), ", read() ", s.classes[0]});
    }
  }
  return {};
}

}  // namespace session

/// Reads up to `most` samples, evenly spread: all numbers are finite and all classes there; read() writes all of the
/// input and of the target, and the same at each call, by four threads at once too; label() and class_names(), where
/// there are such, agree with it. Throws what read() throws.
template <Dataset D> CheckReport check_dataset(D const& data, long most = 1000) {
  using Target = typename D::Target;
  auto const wrong = [](std::string text) { return CheckReport{false, std::move(text)}; };
  long const size = static_cast<long>(data.size());
  if (size < 1) return wrong("there is no sample");
  if constexpr (requires { data.class_names(); }) {
    if constexpr (requires { Target::classes; }) {
      if (auto const names = data.class_names(); !names.empty() && names.size() != Target::classes)
        return wrong(meta::joined({"class_names() has ", names.size(), " names, for ", Target::classes, " classes"}));
    }
  }
  long const count = std::min(size, std::max(1L, most));
  auto const number = [&](long k) { return count == 1 ? 0 : k * (size - 1) / (count - 1); };
  std::vector<session::ReadSample> all;
  for (long k = 0; k < count; ++k) {
    long const i = number(k);
    all.push_back(session::read_over(data, i, 12345.f, -7));
    session::ReadSample const again = session::read_over(data, i, -54321.f, -8);
    if (again.input != all.back().input)
      return wrong(meta::joined({"sample ", i, ": a part of the input is not written, or not alike twice"}));
    if (!(again == all.back()))
      return wrong(meta::joined({"sample ", i, ": a part of the target is not written, or not alike twice"}));
    if (std::string text = session::wrong_in(data, i, all.back()); !text.empty()) return wrong(std::move(text));
  }
  constexpr int threads = 4;
  long differs[threads];
  std::string thrown[threads];
  std::vector<std::thread> readers;
  for (int t = 0; t < threads; ++t) {
    differs[t] = -1;
    readers.emplace_back([&, t] {
      try {
        for (long k = 0; k < count; ++k) {
          long const at = (k + t * count / threads) % count;  // each begins elsewhere
          if (!(session::read_over(data, number(at), 12345.f, -7) == all[static_cast<std::size_t>(at)]))
            differs[t] = number(at);
        }
      } catch (std::exception const& e) {
        thrown[t] = e.what();
      }
    });
  }
  for (std::thread& r : readers) r.join();
  for (int t = 0; t < threads; ++t) {
    if (!thrown[t].empty()) return wrong("several threads read at once: " + thrown[t]);
    if (differs[t] >= 0)
      return wrong(meta::joined({"sample ", differs[t], " differs when several threads read at once"}));
  }
  return {true, "right"};
}

/// `check_metric<Mine>(10)`: of random samples with so many outputs, the value does not depend on the order of samples
/// and merges, beyond rounding; one of no samples changes none that it is merged with, and its value is NaN.
template <class M>
requires ClassMetric<M> || TargetMetric<M> CheckReport check_metric(int outputs = 5) {
  auto const wrong = [](std::string text) { return CheckReport{false, std::move(text)}; };
  constexpr long samples = 60;
  auto const n = static_cast<std::size_t>(outputs);
  auto const add = [&](M& m, long i) {
    std::vector<float> y(n), target(n);
    tensor::Random const random{7, tensor::Purpose::Augment, 0};
    for (std::size_t k = 0; k < n; ++k) {
      auto const at = static_cast<std::uint64_t>(i) * n + k;
      y[k] = 2 * random.uniform(at) - 1;
      target[k] = random.uniform(at + 1'000'000) > 0.5f ? 1.f : 0.f;
    }
    if constexpr (ClassMetric<M>) {
      m.add(std::span<float const>(y), static_cast<int>(i * 7 % outputs));
    } else {
      m.add(std::span<float const>(y), std::span<float const>(target));
    }
  };
  auto const near = [](double a, double b) { return std::abs(a - b) <= 1e-6 * (1 + std::abs(a)); };
  M const none{};
  if (!std::isnan(static_cast<double>(none.value())))
    return wrong("of no samples the value is " + meta::short_number(static_cast<double>(none.value())) + ", not NaN");
  M all{}, backwards{}, parts[4];
  for (long i = 0; i < samples; ++i) add(all, i);
  for (long i = samples; i-- > 0;) add(backwards, i);
  double const value = static_cast<double>(all.value());
  auto const differs = [&](char const* what, double other) {
    return wrong(meta::joined(
        {what, ": ", meta::short_number(other), ", where all samples in order are ", meta::short_number(value)}));
  };
  if (!near(value, static_cast<double>(backwards.value())))
    return differs("samples in another order", static_cast<double>(backwards.value()));
  for (long i = 0; i < samples; ++i) add(parts[i < 7 ? 0 : i < 20 ? 1 : i < 21 ? 2 : 3], i);
  M left = parts[0], pair = parts[2], reversed = parts[3];
  for (int p = 1; p < 4; ++p) left.merge(parts[p]);
  if (!near(value, static_cast<double>(left.value())))
    return differs("four parts merged", static_cast<double>(left.value()));
  pair.merge(parts[3]);
  M halves = parts[0];
  halves.merge(parts[1]);
  halves.merge(pair);
  if (!near(value, static_cast<double>(halves.value())))
    return differs("two pairs merged", static_cast<double>(halves.value()));
  for (int p = 2; p >= 0; --p) reversed.merge(parts[p]);
  if (!near(value, static_cast<double>(reversed.value())))
    return differs("four parts merged the other way round", static_cast<double>(reversed.value()));
  M empty{}, before = all;
  empty.merge(all);
  before.merge(none);
  if (!near(value, static_cast<double>(empty.value())))
    return differs("all merged into one of no samples", static_cast<double>(empty.value()));
  if (!near(value, static_cast<double>(before.value())))
    return differs("one of no samples merged into all", static_cast<double>(before.value()));
  return {true, "right"};
}

}  // namespace cleave
