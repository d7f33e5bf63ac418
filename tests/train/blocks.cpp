// train/blocks.cpp - sums of products in blocks: columns and rows on 2 to 8 ways give the bits of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "many_axes.hpp"
#include "sequences.hpp"
#include "triples.hpp"

using namespace cleave;
using plan::BitsDifference;

namespace {

template <class N, class... Ps> using In = triples::Of<N, MicroBatches<12>, Ps...>;
/// One sample in a micro-batch.
template <class N, class... Ps> using Alone = triples::Of<N, MicroBatches<24>, Ps...>;

/// Weights, moments and losses after four steps.
template <class P> std::vector<double> after(int replicas) {
  triples::TrainerOf<P> t(replicas, 7);
  std::vector<double> all = t.train(0, 4, signs::feed<P>());
  for (double v : values(t)) all.push_back(v);
  return all;
}
/// Training by other plans gives the bits of `One` on one rank, and the compiler says so.
template <class One> struct Same {
  std::vector<double> wanted = after<One>(1);

  template <class P> Same& on(int replicas) {
    INFO(schedule::listing<P>(P::ranks_of(replicas)));
    static_assert(same_bits<One, P> && same_bits<P, One>);
    CHECK(after<P>(replicas) == wanted);
    return *this;
  }
};

struct Deep : Sequential<Vector<16>, Linear<32>, LayerNorm, Relu, Linear<24>, Tanh, Residual<Linear<24>, Relu>,
                         Linear<4>, CrossEntropy> {};
/// Several products read one value, whose gradient is then summed for each of them.
struct Readers : Sequential<Vector<16>, Linear<8>, Branches<Plus, Path<Linear<16>, Relu>, Path<Linear<16>, Tanh>>,
                            Residual<Linear<16>>, Linear<4>, CrossEntropy> {};
/// No bias and a map that are computed at once with the product on one rank, and a pooled image before it.
struct Pictures : Sequential<Image<2, 6, 6>, Conv<4, 3>, Relu, MaxPool<2>, Linear<12, NoBias>, Sigmoid, Linear<8>,
                             GeluTanh, Linear<4>, CrossEntropy> {};
struct Deeper
    : Sequential<Image<4, 9, 9>, Conv<8, 3, Pad<1>, Stride<2>>, Relu, Conv<12, 3, Pad<2>, Dilation<2>, NoBias>,
                 GroupNorm<2>, Tanh, Conv<8, 1>, Relu, GlobalAvgPool, Linear<4>, CrossEntropy> {};
/// In two groups, of which each way may have one; the next convolution reads all.
struct Towers : Sequential<Image<4, 7, 7>, Conv<8, 3, Groups<2>>, Relu, Conv<8, 3>, Relu, Linear<4>, CrossEntropy> {};
/// Of one sample: few columns, and a number of rows that does not fill vectors.
struct Sliver : Sequential<Vector<16>, Linear<20>, Relu, Linear<64>, Tanh, Linear<48>, Relu, Linear<4>, CrossEntropy> {
};
/// Some readers of a value read it in parts, others whole; a residual goes around both.
struct Many : Sequential<Vector<16>, Linear<16>, Branches<Plus, Path<LayerNorm>, Path<Tanh>, Path<LayerNorm>>,
                         Residual<Branches<Plus, Path<LayerNorm, Linear<16>>, Path<LayerNorm, Linear<16>>>>, Linear<4>,
                         CrossEntropy> {};
struct Mine : op::Product<16> {
  static constexpr auto name = "mine";
};
struct Own : Sequential<Vector<16>, Linear<32>, Relu, layer::Chain<Mine>, Tanh, Linear<4>, CrossEntropy> {};
struct Clipped : Momentum {
  static constexpr float clip_norm = 0.05f;
};
/// Cuts over 2 x 2 ways: over one axis, over the other, or over both.
struct Columns {
  static constexpr place::DeviceMesh mesh{0, 2, 2};
  static constexpr char const* letters[] = {"o.", ".i", "oi"};
};
struct Crossed {
  static constexpr place::DeviceMesh mesh{0, 2, 2};
  static constexpr char const* letters[] = {"io", "oi", "i."};
};

}  // namespace

TEST_CASE("dense layers in columns and rows, of four blocks") {
  using B = Blocks<4>;
  Same<In<Deep, B>>{}
      .on<In<Deep, B, ModelParallel<SplitColsRows>>>(1)
      .on<In<Deep, B, ModelParallel<SplitCols>>>(1)
      .on<In<Deep, B, ModelParallel<SplitRows>>>(1)
      .on<In<Deep, B, ModelParallel<SplitRows, Ways<4>>>>(1)
      .on<In<Deep, B, ModelParallel<SplitCols, Ways<4>>>>(1)
      .on<In<Deep, B, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<4>>>>(2)
      .on<In<Deep, B, DataParallel<Sync, Zero<1>>, ModelParallel<SplitCols>>>(3)
      .on<In<Deep, B, DataParallel<Sync, Zero<2>>, ModelParallel<SplitColsRows>>>(4)
      .on<In<Deep, B, DataParallel<Sync, Zero<3>>, ModelParallel<SplitRows, Ways<4>>>>(2)
      .on<In<Deep, B, DataParallel<Sync>, Accumulate<2>, ModelParallel<SplitColsRows>>>(2);
}
TEST_CASE("more blocks than ways, and three ways of six blocks") {
  using Eight = Blocks<8>;
  Same<In<triples::Net, Eight>>{}
      .on<In<triples::Net, Eight, ModelParallel<SplitRows>>>(1)
      .on<In<triples::Net, Eight, ModelParallel<SplitColsRows, Ways<4>>>>(1);
  struct Eighths : Sequential<Vector<16>, Linear<24>, Relu, Linear<8>, CrossEntropy> {};
  Same<In<Eighths, Eight>>{}
      .on<In<Eighths, Eight, ModelParallel<SplitColsRows, Ways<8>>>>(1)
      .on<In<Eighths, Eight, ModelParallel<SplitCols, Ways<8>>>>(1);
  struct Thirds : Sequential<Vector<24>, Linear<12>, Relu, Linear<18>, Tanh, Linear<6>, CrossEntropy> {};
  Same<In<Thirds, Blocks<6>>>{}
      .on<In<Thirds, Blocks<6>, ModelParallel<SplitColsRows, Ways<3>>>>(1)
      .on<In<Thirds, Blocks<6>, DataParallel<Sync>, ModelParallel<SplitRows, Ways<3>>>>(2)
      .on<In<Thirds, Blocks<6>, ModelParallel<SplitCols, Ways<6>>>>(1);
}
TEST_CASE("one sample in a micro-batch, and f64") {
  Same<Alone<Deep, Blocks<4>>>{}
      .on<Alone<Deep, Blocks<4>, ModelParallel<SplitColsRows>>>(1)
      .on<Alone<Deep, Blocks<4>, ModelParallel<SplitCols, Ways<4>>>>(1)
      .on<Alone<Deep, Blocks<4>, ModelParallel<SplitRows, Ways<4>>>>(1);
  Same<Alone<Sliver, Blocks<2>>>{}.on<Alone<Sliver, Blocks<2>, ModelParallel<SplitCols>>>(1);
  using Long = Alone<Sliver, Blocks<4>, Precision<f64>>;
  Same<Long>{}
      .on<Alone<Sliver, Blocks<4>, Precision<f64>, ModelParallel<SplitColsRows, Ways<4>>>>(1)
      .on<Alone<Sliver, Blocks<4>, Precision<f64>, DataParallel<Sync, Zero<2>>, ModelParallel<SplitColsRows>>>(2);
}
TEST_CASE("several products that read one value") {
  using B = Blocks<4>;
  Same<In<Readers, B>>{}
      .on<In<Readers, B, ModelParallel<SplitCols>>>(1)
      .on<In<Readers, B, ModelParallel<SplitColsRows, Ways<4>>>>(1)
      .on<In<Readers, B, DataParallel<Sync>, ModelParallel<SplitRows>>>(2);
}
TEST_CASE("readers of a value in parts, and of all of it") {
  using B = Blocks<4>;
  Same<In<Many, B>>{}
      .on<In<Many, B, ModelParallel<SplitCols>>>(1)
      .on<In<Many, B, ModelParallel<SplitRows, Ways<4>>>>(1)
      .on<In<Many, B, DataParallel<Sync>, ModelParallel<SplitColsRows>>>(2);
}
TEST_CASE("images before products") {
  struct OnWays
      : Sequential<Image<2, 6, 6>, Conv<4, 3>, Relu, MaxPool<2>, Linear<12, NoBias, ModelParallel<SplitRows>>, Sigmoid,
                   Linear<8, ModelParallel<SplitCols>>, GeluTanh, Linear<4, ModelParallel<SplitRows>>, CrossEntropy> {};
  Same<In<Pictures, Blocks<4>>>{}.on<In<OnWays, Blocks<4>, ModelParallel<Whole, Ways<2>>>>(1);
}
TEST_CASE("convolutions by filters and channels") {
  using B = Blocks<4>;
  Same<In<Pictures, B>>{}
      .on<In<Pictures, B, ModelParallel<SplitCols>>>(1)
      .on<In<Pictures, B, DataParallel<Sync, Zero<2>>, ModelParallel<SplitColsRows>>>(2)
      .on<In<Pictures, B, ModelParallel<SplitRows, Ways<2>>>>(1);
  Same<In<Deeper, B>>{}
      .on<In<Deeper, B, ModelParallel<SplitColsRows, Ways<4>>>>(1)
      .on<In<Deeper, B, ModelParallel<SplitRows, Ways<4>>>>(1)
      .on<In<Deeper, B, DataParallel<Sync>, ModelParallel<SplitCols>>>(3);
  struct OnTwo
      : Sequential<Image<4, 7, 7>, Conv<8, 3, Groups<2>, ModelParallel<SplitGroups>>, Relu,
                   Conv<8, 3, ModelParallel<SplitCols>>, Relu, Linear<4, ModelParallel<SplitRows>>, CrossEntropy> {};
  Same<In<Towers, B>>{}.on<In<OnTwo, B, DataParallel<Sync>, ModelParallel<Whole, Ways<2>>>>(2);
  auto const near = []<class N>(meta::type<N>) {
    auto const plain = after<In<N>>(1), blocks = after<In<N, B>>(1);
    CHECK(triples::difference(blocks, plain) <= 1e-6);
    CHECK(triples::difference(blocks, plain) > 0);
  };
  near(meta::type<Pictures>{});
  near(meta::type<Deeper>{});
  near(meta::type<Deep>{});
}
TEST_CASE("attention by heads, gated layers, tables of tokens") {
  using namespace sequences;
  auto const same = []<class N>(meta::type<N>) {
    using One = Train<N, Blocks<4>>;
    std::vector<double> const wanted = sequences::trained<One>(Trainer<One>(1, 7));
    auto const on = [&]<class P>(meta::type<P>, int replicas) {
      INFO(schedule::listing<P>(P::ranks_of(replicas)));
      static_assert(same_bits<One, P>);
      CHECK(sequences::trained<P>(Trainer<P>(replicas, 7)) == wanted);
    };
    on(meta::type<Train<N, Blocks<4>, ModelParallel<SplitColsRows>>>{}, 1);
    on(meta::type<Train<N, Blocks<4>, DataParallel<Sync, Zero<2>>, ModelParallel<SplitColsRows>>>{}, 3);
  };
  same(meta::type<Gpt>{});
  same(meta::type<Grouped>{});
}
TEST_CASE("a table of tokens by rows, which the last layer reads by columns") {
  using namespace sequences;
  struct Parts
      : Sequential<Vector<positions>, Embedding<letters, 8, Tied, ModelParallel<SplitRows>>, PositionEmbedding, Block,
                   PerPosition<LayerNorm, Linear<letters, Tied, ModelParallel<SplitCols>>, CrossEntropy>> {};
  using Whole = Train<Tables, Blocks<4>>;
  using OnTwo = Train<Parts, Blocks<4>, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<2>>>;
  auto const wanted = sequences::trained<Whole>(Trainer<Whole>(1, 7));
  CHECK(sequences::trained<OnTwo>(Trainer<OnTwo>(2, 7)) == wanted);
  CHECK(sequences::trained<OnTwo>(Trainer<OnTwo>(1, 7)) == wanted);
}
TEST_CASE("columns over one axis and rows over another") {
  using One = In<triples::Net, Blocks<4>, DataParallel<Sync>>;
  auto const wanted = after<One>(1);
  auto const on = [&]<class Cuts>(meta::type<Cuts>) {
    struct P : CutPlan<In<triples::Net, Blocks<4>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<4>>>, Cuts> {};
    static_assert(P::is_placed);
    INFO(schedule::listing<P>(P::ranks_of(2)));
    CHECK(after<P>(1) == wanted);
    CHECK(after<P>(2) == wanted);
  };
  on(meta::type<Columns>{});
  on(meta::type<Crossed>{});
}
TEST_CASE("what is not a whole branch of the tree is told apart") {
  constexpr auto by = []<class N, class... Ps>(meta::type<N>, meta::list<Ps...>) {
    return plan::bits_differ_by<In<N, Blocks<4>>, In<N, Blocks<4>, Ps...>>();
  };
  CHECK(by(meta::type<Deep>{}, meta::list<ModelParallel<SplitCols, Ways<3>>>{}) == BitsDifference::Split);
  CHECK(by(meta::type<Deep>{}, meta::list<ModelParallel<SplitRows, Ways<5>>>{}) == BitsDifference::Split);
  CHECK(by(meta::type<Own>{}, meta::list<ModelParallel<SplitCols>>{}) == BitsDifference::Split);
  struct One : Plan<Deep, Batch<24>, Clipped, Blocks<4>> {};
  struct Two : Plan<Deep, Batch<24>, Clipped, Blocks<4>, ModelParallel<SplitCols>> {};
  struct Other : Plan<Deep, Batch<24>, Clipped, Blocks<4>, ModelParallel<SplitRows>> {};
  CHECK(plan::bits_differ_by<One, Two>() == BitsDifference::Norm);
  CHECK(plan::bits_differ_by<Two, Other>() == BitsDifference::Norm);
  CHECK(plan::bits_differ_by<In<Deep>, In<Deep, Blocks<4>>>() == BitsDifference::Blocks);
  CHECK(plan::bits_differ_by<In<Deep, Blocks<2>>, In<Deep, Blocks<4>>>() == BitsDifference::Blocks);
  CHECK(after<In<Deep, Blocks<2>>>(1) != after<In<Deep, Blocks<4>>>(1));
  CHECK(after<In<Deep>>(1) != after<In<Deep, Blocks<4>>>(1));
  CHECK(after<In<Deep, ModelParallel<SplitRows>>>(1) != after<In<Deep>>(1));
}
