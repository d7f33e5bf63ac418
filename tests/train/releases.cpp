// train/releases.cpp - checkpoints that earlier releases have written, in tests/train/checkpoints/, still load.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cstdlib>

using namespace cleave;

// A release adds its files to checkpoints/VERSION/ once, with the code of that release:
//     mkdir tests/train/checkpoints/VERSION
//     CLEAVE_WRITE=tests/train/checkpoints/VERSION ./test.run.releases
// prints a line for `written` below. The plans here do not change; a new format gets a new plan and a new file.
namespace {
struct Picture
    : Sequential<Image<2, 5, 5>, Conv<4, 3>, BatchNorm, Relu, Linear<6>, Dropout<20>, Linear<3>, CrossEntropy> {};
struct Small : Sequential<Vector<9>, Linear<7>, Tanh, Linear<4>, CrossEntropy> {};
struct F32 : Plan<Picture, Batch<8>, MicroBatches<4>, DataParallel<Sync>, Adam> {};
struct Split : Plan<Picture, Batch<8>, MicroBatches<4>, DataParallel<Sync>, OneWeirdTrick<2>, Momentum> {};
struct F64 : Plan<Small, Batch<12>, MicroBatches<4>, DataParallel<Sync>, Precision<f64>, Momentum> {};
struct Bf16 : Plan<Small, Batch<12>, MicroBatches<4>, DataParallel<Sync>, Precision<bf16>, AdamW> {};
struct Residuals : Plan<Small, Batch<12>, MicroBatches<4>, DataParallel<Sync>, Fastest, Compress<Int8>> {};
struct ServedPlan : Plan<Small, Batch<12>, MicroBatches<4>, DataParallel<Async>, Shards<2>, Adagrad> {};

constexpr std::uint64_t seed = 5;
constexpr long steps = 3;

/// Of all tensors that a checkpoint is made of, in their order: the checksum of the payload in the file.
template <class Trained> std::uint32_t sum_of(Trained& trainer) {
  using P = typename Trained::plan;
  io::Crc32c sum;
  auto const add = [&](auto const& v) {
    sum.add({reinterpret_cast<unsigned char const*>(v.data()), v.size() * sizeof v[0]});
  };
  for (auto const& k : session::kept<P>()) add(session::whole(trainer, k));
  if constexpr (session::keeps_residuals<P>) {
    for (int r = 0; r < trainer.ranks().world(); ++r) add(trainer.residuals(r));
  }
  return sum.value();
}

struct Written {
  char const *release, *name;
  std::uint32_t sum;
};
constexpr Written written[] = {
    {"0.1.0", "f32_adam_batch_norm", 4274029238u}, {"0.1.0", "f32_split_momentum", 818981967u},
    {"0.1.0", "f64_momentum", 3558082081u},        {"0.1.0", "bf16_adamw", 3010903363u},
    {"0.1.0", "int8_residuals", 4083483436u},      {"0.1.0", "served_adagrad", 1042684238u},
};

template <class P> void loads(char const* name) {
  session::Probing<P> probe;
  if (char const* const folder = std::getenv("CLEAVE_WRITE")) {
    Trainer<P> trainer(2, seed);
    trainer.train(0, steps, probe.feed());
    session::save(trainer, std::string(folder) + "/" + name + ".safetensors", seed);
    MESSAGE("{\"", version, "\", \"", std::string(name), "\", ", sum_of(trainer), "u},");
    return;
  }
  std::string const here = __FILE__;  // relative to the build where a compiler cache makes it so
  char const* const kept = std::getenv("CLEAVE_CHECKPOINTS");
  std::string const folder_of_all = kept ? kept : here.substr(0, here.find_last_of('/')) + "/checkpoints";
  int found = 0;
  for (Written const& w : written) {
    if (std::string(name) != w.name) continue;
    std::string const path = folder_of_all + "/" + w.release + "/" + name + ".safetensors";
    INFO(path);
    Trainer<P> trainer(2, session::saved_seed(path));
    CHECK(session::saved_seed(path) == seed);
    CHECK(sum_of(trainer) != w.sum);
    session::load(trainer, path);
    CHECK(trainer.steps() == steps);
    CHECK(sum_of(trainer) == w.sum);
    trainer.train(steps, 2, probe.feed());
    CHECK(trainer.steps() == steps + 2);
    ++found;
  }
  CHECK(found > 0);
}
}  // namespace

TEST_CASE("checkpoints of every release load: every number as it was saved, and training goes on") {
  loads<F32>("f32_adam_batch_norm");
  loads<Split>("f32_split_momentum");
  loads<F64>("f64_momentum");
  loads<Bf16>("bf16_adamw");
  loads<Residuals>("int8_residuals");
  loads<ServedPlan>("served_adagrad");
}
