// benchmarks/gpu.hpp - one row measured on a device, by the device's clock, and printed as one JSON line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <cleave.hpp>
#include <cleave/train/cuda.hpp>

namespace bench {

using cleave::backend::cuda::check, cleave::backend::cuda::Machine;

/// Milliseconds of one piece of work: the median of repeats, the least and the most.
struct Figure {
  double ms = 0, low = 0, high = 0;
  int repeats = 0;
};

/// Which rows are wanted, how long they may take, and how they are told.
class Rows {
 public:
  bool quick = false;
  std::vector<std::string> only;
  std::string of;  // the name that our side has; empty: cleave
  mutable int failed = 0;

  bool wanted(std::string const& row) const {
    return only.empty() || std::any_of(only.begin(), only.end(), [&](auto const& o) { return row.starts_with(o); });
  }
  /// Calls measure(); what fails is a line too, and the next row comes.
  template <class Measure> void row(std::string const& name, std::string const& side, Measure measure) const {
    if (!wanted(name)) return;
    try {
      measure();
    } catch (std::exception const& e) {
      ++failed;
      std::string why = e.what();
      std::replace_if(
          why.begin(), why.end(), [](char c) { return c == '"' || c == '\\' || c < ' '; }, ' ');
      std::printf("{\"row\": \"%s\", \"side\": \"%s\", \"error\": \"%s\"}\n", name.c_str(), side.c_str(), why.c_str());
    }
    std::fflush(stdout);
  }
  /// `more` are further fields, each with ", " before it.
  void tell(std::string const& row, std::string side, Figure const& f, std::string const& more = "") const {
    if (!of.empty() && side.starts_with("cleave")) side.replace(0, 6, of);
    std::printf("{\"row\": \"%s\", \"side\": \"%s\", \"ms\": %.6g, \"low\": %.6g, \"high\": %.6g, \"repeats\": %d%s}\n",
                row.c_str(), side.c_str(), f.ms, f.low, f.high, f.repeats, more.c_str());
    std::fflush(stdout);
  }
  static std::string field(char const* name, double value) {
    char text[64];
    std::snprintf(text, sizeof text, ", \"%s\": %.6g", name, value);
    return text;
  }

  /// Of what put() puts on the stream, between two events of it.
  template <class Put> Figure timed(cudaStream_t s, Put put) const {
    Clock const clock;
    return repeated(4096, [&](int n) {
      check(cudaEventRecord(clock.begin, s), "record an event");
      for (int i = 0; i < n; ++i) put();
      check(cudaEventRecord(clock.end, s), "record an event");
      check(cudaEventSynchronize(clock.end), "a measurement");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, clock.begin, clock.end), "the time between two events");
      return static_cast<double>(ms);
    });
  }
  /// Of what run(n) does n times, n <= 256, and waits for, by the host's clock.
  template <class Run> Figure timed_here(Run run) const {
    using namespace std::chrono;
    return repeated(256, [&](int n) {
      auto const begin = steady_clock::now();
      run(n);
      return duration<double, std::milli>(steady_clock::now() - begin).count();
    });
  }

 private:
  struct Clock {
    cudaEvent_t begin = nullptr, end = nullptr;
    Clock() {
      check(cudaEventCreate(&begin), "make an event");
      check(cudaEventCreate(&end), "make an event");
    }
    Clock(Clock const&) = delete;
    Clock& operator=(Clock const&) = delete;
    ~Clock() {
      cudaEventDestroy(begin);
      cudaEventDestroy(end);
    }
  };
  /// burst(n): milliseconds of n pieces. A repeat is a burst of at least 5 ms (quick: 1), after 50 ms (10) that do not
  /// count; 25 repeats (20), fewer where they would take more than 10 s (3).
  template <class Burst> Figure repeated(int most, Burst burst) const {
    double const least = quick ? 1 : 5, warm = quick ? 10 : 50, limit = quick ? 3e3 : 1e4;
    int n = 1;
    double spent = 0;
    for (int rounds = 0; rounds < 3 || spent < warm; ++rounds) {
      double const ms = burst(n);
      spent += ms;
      if (ms < least && n < most) n *= 2;
    }
    std::vector<double> each;
    spent = 0;
    for (int wanted = quick ? 20 : 25; wanted > 0 && (each.size() < 3 || spent < limit); --wanted) {
      each.push_back(burst(n));
      spent += each.back();
      each.back() /= n;
    }
    std::sort(each.begin(), each.end());
    return {each[each.size() / 2], each.front(), each.back(), static_cast<int>(each.size())};
  }
};

/// Numbers in [-scale, scale): a device that multiplies zeros draws less power, and runs faster than it would.
template <class T> struct Fill : cleave::backend::gpu::Each {
  struct Args {
    T* to;
    long n;
    float scale;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long i) {
      auto u = static_cast<std::uint32_t>(i) * 2654435761u;
      u = (u ^ u >> 15) * 2246822519u;
      a.to[i] = static_cast<T>((static_cast<float>((u ^ u >> 13) >> 8) * 0x1p-23f - 1) * a.scale);
    });
  }
};

/// A device, one of its streams, and tensors on it.
struct Bench {
  Machine machine;
  cleave::backend::gpu::Queue<Machine> q{&machine, machine.stream(),
                                         machine.allocate(cleave::backend::gpu::workspace_bytes)};
  template <class T> T* tensor(long n, float scale = 1) {
    auto* const at = reinterpret_cast<T*>(machine.allocate(n * static_cast<long>(sizeof(T))));
    q.template launch<Fill<T>>(cleave::backend::gpu::blocks_each(n), {at, n, scale});
    return at;
  }
};

/// A batch that lies in the host's memory.
template <class P> struct Samples {
  static constexpr auto n = static_cast<std::size_t>(P::Net::input::shape.size());
  std::vector<float> x;
  std::vector<int> label;
  Samples() : x(static_cast<std::size_t>(P::batch) * n) {
    std::uint32_t s = 1;
    for (float& v : x) v = static_cast<float>((s = s * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1;
    for (int i = 0; i < P::batch; ++i) label.push_back(i * 3 % 10);
  }
  cleave::backend::host::Feed feed() const {
    return {this,
            [](void const* self, long, long first, int count, float* out) {
              std::memcpy(out, static_cast<Samples const*>(self)->x.data() + static_cast<std::size_t>(first) * n,
                          static_cast<std::size_t>(count) * n * sizeof(float));
            },
            [](void const* self, long, long first, int count, int* out) {
              std::memcpy(out, static_cast<Samples const*>(self)->label.data() + first,
                          static_cast<std::size_t>(count) * sizeof(int));
            }};
  }
};

/// One training step of a plan: the captured graph on samples that are there, and train(), which copies them in and
/// hears every loss.
template <class P, class M = Machine>
void step(Rows const& rows, std::string const& row, std::string const& side, int replicas = 1) {
  rows.row(row, side, [&] {
    Samples<P> const samples;
    cleave::DeviceTrainer<P, M> trainer(replicas);
    if constexpr (requires { trainer.machine().listing(); }) {  // what libraries make, and what they would take
      std::fputs(trainer.machine().listing().c_str(), stderr);
    }
    double const loss = trainer.train(0, 1, samples.feed())[0];
    rows.tell(row, side, rows.timed(trainer.fleet().stream(), [&] { trainer.fleet().again(); }),
              Rows::field("first_loss", loss));
    rows.tell(row, side + ", with input",
              rows.timed_here([&](int n) { trainer.train(trainer.steps(), n, samples.feed()); }));
  });
}

void dense_nets(Rows const&);          // gpu_dense.cu
void narrow_nets(Rows const&);         // gpu_narrow.cu
void convolutional_nets(Rows const&);  // gpu_conv.cu
void many_ranks(Rows const&);          // gpu_ranks.cu

inline std::string dotted(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

/// The main function of a program of rows. Without a device: one line, and 2; 1 if a row failed.
template <class All> int measure(char const* name, int argc, char** argv, All all) {
  Rows rows;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (word == "--quick") {
      rows.quick = true;
    } else if (word == "--side" && i + 1 < argc) {
      rows.of = argv[++i];
    } else if (word == "--only" && i + 1 < argc) {
      for (std::string rest = argv[++i]; !rest.empty();) {
        rows.only.push_back(rest.substr(0, rest.find(',')));
        rest.erase(0, rows.only.back().size() + 1);
      }
    } else {
      std::fprintf(stderr, "%s: no option %s; [--only ROW[,ROW ...]] [--quick] [--side NAME]\n", name, argv[i]);
      return 2;
    }
  }
  try {
    Machine const machine;
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "ask for the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "ask for the runtime's version");
    std::printf("{\"about\": {\"device\": \"%s\", \"driver_cuda\": \"%s\", \"runtime\": \"%s\", \"quick\": %s}}\n",
                machine.title().c_str(), dotted(driver).c_str(), dotted(runtime).c_str(),
                rows.quick ? "true" : "false");
  } catch (cleave::Error const& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 2;
  }
  all(rows);
  return rows.failed > 0;
}

}  // namespace bench
