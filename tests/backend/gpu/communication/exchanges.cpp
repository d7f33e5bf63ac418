// backend/gpu/communication/exchanges.cpp - lists run on a device: values between ways, and statistics of all branches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;

namespace {

template <class N, class... Ps> struct Of : Plan<N, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Ps...> {};
struct Mlp : Sequential<Vector<6>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Normed : Sequential<Image<1, 4, 4>, Conv<2, 3>, BatchNorm, Linear<4>, CrossEntropy> {};

template <class P>
using ExchangesOf = gpu::Exchanges<typename P::number, typename RanksOf<P>::Machine, typename RanksOf<P>::Link>;

/// The first such conversion of the plan, when way w holds 100 w + i at element i.
template <class P> struct Converted : RanksOf<P> {
  static constexpr schedule::Program const& program = schedule::program<P>;
  static int find(op::Verb verb) {
    for (int s = 0; s < program.steps; ++s) {
      schedule::Do const what = program.step[s].what;
      bool const converts = what == schedule::Do::Convert || what == schedule::Do::ConvertBack;
      if (converts && schedule::verb_of(program, program.step[s]) == verb) return s;
    }
    throw Error("the plan has no such conversion");
  }
  int step;
  schedule::ProgramNode const& node = program.node[program.step[step].node];
  long rows = P::share(this->ranks).own(0, 0).size() * long{P::request.rows};
  explicit Converted(op::Verb verb) : RanksOf<P>(1), step(find(verb)) {
    int const in = schedule::converted(program, program.step[step]).index;
    long const held = rows * node.features / (verb == op::Verb::AllGather ? P::ways : 1);
    for (int w = 0; w < P::ways; ++w) {
      float* const x = this->template tensor<float>(w, this->layout.buffer[in]);
      for (long i = 0; i < held; ++i) x[i] = static_cast<float>(100 * w + i);
    }
    ExchangesOf<P> exchanges(this->all);
    exchanges.convert(step, 0);
    this->machine.finish();
  }
  float const* result(int way) {
    return this->template tensor<float>(way, this->layout.buffer[P::schedule.step[step].dx]);
  }
};

}  // namespace

TEST_CASE("features of the ways become whole samples on each") {
  Converted<Of<Mlp, ModelParallel<SplitCols>>> c(op::Verb::AllGather);
  long const part = c.node.features / 2;
  bool same = true;
  for (int way = 0; way < 2; ++way) {
    for (long i = 0; i < c.rows * c.node.features; ++i) {
      long const row = i / c.node.features, from = i % c.node.features / part, at = row * part + i % part;
      same = same && c.result(way)[i] == static_cast<float>(100 * from + at);
    }
  }
  CHECK(same);
  CHECK(c.all.at(0).m.received[1] == c.rows * part);
  CHECK(c.all.at(1).m.received_bytes[0] == c.rows * part * 4);
}
TEST_CASE("summands of the ways become their sum: on each, or the part that it needs") {
  Converted<Of<Mlp, ModelParallel<SplitColsRows>>> all(op::Verb::AllReduce);
  Converted<Of<Mlp, ModelParallel<SplitCols>>> parts(op::Verb::ReduceScatter);
  bool same = true;
  for (int way = 0; way < 2; ++way) {
    for (long i = 0; i < all.rows * all.node.features; ++i)
      same = same && all.result(way)[i] == static_cast<float>(2 * i + 100);
    long const part = parts.node.features / 2;
    for (long i = 0; i < parts.rows * part; ++i)
      same = same && parts.result(way)[i] ==
                         static_cast<float>(2 * (i / part * parts.node.features + way * part + i % part) + 100);
  }
  CHECK(same);
}
TEST_CASE("statistics of all branches, on every rank") {
  using P = Of<Normed>;
  RanksOf<P> of(4);  // with one, two, one and two micro-batches: those of rank 1 are no siblings
  ExchangesOf<P> exchanges(of.all);
  using S = tensor::batch_sum_t<float>;
  int const step = of.step(schedule::Do::Sum);
  long const n = schedule::program<P>.node[P::schedule.step[step].node].local.y.size();
  for (int r = 0; r < 4; ++r) {
    for (int branch = 0; branch < 2; ++branch) {
      S* const to = of.tensor<S>(r, of.layout.batch_sums) + branch * P::schedule.most_sum_leaf;
      for (long i = 0; i < n; ++i) to[i] = S(static_cast<double>(2 * r + branch + 1));
    }
  }
  exchanges.convert(step, 0);
  of.machine.finish();
  int branches = 0, wanted = 0;
  schedule::each_branch(P::share(of.ranks), schedule::over_data, true, [&](int r, int branch, int) {
    ++branches;
    wanted += 2 * r + branch + 1;
  });
  CHECK(branches > 4);
  for (int r = 0; r < 4; ++r) {
    S const* const sum = of.tensor<S>(r, of.layout.buffer[P::schedule.step[step].dx]);
    for (long i = 0; i < n; ++i) CHECK(static_cast<double>(sum[i]) == wanted);
  }
}
TEST_CASE("one rank sums its own branches, and waits for nobody") {
  using P = Of<Normed>;
  RanksOf<P> of(1);
  ExchangesOf<P> exchanges(of.all);
  CHECK(!exchanges.of(of.step(schedule::Do::Sum)).meets);
  CHECK(exchanges.of(of.step(schedule::Do::Start)).rounds == 0);
}
