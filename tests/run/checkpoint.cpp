// run/checkpoint.cpp - saved and resumed, on the same or another number of replicas, training goes on bit for bit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {
struct Net : Sequential<Image<2, 6, 6>, Conv<4, 3>, BatchNorm, Relu, Linear<8>, Dropout<20>, Linear<4>, CrossEntropy> {
};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, OneWeirdTrick<2>, Adam> {};
struct Other : Plan<Net, Batch<16>, DataParallel<Sync>, OneWeirdTrick<2>, Adam> {};

std::vector<float> all(Trainer<Train>& t) {
  std::vector<float> out;
  for (auto const& k : session::kept<Train>()) {
    for (float v : session::whole(t, k)) out.push_back(v);
  }
  return out;
}
}  // namespace

TEST_CASE("resume continues bit for bit") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  session::Probing<Train> probe;
  Trainer<Train> whole(2, 3), first(2, 3);
  whole.train(0, 10, probe.feed());
  first.train(0, 6, probe.feed());
  session::save(first, path, 3);
  CHECK(session::saved_seed(path) == 3);
  Trainer<Train> second(1, session::saved_seed(path));  // dropout goes on from the seed
  session::load(second, path);
  CHECK(second.steps() == 6);
  CHECK(all(first) == all(second));
  second.train(6, 4, probe.feed());
  CHECK(all(second) == all(whole));
  CHECK(session::miscounted(whole, 10) == "");
  CHECK(session::miscounted(second, 4) == "");
}

namespace {
struct Small : Sequential<Vector<9>, Linear<7>, Tanh, Linear<4>, CrossEntropy> {};
template <class Codec>
struct Encoded : Plan<Small, Batch<12>, MicroBatches<12>, DataParallel<Sync>, Fastest, Compress<Codec>> {};
template <class Codec>
struct Bucketed
    : Plan<Small, Batch<12>, MicroBatches<12>, DataParallel<Sync>, Fastest, Compress<Codec>, Buckets<1_MiB>> {};
template <class Codec> void residuals_go_on() {
  using T = Encoded<Codec>;
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  session::Probing<T> probe;
  Trainer<T> whole(3, 3), first(3, 3), second(3, 3);
  whole.train(0, 10, probe.feed());
  first.train(0, 6, probe.feed());
  session::save(first, path, 3);
  session::load(second, path);
  second.train(6, 4, probe.feed());
  for (int r = 0; r < 3; ++r) CHECK(second.residuals(r) == whole.residuals(r));
  for (auto const& k : session::kept<T>()) CHECK(session::whole(second, k) == session::whole(whole, k));
  Trainer<T> two(2, 3);
  session::load(two, path);
  auto const sum = [](auto& t) {  // over ranks, of all that is owed
    double all = 0;
    for (int r = 0; r < t.ranks().world(); ++r) {
      for (float v : t.residuals(r)) all += static_cast<double>(v);
    }
    return all;
  };
  CHECK(sum(first) != 0);
  CHECK(sum(two) == doctest::Approx(sum(first)).epsilon(1e-4));
  Trainer<T> one(1, 3);
  session::load(one, path);
  Trainer<Bucketed<Codec>> other(3, 3);  // the same sizes would be other weights
  CHECK_THROWS_WITH_AS(session::load(other, path), doctest::Contains("say the same Compress and Buckets"), Error);
}
}  // namespace

TEST_CASE("row 44: what compressed gradients lack is resumed bit for bit, and by fewer replicas lost in none of them") {
  residuals_go_on<Int8>();
  residuals_go_on<OneBit>();
  residuals_go_on<TopK<100>>();
}

TEST_CASE("what does not fit is refused, by name, and changes nothing") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<Train> trainer(1, 3);
  session::save(trainer, path, 3);
  Trainer<Other> other(1, 3);
  CHECK_THROWS_WITH_AS(session::load(other, path), doctest::Contains("saved under another plan (batch 8"), Error);
  auto bytes = io::read_file(path);
  bytes[bytes.size() / 2] ^= 1;
  io::write_file(path, bytes);
  auto const before = all(trainer);
  CHECK_THROWS_WITH_AS(session::load(trainer, path), doctest::Contains("model.safetensors"), Error);
  CHECK(all(trainer) == before);
}
