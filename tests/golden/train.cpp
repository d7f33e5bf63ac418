// golden/train.cpp FOLDER - trains 17 plans for a few steps on threads and on the emulated device (under MPI, on its
// processes) and prints each loss, what each rank has sent and a checksum of each tensor of the checkpoint, to be
// compared with another commit. With -DGOLDEN_FEW the first two plans alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "plans.hpp"
#ifdef CLEAVE_MPI
#include <cleave/backend/mpi/process.hpp>
#else
#include <cleave/train/emulated.hpp>
#endif

using namespace golden;

namespace {

std::uint64_t checksum(std::span<unsigned char const> bytes) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (unsigned char b : bytes) hash = (hash ^ b) * 1099511628211u;
  return hash;
}

/// Three steps, or 24 where gradients are clipped: a last bit of a norm is often lost. `leads`: this process prints.
template <class Trained>
void train(std::string const& title, Trained&& trainer, std::string const& folder, bool leads) {
  using P = typename std::remove_cvref_t<Trained>::plan;
  session::Probing<P> probe;
  for (std::size_t i = 0; P::tokens.vocabulary > 0 && i < probe.x.size(); ++i)
    probe.x[i] = static_cast<double>(i * i % 50);
  std::vector<double> const losses = trainer.train(0, P::clips ? 24 : 3, probe.feed());
  std::string const path = folder + "/checkpoint.safetensors";
  session::save(trainer, path, 7, leads);
  std::vector<long> sent;  // asked of all processes
  for (int rank = 0; rank < trainer.ranks().world(); ++rank) {
    sent.push_back(trainer.sent(rank));
    sent.push_back(trainer.sent_bytes(rank));
  }
  if (!leads) return;
  std::printf("%s\n", title.c_str());
  for (double loss : losses) std::printf("  loss %a\n", loss);
  for (std::size_t i = 0; i < sent.size(); i += 2)
    std::printf("  rank %zu sent %ld elements, %ld bytes\n", i / 2, sent[i], sent[i + 1]);
  io::SafeTensors const file = io::load_safetensors(path);
  for (session::Kept const& k : session::kept<P>()) {
    if (io::NamedTensor const* t = file.find(k.name))
      std::printf("  %s %016llx\n", k.name.c_str(), static_cast<unsigned long long>(checksum(t->bytes)));
  }
}

// The order of a sum shows from three numbers on: micro-batches of six samples, four ways. Of eight micro-batches the
// second of three replicas keeps two branches. The norm of all gradients is larger than this, so that it counts.
template <class Net, class... Policies> struct Six : Plan<Net, Batch<48>, MicroBatches<8>, Replicas, Policies...> {};
struct Tight : Momentum {
  static constexpr float clip_norm = 0.01F;
};

/// f(name, type of the plan) for each.
template <class F> void each_plan(F f) {
  f("f32", meta::type<Of<Mlp, Replicas>>{});
  f("clipped_f64", meta::type<Six<Mlp, Precision<f64>, Tight>>{});
#ifndef GOLDEN_FEW
  f("norms", meta::type<Six<Norms, Momentum>>{});
  f("rows_4", meta::type<Of<Mlp, Replicas, ModelParallel<SplitRows, Ways<4>>>>{});
  f("ring", meta::type<Of<Mlp, Replicas, Fastest, ReduceBy<Ring>>>{});
  f("columns", meta::type<Of<Mlp, Replicas, ModelParallel<SplitCols>>>{});
  f("six_rows", meta::type<Six<Mlp>>{});
  f("f64", meta::type<Of<Regression, Replicas, Precision<f64>, Nesterov>>{});
  f("bf16", meta::type<Of<Mlp, Replicas, Precision<bf16>, Momentum>>{});
  f("tf32", meta::type<Of<Lenet, Replicas, Precision<tf32>>>{});
  f("fp8", meta::type<Of<Mlp, Replicas, Precision<fp8>, Adam>>{});
  f("fastest", meta::type<Of<Mlp, Replicas, Fastest, AdamW>>{});
  f("fastest_bf16_rounds", meta::type<Of<Deep, Replicas, Fastest, Precision<bf16>, Accumulate<2>>>{});
  f("columns_rows", meta::type<Of<Mlp, Replicas, ModelParallel<SplitColsRows>, Momentum>>{});
  f("one_weird_trick", meta::type<Of<Lenet, Replicas, OneWeirdTrick<2>, Momentum>>{});
  f("words", meta::type<Of<Words, Replicas, Adagrad>>{});
  f("int8", meta::type<Of<Mlp, Replicas, Fastest, Compress<Int8>>>{});
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string const folder = argv[1];
#ifdef CLEAVE_MPI
  backend::mpi::Process const process(true);
  each_plan([&]<class P>(char const* name, meta::type<P>) {
    if (process.size() % P::ways != 0) return;
    train(name, Trainer<P>(process.size() / P::ways, 7, process.remote()), folder, process.rank() == 0);
  });
#else
  each_plan([&]<class P>(char const* name, meta::type<P>) {
    for (int replicas : {1, 3}) {
      std::string const title = std::string(name) + " on " + std::to_string(replicas);
      train(title, Trainer<P>(replicas, 7), folder, true);
      using Machine = backend::emulate::Machine;
      train(title + ", emulated device", DeviceTrainer<P, Machine>(replicas, 7, std::make_unique<Machine>(7)), folder,
            true);
    }
  });
#endif
}
