// published_plans - what the compiler says of plans that others published: elements sent, and which splits it chooses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/sim/split_for.hpp>
#include <cleave/sim/step.hpp>

#include <algorithm>

#include "published.hpp"

using namespace cleave;
using namespace bench;

namespace {

// Dettmers, "How to parallelize deep learning on GPUs", 2014: a batch of 128, 1000 inputs, 500 outputs, two devices.
struct One : Sequential<Vector<1000>, Linear<500, NoBias>, MeanSquaredError> {};
struct ByData : Plan<One, Batch<128>, MicroBatches<2>, InputGradient, DataParallel<Sync>> {};
struct ByRows : Plan<One, Batch<128>, InputGradient, ModelParallel<SplitRows>> {};
struct ByCols : Plan<One, Batch<128>, InputGradient, ModelParallel<SplitCols>> {};
static_assert(traffic<ByData, 2>.elements_per_step == 500'000 && traffic<ByRows>.elements_per_step == 128'000 &&
              traffic<ByCols>.elements_per_step == 160'000);

// Of Krizhevsky 2014: one tower.
struct AlexNet : Sequential<Image<3, 224, 224>, Conv<64, 11, Stride<4>, Pad<2>>, Relu, MaxPool<3, Stride<2>>,
                            Conv<192, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>>, Conv<384, 3, Pad<1>>, Relu,
                            Conv<256, 3, Pad<1>>, Relu, Conv<256, 3, Pad<1>>, Relu, MaxPool<3, Stride<2>>, Linear<4096>,
                            Relu, Linear<4096>, Relu, Linear<1000>, CrossEntropy> {};
template <int Filters> struct Two : Path<Conv<Filters, 3, Pad<1>>, Relu, Conv<Filters, 3, Pad<1>>, Relu, MaxPool<2>> {};
template <int Filters>
struct Three
    : Path<Conv<Filters, 3, Pad<1>>, Relu, Conv<Filters, 3, Pad<1>>, Relu, Conv<Filters, 3, Pad<1>>, Relu, MaxPool<2>> {
};
struct Vgg16 : Sequential<Image<3, 224, 224>, Two<64>, Two<128>, Three<256>, Three<512>, Three<512>, Linear<4096>, Relu,
                          Linear<4096>, Relu, Linear<1000>, CrossEntropy> {};
// By its time on one GPU: 128 samples of 714 M multiplications and additions, three times, in 0.392 s; and its link.
struct K20 : Machine<1'400, Link<10'000, 2'590>> {};
// 10 TFLOP/s, and a link of 10 GB/s; or of 100 MB/s.
struct Near : Machine<10'000, Link<10'000, 10'000>> {};
struct Far : Machine<10'000, Link<50'000, 100>> {};
template <class Net, class Split> struct Of : Plan<Net, Batch<128>, ModelParallel<Split, Ways<4>>, Momentum> {};
template <class Net> struct Trick : Plan<Net, Batch<128>, OneWeirdTrick<4>, Momentum> {};

/// Letters of products and convolutions: b by samples, i by inputs, o by outputs, W not at all.
template <class P> std::string chosen() {
  std::string out;
  for (int k = 0; k < P::ops::size; ++k) out += P::signatures.op[k].contracts ? std::string(1, P::splits.of[k]) : "";
  return out;
}
template <class Net, class M> void never_slower(Table& out, char const* name) {
  constexpr double split = step_time<Of<Net, SplitFor<M>>, M>, by_data = step_time<Of<Net, SplitBatch>, M>,
                   columns = step_time<Of<Net, SplitColsRows>, M>, trick = step_time<Trick<Net>, M>;
  out.line(text("%s, 4 devices: step by the chosen splits, ms", name), "no slower than the others", Known::Seen,
           text("%.1f; by samples %.1f, columns and rows %.1f, one weird trick %.1f", split / 1e6, by_data / 1e6,
                columns / 1e6, trick / 1e6),
           "", split <= std::min({by_data, columns, trick}) ? Mark::Reached : Mark::Missed, "10 TFLOP/s, stated");
}

}  // namespace

void plans(Table& out) {
  auto const sent = [&](char const* what, double published, long elements) {
    out.number(what, "%.0f", published, Known::Seen, static_cast<double>(elements), 1e-12, "none");
  };
  sent("Dettmers, 128 x 1000 by 1000 x 500 on 2 devices: elements sent by data parallelism", 500'000,
       traffic<ByData, 2>.elements_per_step);
  sent("the same, split by rows", 128'000, traffic<ByRows>.elements_per_step);
  sent("the same, split by columns", 160'000, traffic<ByCols>.elements_per_step);
  auto const weird = [&](std::string const& splits, char const* constants) {
    bool const by_samples = splits.substr(0, 5) == "bbbbb", cut = splits.find_first_of("bW", 5) == std::string::npos;
    out.line(
        "Krizhevsky, AlexNet, 128 samples on 4 GPUs: convolutions by samples (b), dense layers by inputs or "
        "outputs (i, o)",
        "bbbbb, then i or o", Known::Noted, splits, "", by_samples && cut ? Mark::Reached : Mark::Missed, constants);
  };
  weird(chosen<Of<AlexNet, SplitFor<K20>>>(), "1.4 TFLOP/s and 2.59 GB/s, those of the K20s below");
  weird(chosen<Of<AlexNet, SplitFor<Near>>>(), "10 TFLOP/s and 10 GB/s, stated");
  never_slower<AlexNet, Near>(out, "AlexNet, 10 GB/s");
  never_slower<AlexNet, Far>(out, "AlexNet, 0.1 GB/s");
  never_slower<Vgg16, Near>(out, "VGG-16, 10 GB/s");
}
