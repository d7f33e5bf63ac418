// pipelines - stages on two cores beside one rank, two replicas and split layers: time of a step, memory of the rank
// that needs most, and what the rank that sends most sends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "synthetic.hpp"

using namespace cleave;

namespace {

constexpr int times = 15, steps = 8, rounds = 16;

template <int N, int Width> struct Hidden : Hidden<N - 1, Width> {
  using layers = meta::concat<typename Hidden<N - 1, Width>::layers, meta::list<Linear<Width>, Relu>>;
};
template <int Width> struct Hidden<0, Width> { using layers = meta::list<>; };
template <int Width, class> struct Dense;
template <int Width, class... Layers>
struct Dense<Width, meta::list<Layers...>> : Sequential<Vector<Width>, Layers..., Linear<10>, CrossEntropy> {};
struct Wide : Dense<1024, Hidden<8, 1024>::layers> {};
struct Deep : Dense<256, Hidden<16, 256>::layers> {};
struct Pictures : Sequential<Image<3, 32, 32>, Conv<32, 3, Pad<1>>, Relu, Conv<32, 3, Pad<1>>, Relu, MaxPool<2>,
                             Conv<64, 3, Pad<1>>, Relu, Conv<64, 3, Pad<1>>, Relu, MaxPool<2>, Conv<64, 3, Pad<1>>,
                             Relu, MaxPool<2>, Linear<256>, Relu, Linear<10>, CrossEntropy> {};
template <class Net, class... Policies> struct Train : Plan<Net, Batch<256>, MicroBatches<16>, Sgd, Policies...> {};

struct Way {
  virtual ~Way() = default;
  /// Milliseconds of a step.
  virtual double step() = 0;
  std::string name;
  long bytes = 0, sent = 0;
};
template <class P> class WayOf : public Way {
 public:
  explicit WayOf(std::string const& as, int replicas) : trainer_(replicas, 7) {
    name = as;
    schedule::Memory const m = trainer_.memory();
    bytes = m.total - m[schedule::Category::Workspace];
    sent = schedule::volumes(schedule::program<P>, P::request, trainer_.ranks()).most.bytes_per_step;
  }
  double step() override {
    auto const begin = std::chrono::steady_clock::now();
    trainer_.train(at_, steps, bench::synthetic<typename P::Net>());
    at_ += steps;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / steps * 1e3;
  }

 private:
  Trainer<P> trainer_;
  long at_ = 0;
};

template <class Net> void measure(char const* name) {
  std::vector<std::unique_ptr<Way>> ways;
  auto const add = [&]<class P>(meta::type<P>, char const* as, int replicas = 1) {
    ways.push_back(std::make_unique<WayOf<P>>(as, replicas));
  };
  add(meta::type<Train<Net>>{}, "one rank");
  add(meta::type<Train<Net, Accumulate<rounds>>>{}, "one rank, Accumulate<16>");
  add(meta::type<Train<Net, DataParallel<Sync>>>{}, "two replicas", 2);
  add(meta::type<Train<Net, ModelParallel<SplitColsRows>>>{}, "columns and rows");
  add(meta::type<Train<Net, ModelParallel<SplitLayers<2, GPipe>>, Accumulate<rounds>>>{}, "stages, GPipe");
  add(meta::type<Train<Net, ModelParallel<SplitLayers<2>>, Accumulate<rounds>>>{}, "stages, 1F1B");
  add(meta::type<Train<Net, ModelParallel<SplitLayers<2, Interleaved<2>>>, Accumulate<rounds>>>{},
      "stages, interleaved");
  std::vector<std::vector<double>> took(ways.size());
  for (int t = 0; t < times; ++t) {  // in turn
    for (std::size_t w = 0; w < ways.size(); ++w) took[w].push_back(ways[w]->step());
  }
  std::printf("%s\n", name);
  for (std::size_t w = 0; w < ways.size(); ++w) {
    std::vector<double> ratio, own = took[w];
    for (std::size_t t = 0; t < times; ++t) ratio.push_back(took[0][t] / own[t]);
    std::sort(ratio.begin(), ratio.end());
    std::sort(own.begin(), own.end());
    std::printf("  %-26s %7.2f ms, x %.2f; %10ld bytes a rank without workspace, %9ld sent\n", ways[w]->name.c_str(),
                own[times / 2], ratio[times / 2], ways[w]->bytes, ways[w]->sent);
  }
}

}  // namespace

int main() {
  measure<Wide>("nine dense layers of 1024");
  measure<Deep>("seventeen dense layers of 256");
  measure<Pictures>("five convolutions and two dense layers");
}
