// layer/recompute.cpp - layers whose values are computed again: the bits, traffic and listing of a path, less memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../train/sequences.hpp"

#include "../train/on_device.hpp"

using namespace sequences;

namespace {

struct Kept : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Repeat<4, Block>,
                         Dropout<10>, PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Again
    : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Repeat<4, Recompute<Block>>,
                 Dropout<10>, PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Dropped : Path<Residual<PerPosition<LayerNorm>, Attention<2, Causal>, Dropout<20>>,
                      Residual<PerPosition<LayerNorm, Linear<16>, Gelu, Linear<8>>, Dropout<20>>> {};
template <template <class...> class In>
struct OfDropped : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, In<Dropped>,
                              In<Dropped, PerPosition<Tanh>>, PerPosition<Linear<letters>, CrossEntropy>> {};
template <template <class...> class In>
struct OfPictures
    : Sequential<Image<2, 9, 9>, In<Conv<4, 3, Pad<1>>, Relu, MaxPool<3, Stride<2>, Pad<1>>, GroupNorm<2>>,
                 In<Branches<Concat, Path<AvgPool<2, Stride<1>>>, Path<Conv<4, 2>, Gelu>>, Sigmoid>, BatchNorm,
                 In<Linear<24>, Tanh, Linear<24>, LayerNorm, Relu>, Linear<4>, CrossEntropy> {};
template <template <class...> class In>
struct OfCells : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                            In<Lstm<8>, PerPosition<RmsNorm>, Gru<8>>, PerPosition<Linear<letters>, CrossEntropy>> {};

template <class Net> struct Small : Plan<Net, Batch<4>, MicroBatches<2>, DataParallel<Sync>> {};
template <class P> constexpr long activations = memory<P>[schedule::Category::Activations];

}  // namespace

TEST_CASE("a transformer has the same bits, sends the same, and keeps less") {
  using Whole = Train<Kept>;
  using Less = Train<Again>;
  CHECK(trained<Less>(1) == trained<Whole>(1));
  static_assert(activations<Less> < activations<Whole> * 6 / 10);
  using Data = Train<Kept, DataParallel<Sync>>;
  using LessData = Train<Again, DataParallel<Sync>>;
  static_assert(traffic<LessData, 3>.bytes_per_step == traffic<Data, 3>.bytes_per_step);
  auto const one = trained<Data>(1);
  for (int n : {1, 2, 3}) CHECK(trained<LessData>(n) == one);
}
TEST_CASE("random numbers are those of the first pass") {
  CHECK(trained<Train<OfDropped<Recompute>>>(1) == trained<Train<OfDropped<Path>>>(1));
  using Data = Train<OfDropped<Recompute>, DataParallel<Sync>>;
  CHECK(trained<Data>(3) == trained<Data>(1));
}
TEST_CASE("recurrent layers, and other number formats") {
  CHECK(trained<Train<OfCells<Recompute>>>(1) == trained<Train<OfCells<Path>>>(1));
  CHECK(trained<Train<Again, Precision<bf16>>>(1) == trained<Train<Kept, Precision<bf16>>>(1));
}
TEST_CASE("under ZeRO, in rounds, by stages and by columns and rows") {
  auto const one = trained<Train<Kept, DataParallel<Sync>>>(1);
  CHECK(trained<Train<Again, DataParallel<Sync, Zero<2>>>>(3) == one);
  CHECK(trained<Train<Again, DataParallel<Sync, Zero<3>>>>(2) == one);
  CHECK(trained<Train<Again, DataParallel<Sync>, Accumulate<3>>>(2) == one);
  using Stages = Train<Again, ModelParallel<SplitLayers<3>>>;
  static_assert(memory<Stages>.total < memory<Train<Kept, ModelParallel<SplitLayers<3>>>>.total);
  CHECK(trained<Stages>(1) == one);
  CHECK(trained<Train<Again, ModelParallel<SplitLayers<2, GPipe>>>>(1) == one);
  using Cut = Train<Again, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<2>>>;
  using Whole = Train<Kept, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<2>>>;
  static_assert(traffic<Cut, 2>.bytes_per_step == traffic<Whole, 2>.bytes_per_step);
  CHECK(trained<Cut>(2) == trained<Whole>(2));
}
TEST_CASE("convolutions, branches and pools, beside a BatchNorm that is not within, on the host and a device") {
  using testing::outcome, testing::OnDevice;
  using Again = testing::Of<OfPictures<Recompute>, DataParallel<Sync>>;
  using Kept = testing::Of<OfPictures<Path>, DataParallel<Sync>>;
  static_assert(activations<Again> < activations<Kept>);
  auto const kept = outcome(Trainer<Kept>(1, 7));
  for (int n : {1, 3}) CHECK(outcome(Trainer<Again>(n, 7)) == kept);
  auto const on_device = []<class P>(meta::type<P>, int n) {
    return outcome(DeviceTrainer<P, OnDevice>(n, 7, testing::device(n)), 1);
  };
  CHECK(far(on_device(meta::type<Small<OfPictures<Recompute>>>{}, 2),
            on_device(meta::type<Small<OfPictures<Path>>>{}, 1)) < 1e-5);
}
TEST_CASE("a listing says what is computed again") {
  std::string const text = schedule::listing<Train<Again>>({1, 1});
  CHECK(text.find("recompute       ") != std::string::npos);
  CHECK(schedule::listing<Train<Kept>>({1, 1}).find("recompute") == std::string::npos);
}
TEST_CASE("layers that are recomputed twice over, and what needs nothing of them") {
  struct Twice : Sequential<Vector<20>, Recompute<Recompute<Linear<24>, Tanh>, Linear<16>>, Linear<4>, CrossEntropy> {};
  struct Once : Sequential<Vector<20>, Linear<24>, Tanh, Linear<16>, Linear<4>, CrossEntropy> {};
  CHECK(testing::outcome(Trainer<testing::Of<Twice>>(1, 3)) == testing::outcome(Trainer<testing::Of<Once>>(1, 3)));
  struct Alone : Sequential<Vector<20>, Recompute<Linear<16>>, Linear<4>, CrossEntropy> {};
  static_assert(!testing::Of<Alone>::recomputed.any);
  struct Empty : Sequential<Vector<20>, Repeat<40, Recompute<>>, Recompute<Linear<16>, Tanh>, Linear<4>, CrossEntropy> {
  };
  static_assert(activations<testing::Of<Empty>> > 0);
}
TEST_CASE("factors of a gradient, of which one is computed again") {
  struct Factors : Sequential<Vector<20>, Linear<30>, Recompute<Linear<40>, Relu, Linear<44, SendFactors>, Relu>,
                              Linear<30>, Tanh, Linear<4>, CrossEntropy> {};
  struct Sums : Sequential<Vector<20>, Linear<30>, Recompute<Linear<40>, Relu, Linear<44>, Relu>, Linear<30>, Tanh,
                           Linear<4>, CrossEntropy> {};
  auto const one = testing::outcome(Trainer<testing::Of<Sums, DataParallel<Sync>>>(1, 3));
  CHECK(testing::outcome(Trainer<testing::Of<Factors, DataParallel<Sync>>>(2, 3)) == one);
  CHECK(testing::outcome(Trainer<testing::Of<Factors, DataParallel<Sync>>>(3, 3)) == one);
}
TEST_CASE("what a layer keeps of a sample is computed again if it is more than its value") {
  struct Cells : Sequential<Sequence<5, 4>, Repeat<3, Recompute<Gru<8>>>, LastPosition, Linear<4>, CrossEntropy> {};
  struct Kept : Sequential<Sequence<5, 4>, Repeat<3, Gru<8>>, LastPosition, Linear<4>, CrossEntropy> {};
  static_assert(activations<testing::Of<Cells>> * 10 < activations<testing::Of<Kept>> * 8);
  CHECK(testing::outcome(Trainer<testing::Of<Cells>>(1, 3)) == testing::outcome(Trainer<testing::Of<Kept>>(1, 3)));
}
TEST_CASE("a loss within, and its scale") {
  struct Again : Sequential<Vector<20>, Linear<16>, Recompute<Tanh, Linear<4>, CrossEntropy>> {};
  struct Kept : Sequential<Vector<20>, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
  using Scaled = testing::Of<Again, LossScale<1024>>;
  CHECK(testing::outcome(Trainer<Scaled>(1, 3)) == testing::outcome(Trainer<testing::Of<Kept, LossScale<1024>>>(1, 3)));
}
TEST_CASE("a map at the end that needs its input") {
  struct Again
      : Sequential<Vector<20>, Recompute<Linear<24>, Gelu>, Linear<16>, Recompute<Gelu>, Linear<4>, CrossEntropy> {};
  struct Kept : Sequential<Vector<20>, Linear<24>, Gelu, Linear<16>, Gelu, Linear<4>, CrossEntropy> {};
  CHECK(testing::outcome(Trainer<testing::Of<Again>>(1, 3)) == testing::outcome(Trainer<testing::Of<Kept>>(1, 3)));
}
