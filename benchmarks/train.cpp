// benchmarks/train.cpp - microseconds of one whole training step (forward, loss, backward, update), row by row.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   train C1 C2.1 C9.32        one JSON line each; without arguments, rows are read from standard input
//   train start                one step of C2.32 and out: what a program costs before it trains
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include <cleave.hpp>

#include "burst.hpp"

namespace {

using namespace cleave;

// The nets.
struct Small : Sequential<Vector<64>, Linear<64>, Relu, Linear<64>, Relu, Linear<10>, CrossEntropy> {};
struct Digits : Sequential<Vector<784>, Linear<128>, Relu, Linear<10>, CrossEntropy> {};
struct Mnist : Sequential<Image<1, 28, 28>, Linear<512>, Relu, Linear<512>, Relu, Linear<10>, CrossEntropy> {};
struct Wide : Sequential<Vector<784>, Linear<1024>, Relu, Linear<1024>, Relu, Linear<10>, CrossEntropy> {};
struct LeNet : Sequential<Image<1, 28, 28>, Conv<6, 5, Pad<2>>, Relu, MaxPool<2>, Conv<16, 5>, Relu, MaxPool<2>,
                          Linear<120>, Relu, Linear<84>, Relu, Linear<10>, CrossEntropy> {};
struct Huge
    : Sequential<Vector<784>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<10, ModelParallel<Whole>>, CrossEntropy> {
};
struct HugeAlone : Sequential<Vector<784>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<10>, CrossEntropy> {};

// The plans.
struct C1 : Plan<Small, Batch<1>, Sgd> {};
template <int B, class... Ps> struct C2 : Plan<Digits, Batch<B>, Sgd, Ps...> {};
struct C3 : Plan<Mnist, Batch<64>, DataParallel<Sync>, Momentum> {};  // of 01_mnist_mlp
template <class... Ps> struct C4 : Plan<Wide, Batch<512>, Sgd, Ps...> {};
struct C4Two : Plan<Wide, Batch<512>, DataParallel<Sync>, MicroBatches<2>, Fastest, Sgd> {};
struct C6 : Plan<LeNet, Batch<32>, Sgd> {};
template <int B> struct C9 : Plan<Digits, Batch<2 * B>, DataParallel<Sync>, MicroBatches<2>, Fastest, Sgd> {};
struct C10Alone : Plan<HugeAlone, Batch<64>, Sgd> {};
template <class Split, class... Ps> struct C10 : Plan<Huge, Batch<64>, ModelParallel<Split>, Sgd, Ps...> {};

/// A batch that lies in memory. Ours pays for copying it in at every step; the peers read it where it is.
template <class P> struct Data {
  std::vector<float> x;
  std::vector<int> label;
  Data() : x(static_cast<std::size_t>(P::batch * P::Net::input::shape.size())) {
    std::uint32_t s = 1;
    for (float& v : x) v = static_cast<float>((s = s * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1;
    for (int i = 0; i < P::batch; ++i) label.push_back(i * 3 % 10);
  }
  backend::host::Feed feed() const {
    return {this,
            [](void const* self, long, long first, int count, float* out) {
              std::size_t const n = static_cast<std::size_t>(P::Net::input::shape.size());
              std::memcpy(out, static_cast<Data const*>(self)->x.data() + static_cast<std::size_t>(first) * n,
                          static_cast<std::size_t>(count) * n * sizeof(float));
            },
            [](void const* self, long, long first, int count, int* out) {
              std::memcpy(out, static_cast<Data const*>(self)->label.data() + first,
                          static_cast<std::size_t>(count) * sizeof(int));
            }};
  }
};

/// Made at the first call, kept for the next.
template <class P, int Replicas = 1> double step() {
  static Data<P> const data;
  static Trainer<P> trainer(Replicas);
  return bench::step_us([&](int n) { trainer.train(trainer.steps(), n, data.feed()); });
}

/// The same, each step by a call of its own.
template <class P, int Replicas = 1> double call() {
  static Data<P> const data;
  static Trainer<P> trainer(Replicas);
  return bench::step_us([&](int n) {
    for (int i = 0; i < n; ++i) trainer.train(trainer.steps(), 1, data.feed());
  });
}

/// GF/s of nothing but multiply-adds, on every core that this process may run on: the roof of C4.
double peak(int threads) {
  using Lanes [[gnu::vector_size(64)]] = float;
  auto const work = [](double* seconds) {
    Lanes sum[12]{}, a = Lanes{} + 0.9999f, b = Lanes{} + 0.0001f;
    for (int round = 0; round < 40; ++round) {
      double const begin = bench::now();
      for (int i = 0; i < 100000; ++i) {
        for (Lanes& s : sum) s = s * a + b;
      }
      double const t = bench::now() - begin;
      if (round == 0 || t < *seconds) *seconds = t;
    }
    for (Lanes const& s : sum) asm volatile("" ::"x"(s));
  };
  std::vector<double> seconds(static_cast<std::size_t>(threads));
  std::vector<std::thread> team;
  for (double& s : seconds) team.emplace_back(work, &s);
  for (auto& t : team) t.join();
  double rate = 0;
  for (double s : seconds) rate += 12 * 16 * 2 * 100000 * 1e-9 / s;
  return rate;
}

std::map<std::string, double (*)()> const rows{
    {"C1", step<C1>},
    {"C2.1", step<C2<1>>},
    {"C2.32", step<C2<32>>},
    {"C3", step<C3>},
    {"C3.two", step<C3, 2>},
    {"C4", step<C4<>>},
    {"C4.two", step<C4Two, 2>},
    {"C6", step<C6>},
    {"C9.1.alone", step<C2<1>>},
    {"C9.32.alone", step<C2<32>>},
    {"C9.256.alone", step<C2<256>>},
    {"C9.2048.alone", step<C2<2048>>},
    {"C9.1", step<C9<1>, 2>},
    {"C9.32", step<C9<32>, 2>},
    {"C9.256", step<C9<256>, 2>},
    {"C9.2048", step<C9<2048>, 2>},
    {"C10.alone", step<C10Alone>},
    {"C10.cols", step<C10<SplitCols>>},
    {"C10.rows", step<C10<SplitRows>>},
    {"C10.colsrows", step<C10<SplitColsRows>>},
    {"C2.1.blocks", step<C2<1, Blocks<8>>>},
    {"C2.32.blocks", step<C2<32, Blocks<8>>>},
    {"C4.blocks", step<C4<Blocks<8>>>},
    {"C10.cols.blocks", step<C10<SplitCols, Blocks<8>>>},
    {"C10.rows.blocks", step<C10<SplitRows, Blocks<8>>>},
    {"C15.one", call<C1>},
    {"C15.one.long", step<C1>},
    {"C15.two", call<C9<1>, 2>},
    {"C15.two.long", step<C9<1>, 2>},
    {"peak.one", [] { return peak(1); }},
    {"peak.two", [] { return peak(2); }},
    {"start",
     [] {
       Data<C2<32>> const data;
       return Trainer<C2<32>>(1).train(0, 1, data.feed())[0];
     }},
};

}  // namespace

int main(int argc, char** argv) {
  return bench::serve(argc, argv, "cleave", [](std::string const& name) {
    auto const row = rows.find(name);
    return row == rows.end() ? -1 : row->second();
  });
}
