// train/checkpoint.cpp - saved and resumed, on the same or another number of replicas, training goes on bit for bit.
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
  CHECK_THROWS_WITH_AS(session::load(other, path), doctest::Contains("say the same Compress, Buckets and split"),
                       Error);
}
}  // namespace

TEST_CASE("what compressed gradients lack is resumed bit for bit, and by fewer replicas lost in none of them") {
  residuals_go_on<Int8>();
  residuals_go_on<OneBit>();
  residuals_go_on<TopK<100>>();
}

TEST_CASE("residuals are loaded under the same axes only, not under as many ways of others") {
  struct Net : Sequential<Vector<12>, Linear<12, NoBias>, Relu, Linear<12, NoBias>, CrossEntropy> {};
  using Split = SplitAlong<SplitColsRows, SplitRowsCols>;
  struct Wide : Plan<Net, Batch<12>, MicroBatches<4>, DataParallel<Sync>, Fastest, Compress<Int8>,
                     ModelParallel<Split, Ways<2, 3>>> {};
  struct High : Plan<Net, Batch<12>, MicroBatches<4>, DataParallel<Sync>, Fastest, Compress<Int8>,
                     ModelParallel<Split, Ways<3, 2>>> {};
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  session::Probing<Wide> const probe;
  Trainer<Wide> first(2, 3), again(2, 4);
  first.train(0, 3, probe.feed());
  session::save(first, path, 3);
  session::load(again, path);
  for (int r = 0; r < first.ranks().world(); ++r) CHECK(again.residuals(r) == first.residuals(r));
  Trainer<High> other(2, 4);
  CHECK_THROWS_WITH_AS(session::load(other, path), doctest::Contains("its gradients were compressed as"), Error);
}

namespace {
struct Deep : Sequential<Image<8, 6, 6>, Conv<8, 3>, BatchNorm, Relu, Linear<16>, Relu, Linear<8>, LayerNorm,
                         Dropout<20>, Linear<8>, CrossEntropy> {};
template <class... Ps> struct Cut : Plan<Deep, Batch<16>, Momentum, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
using Uncut = Cut<MicroBatches<1>>;
using Columns = Cut<ModelParallel<SplitCols>, MicroBatches<1>>;
using Rows = Cut<ModelParallel<SplitRows, Ways<4>>, MicroBatches<4>>;
using Turns = Cut<ModelParallel<SplitColsRows, Ways<8>>, DataParallel<Sync>, MicroBatches<8>>;
using Trick = Cut<DataParallel<Sync>, OneWeirdTrick<2>, MicroBatches<8>>;
using ByData = Cut<DataParallel<Sync>, MicroBatches<8>>;
using TwoAxes = Cut<ModelParallel<SplitAlong<SplitColsRows, SplitBatch>, Ways<2, 2>>, MicroBatches<4>>;
using Half = Cut<DataParallel<Sync>, MicroBatches<8>, Precision<bf16>>;

template <class P> std::vector<double> values(Trainer<P>& t) {
  std::vector<double> out;
  for (auto const& k : session::kept<P>()) {
    for (auto v : session::whole(t, k)) out.push_back(static_cast<double>(v));
  }
  return out;
}
/// Four steps by P, three by Q from its file: as seven by the whole net, to rounding.
template <class P, class Q> void goes_on(std::vector<double> const& wanted, int p, int q, double within) {
  INFO(session::plan_text<P>() << " x " << p << ", then " << session::plan_text<Q>() << " x " << q);
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  session::Probing<Uncut> probe;
  Trainer<P> first(p, 3);
  first.train(0, 4, probe.feed());
  session::save(first, path, 3);
  Trainer<Q> second(q, 3);
  session::load(second, path);
  CHECK(second.steps() == 4);
  CHECK(values(second) == values(first));
  second.train(4, 3, probe.feed());
  auto const got = values(second);
  REQUIRE(got.size() == wanted.size());
  double far = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    far = std::max(far, std::fabs(got[i] - wanted[i]) / (1 + std::fabs(wanted[i])));
  CHECK(far < within);
}
template <class P> void goes_on_by_all(std::vector<double> const& wanted, int p) {
  goes_on<P, Uncut>(wanted, p, 1, 1e-4);
  goes_on<P, Columns>(wanted, p, 1, 1e-4);
  goes_on<P, Rows>(wanted, p, 1, 1e-4);
  goes_on<P, Turns>(wanted, p, 1, 1e-4);
  goes_on<P, Trick>(wanted, p, 2, 1e-4);
  for (int q : {1, 3, 8}) goes_on<P, ByData>(wanted, p, q, 1e-4);
}
}  // namespace

TEST_CASE("a checkpoint of any split goes on under any other, on any number of replicas") {
  Trainer<Uncut> whole(1, 3);
  session::Probing<Uncut> probe;
  whole.train(0, 7, probe.feed());
  auto const wanted = values(whole);
  goes_on_by_all<Uncut>(wanted, 1);
  goes_on_by_all<Columns>(wanted, 1);
  goes_on_by_all<Rows>(wanted, 1);
  goes_on_by_all<Turns>(wanted, 1);
  goes_on_by_all<Trick>(wanted, 2);
  goes_on<TwoAxes, ByData>(wanted, 1, 3, 1e-4);
  goes_on<Turns, TwoAxes>(wanted, 1, 1, 1e-4);
  goes_on_by_all<ByData>(wanted, 5);
  goes_on<Half, ByData>(wanted, 2, 2, 0.1);
}

TEST_CASE("what compressed gradients lack belongs to a split") {
  struct Wide : Sequential<Vector<8>, Linear<6>, Tanh, Linear<4>, CrossEntropy> {};
  using Cols =
      Plan<Wide, Batch<12>, MicroBatches<12>, DataParallel<Sync>, Fastest, Compress<Int8>, ModelParallel<SplitCols>>;
  using Lines =
      Plan<Wide, Batch<12>, MicroBatches<12>, DataParallel<Sync>, Fastest, Compress<Int8>, ModelParallel<SplitRows>>;
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<Cols> cols(2, 3);
  session::Probing<Cols> probe;
  cols.train(0, 2, probe.feed());
  session::save(cols, path, 3);
  Trainer<Cols> same(3, 3);
  session::load(same, path);
  Trainer<Lines> lines(2, 3);
  CHECK_THROWS_WITH_AS(session::load(lines, path), doctest::Contains("say the same Compress, Buckets and split"),
                       Error);
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

namespace {
struct Dropping : Sequential<Vector<9>, Linear<16>, Dropout<50>, Linear<4>, CrossEntropy> {};
struct Drops : Plan<Dropping, Batch<12>, MicroBatches<4>, DataParallel<Sync>, Sgd> {};

template <class Trained> auto weights_of(Trained& t) {
  std::vector<float> out;
  for (auto const& k : session::kept<typename Trained::plan>()) {
    for (float v : session::whole(t, k)) out.push_back(v);
  }
  return out;
}
void set_weight(Trainer<Drops>& t, long at, float value) { t.write(0, backend::host::Region::Weights, at, 1, &value); }
/// The same checkpoint with other metadata.
void save_with(Trainer<Drops>& trainer, std::string const& path, std::string const& key, std::string const& value) {
  session::save(trainer, path, 3);
  io::SafeTensors const file = io::load_safetensors(path);
  io::Metadata metadata;
  for (auto const& [name, text] : file.metadata()) {
    if (name.find("checksum") == std::string::npos) metadata.emplace_back(name, name == key ? value : text);
  }
  io::save_safetensors(path, file.tensors(), metadata);
}
}  // namespace

TEST_CASE("a trainer of another seed goes on with the dropout of the one that saved") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  auto const goes_on = [&](auto& whole, auto& first, auto& other) {
    session::Probing<typename std::decay_t<decltype(whole)>::plan> probe;
    whole.train(0, 6, probe.feed());
    first.train(0, 3, probe.feed());
    session::save(first, path, 3);
    session::load(other, path);
    other.train(3, 3, probe.feed());
    CHECK(weights_of(other) == weights_of(whole));
  };
  Trainer<Drops> whole(2, 3), first(2, 3), other(1, 99);
  goes_on(whole, first, other);
}

TEST_CASE("what is not finite is not saved: the tensor, the place and the value are told, the file stays") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<Drops> trainer(1, 3);
  session::save(trainer, path, 3);
  auto const good = io::read_file(path);
  set_weight(trainer, 5, std::numeric_limits<float>::quiet_NaN());
  CHECK_THROWS_WITH_AS(session::save(trainer, path, 3),
                       doctest::Contains("tensor 0.weight is not finite: element 5 of 144 is nan after step 0"),
                       Diverged);
  set_weight(trainer, 5, -std::numeric_limits<float>::infinity());
  CHECK_THROWS_WITH_AS(session::save(trainer, path, 3), doctest::Contains("element 5 of 144 is -inf"), Diverged);
  CHECK(io::read_file(path) == good);
  // The last update: its loss was finite.
  Trainer<Drops> last(1, 3);
  session::Probing<Drops> probe;
  last.set_rate(Rate::constant(1e38f));
  last.train(0, 1, probe.feed(), 1e30);
  CHECK_THROWS_WITH_AS(session::save(last, path, 3), doctest::Contains("is not finite"), Diverged);
  CHECK(io::read_file(path) == good);
}

TEST_CASE("a step or a seed that is no number is an error, and changes nothing") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<Drops> trainer(1, 3);
  session::Probing<Drops> probe;
  trainer.train(0, 2, probe.feed());
  Trainer<Drops> other(1, 4);
  auto const before = weights_of(other);
  for (char const* key : {"step", "seed"}) {
    for (char const* value : {"abc", "", "100000000000000000000", "-3", "9e18", "12x", " 12", "+1"}) {
      CAPTURE(key);
      CAPTURE(value);
      save_with(trainer, path, key, value);
      CHECK_THROWS_WITH_AS(session::load(other, path), doctest::Contains("which is no whole number from 0 to"), Error);
      if (std::string(key) == "seed") {
        CHECK_THROWS_WITH_AS(session::saved_seed(path), doctest::Contains("which is no whole number"), Error);
      }
      CHECK(weights_of(other) == before);
      CHECK(other.steps() == 0);
    }
  }
  save_with(trainer, path, "step", "9000000000000000000");
  CHECK_THROWS_WITH_AS(session::load(other, path), doctest::Contains("from 0 to 4294967295"), Error);
  CHECK(weights_of(other) == before);
}
