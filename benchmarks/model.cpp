// model - modelled and measured times of a step: speeds of this machine are fitted to some nets and tried on others;
// and splits that the compiler has chosen beside those that one would write.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/sim/split_for.hpp>
#include <cleave/sim/step.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "burst.hpp"
#include "synthetic.hpp"

using namespace cleave;

namespace {

struct Case {
  std::string name;
  double measured = 0;                                   // nanoseconds
  std::function<double(sim::Speeds const&)> modelled{};  // nanoseconds
  double error(sim::Speeds const& s) const { return modelled(s) / measured - 1; }
};
template <class P> Case of(char const* name, int replicas) {
  Trainer<P> trainer(replicas, 7);
  long at = 0;
  double const us = bench::step_us([&](int n) {
    trainer.train(at, n, bench::synthetic<typename P::Net>());
    at += n;
  });
  return {name, us * 1e3, [replicas](sim::Speeds const& s) { return sim::step_at<P>(s, replicas).total; }};
}

template <int In, int Width>
struct Mlp : Sequential<Vector<In>, Linear<Width>, Relu, Linear<Width>, Relu, Linear<10>, CrossEntropy> {};
template <int Channels, int Filters>
struct Convs : Sequential<Image<Channels, 32, 32>, Conv<Filters, 3, Pad<1>>, Relu, Conv<Filters, 3, Pad<1>>, Relu,
                          MaxPool<2>, Linear<10>, CrossEntropy> {};
template <class Net, int Samples, class... Policies> struct Train : Plan<Net, Batch<Samples>, Sgd, Policies...> {};

// Tried: not fitted to.
struct Digits : Sequential<Vector<784>, Linear<128>, Relu, Linear<64>, Relu, Linear<10>, CrossEntropy> {};
struct LeNet5 : Sequential<Image<1, 28, 28>, Conv<6, 5, Pad<2>>, Tanh, AvgPool<2>, Conv<16, 5>, Tanh, AvgPool<2>,
                           Linear<120>, Tanh, Linear<84>, Tanh, Linear<10>, CrossEntropy> {};
struct Cifar : Sequential<Image<3, 32, 32>, Conv<32, 3, Pad<1>>, Relu, Conv<32, 3, Pad<1>>, Relu, MaxPool<2>,
                          Conv<64, 3, Pad<1>>, Relu, Conv<64, 3, Pad<1>>, Relu, MaxPool<2>, Linear<256>, Relu,
                          Linear<10>, CrossEntropy> {};
struct Wide
    : Sequential<Vector<1024>, Linear<2048>, Relu, Linear<2048>, Relu, Linear<1024>, Relu, Linear<16>, CrossEntropy> {};

/// As printed by a run on the machine of results/model.md.
struct Measured : Machine<209, Link<125, 80'000>> {
  static constexpr double convolution_flops = 178, memory_bytes = 108, start_ns = 8;
};
template <class Net, int Samples> void compare(char const* name) {
  using Chosen = Train<Net, Samples, ModelParallel<SplitFor<Measured>>>;
  std::printf("%s\n%s", name, explain_splits<Chosen>().c_str());
  using Uncut = Train<Net, Samples, ModelParallel<SplitFor<Measured>>, MicroBatches<1>>;
  std::vector<Case> least;
  for (int round = 0; round < 3; ++round) {  // in turn
    std::vector<Case> const now{
        of<Chosen>("chosen", 1),
        of<Uncut>("chosen, MicroBatches<1>", 1),
        of<Train<Net, Samples, ModelParallel<SplitBatch>>>("samples", 1),
        of<Train<Net, Samples, ModelParallel<SplitColsRows>>>("columns and rows", 1),
        of<Train<Net, Samples, OneWeirdTrick<2>>>("one weird trick", 1),
        of<Train<Net, Samples>>("one rank", 1),
    };
    if (least.empty()) least = now;
    for (std::size_t i = 0; i < now.size(); ++i) least[i].measured = std::min(least[i].measured, now[i].measured);
  }
  std::printf("  %-24s %9s %9s\n", "", "measured", "modelled");
  for (Case const& c : least)
    std::printf("  %-24s %9.4f %9.4f ms\n", c.name.c_str(), c.measured / 1e6,
                c.modelled(sim::speeds<Measured>(4)) / 1e6);
}

/// The parameters, each in turn larger or smaller while that makes the sum of squared logarithms less.
void fit(std::vector<Case> const& cases, sim::Speeds& s, std::vector<double sim::Speeds::*> const& parameters) {
  auto const badness = [&] {
    double sum = 0;
    for (Case const& c : cases) sum += std::pow(std::log(c.modelled(s) / c.measured), 2);
    return sum;
  };
  double best = badness();
  for (double factor = 2; factor > 1.001; factor = std::sqrt(factor)) {
    for (bool again = true; again;) {
      again = false;
      for (auto p : parameters) {
        for (double const by : {factor, 1 / factor}) {
          double const before = s.*p;
          s.*p *= by;
          double const now = badness();
          if (now < best * (1 - 1e-9)) {
            best = now;
            again = true;
          } else {
            s.*p = before;
          }
        }
      }
    }
  }
}
void tell(char const* what, std::vector<Case> const& cases, sim::Speeds const& s) {
  std::printf("%s\n%-44s %12s %12s %8s\n", what, "", "measured ms", "modelled ms", "error");
  std::vector<double> errors;
  for (Case const& c : cases) {
    errors.push_back(std::fabs(c.error(s)));
    std::printf("%-44s %12.4f %12.4f %+7.0f%%\n", c.name.c_str(), c.measured / 1e6, c.modelled(s) / 1e6,
                100 * c.error(s));
  }
  std::sort(errors.begin(), errors.end());
  std::printf("median error %.0f %%, largest %.0f %%\n\n", 100 * errors[errors.size() / 2], 100 * errors.back());
}

}  // namespace

int main() {
  sim::Speeds s;
  s.flops = s.convolution_flops = 50, s.memory_bytes = 10, s.start_ns = 1000;
  s.latency_ns = s.ways_latency_ns = 1000, s.ns_of_byte = s.ways_ns_of_byte = 0.1;
  std::vector<Case> const one{
      of<Train<Mlp<64, 64>, 16>>("64-64-64-10, batch 16", 1),
      of<Train<Mlp<512, 256>, 64>>("512-256-256-10, batch 64", 1),
      of<Train<Mlp<1024, 1024>, 128>>("1024-1024-1024-10, batch 128", 1),
      of<Train<Mlp<512, 512>, 8>>("512-512-512-10, batch 8", 1),
      of<Train<Mlp<2048, 2048>, 8>>("2048-2048-2048-10, batch 8", 1),
      of<Train<Mlp<3072, 1024>, 32>>("3072-1024-1024-10, batch 32", 1),
      of<Train<Mlp<512, 512>, 16, MicroBatches<8>>>("512-512-512-10, batch 16 in 8 parts", 1),
      of<Train<Convs<3, 16>, 32>>("convolutions of 16 filters, batch 32", 1),
      of<Train<Convs<8, 48>, 32>>("convolutions of 48 filters, batch 32", 1),
  };
  fit(one, s,
      {&sim::Speeds::flops, &sim::Speeds::convolution_flops, &sim::Speeds::memory_bytes, &sim::Speeds::start_ns});
  tell("fitted, one rank", one, s);
  std::vector<Case> const two{
      of<Train<Mlp<512, 256>, 64, DataParallel<Sync>>>("512-256-256-10, batch 64, replicas", 2),
      of<Train<Mlp<1024, 1024>, 128, DataParallel<Sync>>>("1024-1024-1024-10, batch 128, replicas", 2),
      of<Train<Mlp<512, 512>, 16, DataParallel<Sync>>>("512-512-512-10, batch 16, replicas", 2),
  };
  fit(two, s, {&sim::Speeds::latency_ns, &sim::Speeds::ns_of_byte});
  s.ways_latency_ns = s.latency_ns, s.ways_ns_of_byte = s.ns_of_byte;
  tell("fitted, two replicas", two, s);
  tell("tried",
       {
           of<Train<Digits, 64>>("784-128-64-10, batch 64", 1),
           of<Train<LeNet5, 64>>("LeNet, batch 64", 1),
           of<Train<Cifar, 32>>("CIFAR net, batch 32", 1),
           of<Train<Wide, 256>>("1024-2048-2048-1024-16, batch 256", 1),
           of<Train<Digits, 64, DataParallel<Sync>>>("784-128-64-10, batch 64, replicas", 2),
           of<Train<LeNet5, 64, DataParallel<Sync>>>("LeNet, batch 64, replicas", 2),
           of<Train<Cifar, 32, DataParallel<Sync>>>("CIFAR net, batch 32, replicas", 2),
           of<Train<Wide, 256, DataParallel<Sync>>>("1024-2048-2048-1024-16, batch 256, replicas", 2),
           of<Train<Wide, 256, ModelParallel<SplitColsRows>>>("1024-2048-2048-1024-16, columns and rows", 1),
           of<Train<Cifar, 32, OneWeirdTrick<2>>>("CIFAR net, one weird trick", 1),
       },
       s);
  std::printf(
      "struct ThisMachine : Machine<%.0f, Link<%.0f, %.0f>> {\n"
      "  static constexpr double convolution_flops = %.3g, memory_bytes = %.3g, start_ns = %.3g;\n};\n",
      s.flops, s.latency_ns, 1e3 / s.ns_of_byte, s.convolution_flops, s.memory_bytes, s.start_ns);
  compare<Cifar, 32>("CIFAR net, batch 32, on two ranks");
  compare<Wide, 256>("1024-2048-2048-1024-16, batch 256, on two ranks");
  compare<Wide, 16>("1024-2048-2048-1024-16, batch 16, on two ranks");
  compare<Digits, 16>("784-128-64-10, batch 16, on two ranks");
}
