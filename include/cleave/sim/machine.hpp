// sim/machine.hpp - a model of a device and its links, and of the time that an operation takes there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../place/partition.hpp"
#include "../place/place.hpp"
#include "../send/cost.hpp"

namespace cleave {

/// A device that does `Flops` multiplications and additions a nanosecond in products and convolutions, and the links
/// between devices. What is measured more exactly is redefined in a struct of its own:
///
///     struct Lab : Machine<100, Link<2'000, 10'000>> {
///       static constexpr double convolution_flops = 70, memory_bytes = 20, start_ns = 500;
///     };
template <long Flops, class L = Ethernet10G> struct Machine {
  static constexpr double flops = static_cast<double>(Flops);
  static constexpr double convolution_flops = 0;  // in convolutions; 0: as in products
  static constexpr double half_flops = 0;         // where numbers have 16 bits; 0: as in 32
  static constexpr double memory_bytes = 0;  // a nanosecond, of values and weights read or written; 0: takes no time
  static constexpr double start_ns = 0;      // of every operation
  static constexpr long capacity = 0;        // bytes of memory that a rank may take; 0: not said
  using link = L;                            // between replicas, and between stages
  using ways_link = void;                    // between the ranks of a stage of a replica; void: as between replicas
};

/// A duration in nanoseconds, as models have it: `step_time<Train, Lab> < 12_ms`.
constexpr double operator""_ms(unsigned long long n) { return static_cast<double>(n) * 1e6; }
constexpr double operator""_ms(long double n) { return static_cast<double>(n) * 1e6; }
constexpr double operator""_us(unsigned long long n) { return static_cast<double>(n) * 1e3; }
constexpr double operator""_us(long double n) { return static_cast<double>(n) * 1e3; }

namespace sim {

/// The numbers of a Machine.
struct Speeds {
  double flops = 1, convolution_flops = 1, memory_bytes = 0, start_ns = 0;
  double latency_ns = 0, ns_of_byte = 0, ways_latency_ns = 0, ways_ns_of_byte = 0;

  constexpr double latency(bool between_replicas) const { return between_replicas ? latency_ns : ways_latency_ns; }
  constexpr double of_byte(bool between_replicas) const { return between_replicas ? ns_of_byte : ways_ns_of_byte; }
  constexpr double memory(double bytes) const { return memory_bytes > 0 ? bytes / memory_bytes : 0; }
};

/// Of machine M, for numbers of so many bytes.
template <class M> constexpr Speeds speeds(int bytes_each) {
  using Between = typename M::link;
  using Ways = std::conditional_t<std::is_void_v<typename M::ways_link>, Between, typename M::ways_link>;
  Speeds s;
  double const faster = bytes_each == 2 && M::half_flops > 0 ? M::half_flops / M::flops : 1;
  s.flops = M::flops * faster;
  s.convolution_flops = (M::convolution_flops > 0 ? M::convolution_flops : M::flops) * faster;
  s.memory_bytes = M::memory_bytes;
  s.start_ns = M::start_ns;
  s.latency_ns = send::Cost<Between>::alpha;
  s.ns_of_byte = send::Cost<Between>::beta;
  s.ways_latency_ns = send::Cost<Ways>::alpha;
  s.ways_ns_of_byte = send::Cost<Ways>::beta;
  return s;
}

/// Multiplications and additions for one sample, forward, of the part of an operation that a rank has.
constexpr double flops(place::Signature const& s, op::Local const& local) {
  if (s.work == 0 && !(s.contracts && s.weights > 0)) return 0;
  auto const share = [](Shape part, Shape of) {
    return static_cast<double>(part.size()) / static_cast<double>(of.size());
  };
  return 2.0 * static_cast<double>(place::cost(s)) * (s.work > 0 ? share(local.x, s.x) : share(local.w0, s.w[0].shape));
}

/// One pass of an operation over so many samples: forward, to its input, or to its weights, which it reads or writes
/// `times`: gradients once for each micro-batch. `bytes_each`: of a number.
constexpr double time_of(Speeds const& m, place::Signature const& s, op::Local const& local, double samples,
                         int bytes_each, int times = 1) {
  bool const convolves = s.contracts && local.x.dims == 3;
  double const touched = samples * static_cast<double>(local.x.size() + local.y.size()) +
                         static_cast<double>(s.weights > 0 && s.tokens == 0 ? local.w0.size() : 0) * times;
  return m.start_ns + samples * flops(s, local) / (convolves ? m.convolution_flops : m.flops) +
         m.memory(touched * bytes_each);
}

}  // namespace sim
}  // namespace cleave
