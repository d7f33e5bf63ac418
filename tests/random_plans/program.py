"""program.py SEED - a C++ program that trains a random model under a random plan, and on one rank; and compares them.

The plan has words that cut, send, keep or order otherwise, and none that rounds otherwise: in f64 all values of four steps
are near. The program prints `near`, or `WRONG` with the largest difference, or the one line with which it was refused."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import random
import sys

seed = int(sys.argv[1])
numbers = random.Random(seed)
choice = numbers.choice


def chance(percent):
    return numbers.random() * 100 < percent


class Layers:
    """The same layers twice: as one rank has them, and with options that change what is sent or kept."""

    def __init__(self):
        self.plain, self.varied = [], []

    def add(self, plain, varied=None):
        self.plain.append(plain)
        self.varied.append(varied or plain)

    def add_group(self, group):
        """Computed again on the way back, or not."""
        if chance(50):
            self.add(f"Path<{', '.join(group.plain)}>", f"Recompute<{', '.join(group.varied)}>")
        else:
            self.plain += group.plain
            self.varied += group.varied


def linear(layers, outputs):
    option = choice(["", ", SendFactors", ", SendCheapest"]) if sends_factors else ""
    layers.add(f"Linear<{outputs}>", f"Linear<{outputs}{option}>")


def activation(layers):
    layers.add(choice(["Relu", "Tanh", "Gelu", "Sigmoid"]))


def of_vectors(net):
    for _ in range(choice([2, 3, 4])):
        group = Layers()
        for _ in range(choice([1, 2])):
            linear(group, choice([12, 16, 24]))
            activation(group)
            if chance(25):
                group.add("Dropout<20>")
            if chance(20):
                group.add("LayerNorm")
        net.add_group(group)
    linear(net, 6)
    net.add("CrossEntropy")
    return "Vector<10>"


def of_sequences(net):
    by_tokens = choice(["", "", ", ModelParallel<SplitRows>"])
    net.add("Embedding<12, 8, SendDense>", f"Embedding<12, 8{', SendDense' if zero or chance(50) else ''}{by_tokens}>")
    if chance(70):
        net.add("PositionEmbedding")
    for _ in range(choice([1, 2, 3])):
        group = Layers()
        kind = choice(["block", "block", "block", "cells", "positions", "experts"])
        norm = choice(["LayerNorm", "RmsNorm"])
        if kind == "block":
            heads = choice(["2, Causal", "4, Causal, Rotary, KeyValueHeads<2>", "2"])
            group.add(f"Residual<PerPosition<{norm}>, Attention<{heads}>>")
            inner = choice(["Linear<16>, Gelu, Linear<8>", "SwiGlu<16>, Linear<8, NoBias>", "Linear<8>"])
            group.add(f"Residual<PerPosition<{norm}, {inner}>{choice(['', ', Dropout<15>'])}>")
        elif kind == "cells":
            group.add(choice(["Gru<8>", "Lstm<8>", "Rnn<8>"]))
        elif kind == "positions":
            group.add("Residual<PerPosition<LayerNorm>, PerPosition<Linear<8>, Tanh>>")
        else:
            options = choice(["", "TopExperts<2>, ", "TopExperts<2>, CapacityPercent<80>, "])
            group.add(f"Residual<PerPosition<{norm}>, Experts<4, {options}Linear<12>, Gelu, Linear<8>>>")
        net.add_group(group)
    end = choice(["positions", "positions", "one", "flat"])
    if end == "positions":
        losses = ["CrossEntropy", choice(["CrossEntropy", "ParallelCrossEntropy"])]
        net.add(*(f"PerPosition<LayerNorm, Linear<12>, {loss}>" for loss in losses))
        return "Vector<6>"
    if end == "one":
        net.add(choice(["LastPosition", "MeanOverPositions"]))
    else:
        linear(net, 10)
        net.add("Tanh")
    linear(net, 12)
    net.add("CrossEntropy")
    return "Vector<6>"


def of_images(net):
    channels = choice([4, 6, 8])
    first, second, third = Layers(), Layers(), Layers()
    first.add(f"Conv<{channels}, 3, Pad<1>>")
    net.add_group(first)
    norm = choice(["BatchNorm", "GroupNorm<2>", ""])
    if norm:
        net.add("GroupNorm<2>" if norm == "BatchNorm" and (rounds or stages) else norm)
    activation(net)
    if chance(40):
        net.add(f"Residual<Conv<{channels}, 3, Pad<1>>, Relu>")
    net.add(choice(["MaxPool<2>", "AvgPool<2>"]))
    if chance(30):
        net.add("ConvTranspose<4, 4, Stride<2>, Pad<1>>")
    second.add(f"Conv<{choice([4, 8])}, 3>")
    activation(second)
    net.add_group(second)
    if chance(30):
        net.add("Dropout<20>")
    linear(third, 14)
    activation(third)
    net.add_group(third)
    linear(net, 6)
    net.add("CrossEntropy")
    return "Image<2, 8, 8>"


model = choice([of_vectors, of_sequences, of_sequences, of_images])
rounds, stages = chance(30), chance(25) and model != of_images
zero = choice(["", "", "Zero<1>"] + ([] if stages else ["Zero<2>", "Zero<3>"]))
sends_factors = not zero and not rounds
replicas = choice([1, 2, 3])

words = [f"DataParallel<Sync{', ' + zero if zero else ''}>"]
if chance(75):
    split = choice(["SplitCols", "SplitRows", "SplitColsRows", "SplitColsRows"])
    words.append(f"ModelParallel<{split}, Ways<{2 if model == of_images else choice([2, 3])}>>")
    if model != of_vectors and chance(30):
        words[-1] = "ModelParallel<SplitPositions, Ways<2>>"
    elif model == of_sequences and chance(50):
        words.append("SequenceParallel")
elif chance(30):
    words.append("Blocks<2>")
if rounds:
    words.append("Accumulate<2>")
if stages:
    words.append(f"ModelParallel<SplitLayers<{choice([2, 3])}>>")
if chance(30):
    words.append(f"Buckets<{choice([64, 1000, 100000])}>")
if chance(20) and "Blocks<2>" not in words:
    words.append("Fastest")
frozen = ["Freeze<1>"] if chance(15) and zero != "Zero<3>" else []
optimizer = choice(["Momentum", "Adam", "Sgd", "Clipped"])
net = Layers()
sample = model(net)
number = "static_cast<float>(h % 12)" if model == of_sequences else "static_cast<float>(h % 1000) / 500 - 1"

print(f"""// random plan {seed}
#include <cleave.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace cleave;

struct Clipped : Momentum {{
  static constexpr float clip_norm = 0.3f;
}};
template <class Net, class... Words>
struct Of : Plan<Net, Batch<12>, MicroBatches<6>, Precision<f64>, {', '.join([optimizer] + frozen)}, Words...> {{
  static constexpr Rate rate = Rate::constant(0.05f);
}};
struct PlainNet : Sequential<{sample}, {', '.join(net.plain)}> {{}};
struct VariedNet : Sequential<{sample}, {', '.join(net.varied)}> {{}};
using Plain = Of<PlainNet, DataParallel<Sync>>;
using Varied = Of<VariedNet, {', '.join(words)}>;

template <class P> backend::host::Feed feed() {{
  return {{nullptr,
          [](void const*, long step, long first, int count, float* out) {{
            for (long s = step * P::batch + first, end = s + count; s < end; ++s)
              for (long k = 0; k < P::placed_model.shape(-1).size(); ++k) {{
                auto h = static_cast<unsigned>(s) * 2654435761u + static_cast<unsigned>(k) * 1255593u;
                h = (h ^ h >> 13) * 0x5bd1e995u;
                h ^= h >> 15;
                *out++ = {number};
              }}
          }},
          [](void const*, long step, long first, int count, int* out) {{
            for (long s = step * P::batch + first, end = s + count; s < end; ++s)
              for (long k = 0; k < P::schedule.labels; ++k) *out++ = static_cast<int>((s * 7 + k * k + s * k) % 6);
          }}}};
}}
template <class P> std::vector<double> trained(int replicas) {{
  Trainer<P> trainer(replicas, 3);
  std::vector<double> all = trainer.train(0, 4, feed<P>());
  all.push_back(trainer.score(feed<P>(), 17).loss);
  if (std::string const wrong = session::miscounted(trainer, 4, 2); !wrong.empty()) throw Error({{"WRONG ", wrong}});
  for (session::Kept const& k : session::kept<P>())
    for (auto v : session::whole(trainer, k)) all.push_back(static_cast<double>(v));
  return all;
}}

int main() try {{
  std::vector<double> const wanted = trained<Plain>(1), got = trained<Varied>({replicas});
  double worst = wanted.size() == got.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(wanted.size(), got.size()); ++i) {{
    double const apart = std::abs(wanted[i] - got[i]) / (1 + std::abs(wanted[i]));
    worst = apart <= worst ? worst : apart;
  }}
  std::printf("%s, within %.1e\\n", worst < 1e-7 ? "near" : "WRONG", worst);
  return worst < 1e-7 ? 0 : 1;
}} catch (std::exception const& e) {{
  std::printf("%s\\n", e.what());
  return 1;
}}""")
