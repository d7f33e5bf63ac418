// backend/gpu/communication/gradients.cpp - sums of gradients on a device, and the weights that they update.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/communication/gradients.hpp>
#include <cleave/schedule/exchange_traffic.hpp>

#include "ranks.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;

namespace {

struct Mlp : Sequential<Vector<6>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Mlp, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Ps...> {};

template <class P> struct GradientsOf : RanksOf<P> {
  using T = typename RanksOf<P>::T;
  using A = typename RanksOf<P>::A;
  using Machine = typename RanksOf<P>::Machine;
  using Link = typename RanksOf<P>::Link;
  gpu::Control<A> control{};
  gpu::Exchanges<T, Machine, Link> exchanges{this->all};
  gpu::DeviceGradients<T, Machine, Link> gradients{exchanges, &control};

  explicit GradientsOf(int replicas) : RanksOf<P>(replicas) {
    this->fill_gradients();
    control.now = optim::now<typename P::optimizer, A>(0.5, 0);
    for (int r = 0; r < this->ranks.world(); ++r) {
      A* const w = weights(r);
      for (long i = 0; i < P::schedule.weight_elements; ++i) w[i] = 1;
      A* const m = this->template tensor<A>(r, this->layout.moments);
      for (long i = 0; i < P::schedule.weight_elements * P::optimizer::moments; ++i) m[i] = 0;
      auto* const left = this->template tensor<std::byte>(r, 0);
      for (int b = 0; P::format.encoding && b < P::schedule.buckets; ++b) {
        std::memset(left + this->layout.left[b], 0, static_cast<std::size_t>(P::schedule.bucket[b].count) * sizeof(A));
        if (P::format.encoding.resums)
          std::memset(left + this->layout.left_of_sum[b], 0,
                      static_cast<std::size_t>((P::schedule.bucket[b].count + replicas - 1) / replicas) * sizeof(A));
      }
    }
  }
  A* weights(int rank) { return this->template tensor<A>(rank, this->layout.weights); }
  template <class Each> void each_bucket(schedule::Do what, Each each) {
    for (int s = 0; s < P::schedule.steps; ++s) {
      if (P::schedule.step[s].what == what) each(P::schedule.step[s].node, s);
    }
  }
  /// Weights of 1 become 1 - 0.5 times the sum over ranks of their number plus one.
  bool trains() {
    each_bucket(schedule::Do::Start, [&](int b, int s) { gradients.reduce(b, s, 0); });
    each_bucket(schedule::Do::Update, [&](int b, int s) { gradients.update(b, s, 0); });
    this->machine.finish();
    int const n = this->ranks.world();
    bool same = true;
    for (int r = 0; r < n; ++r) {
      for (long i = 0; i < P::schedule.weight_elements; ++i)
        same = same && weights(r)[i] == static_cast<A>(1 - 0.5 * n * (n + 1) / 2);
    }
    return same;
  }
};

}  // namespace

TEST_CASE("gradients are summed over the ranks, and update the weights of each") {
  CHECK(GradientsOf<Of<>>(1).trains());
  CHECK(GradientsOf<Of<>>(3).trains());
  CHECK(GradientsOf<Of<Precision<bf16>>>(3).trains());
  CHECK(GradientsOf<Of<Buckets<4096>>>(3).trains());
}
TEST_CASE("by a route, and encoded") {
  CHECK(GradientsOf<Of<Fastest, ReduceBy<Ring>>>(3).trains());
  CHECK(GradientsOf<Of<Fastest, ReduceBy<Ring>, Precision<bf16>>>(3).trains());
  CHECK(GradientsOf<Of<Fastest, ReduceBy<Tree>>>(4).trains());
  CHECK(GradientsOf<Of<Fastest, Compress<bf16>>>(2).trains());
  CHECK(GradientsOf<Of<Fastest, Compress<TopK<1000>>>>(3).trains());
}
TEST_CASE("what ranks read is counted once, and a sum lies with the ranks that have its parts") {
  using P = Of<>;
  GradientsOf<P> of(3);
  CHECK(of.trains());
  schedule::Program const& program = schedule::program<P>;
  for (int r = 0; r < 3; ++r) {
    long sent = 0, read = 0;
    for (int s = 0; s < program.steps; ++s) sent += schedule::sent(program, s, P::share(of.ranks), r).elements;
    for (int peer = 0; peer < 3; ++peer) read += of.all.at(peer).m.received[static_cast<std::size_t>(r)];
    CHECK(read == sent);
  }
  auto const& parts = of.gradients.found(of.all.at(1), 0);
  REQUIRE(parts.from.size() == 3);
  for (int p = 0; p < 3; ++p)
    CHECK(parts.from[static_cast<std::size_t>(p)] ==
          of.tensor<float>(p, of.layout.gradients) + P::schedule.bucket[0].offset);
  CHECK(!parts.in_data);
}
TEST_CASE("parts that lie in one tensor are one") {
  using P = Of<Fastest, Compress<bf16>>;
  GradientsOf<P> of(3);
  of.trains();
  auto const& parts = of.gradients.found(of.all.at(1), 0);
  REQUIRE(parts.from.size() == 1);
  CHECK(parts.from[0] == of.tensor<float>(1, of.layout.gradients) + P::schedule.bucket[0].offset);
}
