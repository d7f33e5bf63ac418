// backend/host/gradients/routed.cpp - all-reduces by each route against an oracle that adds as the route is told to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cmath>

#include "cleave/parameter_server/replica.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<40>, Linear<24>, Tanh, Linear<6>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<24>, MicroBatches<24>, Sgd, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
template <class Route, class... Ps> using By = Of<DataParallel<Sync>, Fastest, ReduceBy<Route>, Ps...>;

using Parts = std::vector<float> const&;  // element i of each rank's bucket of n
/// Where i lies of n elements in `parts`.
int part_of(long i, long n, int parts) {
  int p = 0;
  while (op::part_begin(n, p + 1, parts) <= i) ++p;
  return p;
}
/// g[from] + g[from + 1] + ..., the newest first.
float round_the_ring(Parts g, int from) {
  int const n = static_cast<int>(g.size());
  float sum = g[static_cast<std::size_t>(from)];
  for (int k = 1; k < n; ++k) sum = g[static_cast<std::size_t>((from + k) % n)] + sum;
  return sum;
}
float in_the_tree(Parts g, std::size_t begin, std::size_t size) {  // size: a power of two, or more than there are
  if (size == 1) return g[begin];
  float const left = in_the_tree(g, begin, size / 2);
  return begin + size / 2 < g.size() ? left + in_the_tree(g, begin + size / 2, size / 2) : left;
}
struct ByRing {
  using route = Ring;
  static float sum(Parts g, long i, long n) { return round_the_ring(g, part_of(i, n, static_cast<int>(g.size()))); }
};
struct ByTree {
  using route = Tree;
  static float sum(Parts g, long, long) { return in_the_tree(g, 0, 64); }
};
struct ByHalves {
  using route = HalvingDoubling;
  static float sum(Parts g, long, long) {
    std::size_t core = 1;
    while (2 * core <= g.size()) core *= 2;
    std::vector<float> folded;
    for (std::size_t r = 0; r < g.size(); ++r) {
      bool const pair = r < 2 * (g.size() - core);
      folded.push_back(pair ? g[r] + g[r + 1] : g[r]);
      r += pair;
    }
    return in_the_tree(folded, 0, core);
  }
};
template <int Each> struct ByNodes {
  using route = Hierarchical<Each>;
  static float sum(Parts g, long i, long n) {
    int const part = part_of(i, n, Each);
    std::vector<float> node;
    for (std::size_t first = 0; first < g.size(); first += Each) {
      node.push_back(
          round_the_ring({g.begin() + static_cast<long>(first), g.begin() + static_cast<long>(first) + Each}, part));
    }
    long const begin = op::part_begin(n, part, Each);
    return round_the_ring(node, part_of(i - begin, op::part_size(n, part, Each), static_cast<int>(node.size())));
  }
};

template <class Add> std::vector<float> oracle(int replicas, int steps) {
  using Alone = Of<DataParallel<Sync>, Shards<1>, Fastest>;
  session::Probing<Alone> probe;
  std::vector<std::unique_ptr<session::Replica<session::formats_of<Alone>>>> replica;
  constexpr long all = Alone::schedule.weight_elements;
  for (int r = 0; r < replicas; ++r) {
    auto const own = schedule::slices(Alone::micro_batches, r, replicas);
    replica.push_back(std::make_unique<session::Replica<session::formats_of<Alone>>>(session::service<Alone>, own, 11));
  }
  std::vector<float> weights(replica[0]->at(0).weights(), replica[0]->at(0).weights() + all), sum(all);
  std::vector<float> parts(static_cast<std::size_t>(replicas));
  auto const now = optim::now<Sgd, float>(static_cast<double>(Alone::rate.at(0)), 0);
  for (int step = 0; step < steps; ++step) {
    for (auto& r : replica) {
      r->forget_pushed();
      r->take(0, 0, weights.data(), all);
      r->step(step, probe.feed(), 0.1, step);
    }
    for (int b = 0; b < Alone::schedule.buckets; ++b) {
      schedule::Bucket const& bucket = Alone::schedule.bucket[b];
      for (long i = 0; i < bucket.count; ++i) {
        for (int r = 0; r < replicas; ++r) {
          parts[static_cast<std::size_t>(r)] = replica[static_cast<std::size_t>(r)]->at(0).outbox()[bucket.offset + i];
        }
        sum[static_cast<std::size_t>(bucket.offset + i)] = Add::sum(parts, i, bucket.count);
      }
    }
    backend::host::update<Sgd, float>(weights.data(), nullptr, sum.data(), weights.data(), 0, all, now);
  }
  return weights;
}
/// All weights, whole, however they are split.
template <class P> std::vector<double> whole(Trainer<P>& t) {
  std::vector<double> all;
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(t, k)) all.push_back(static_cast<double>(v));
  }
  return all;
}
template <class P> std::vector<float> trained(int replicas, int steps, std::vector<double>* all = nullptr) {
  Trainer<P> t(replicas, 11);
  session::Probing<P> probe;
  t.train(0, steps, probe.feed());
  CHECK(session::miscounted(t, steps) == "");
  auto const of = [&](int r) {
    return std::vector<float>(t.at(r).weights(), t.at(r).weights() + P::schedule.weight_elements);
  };
  for (int r = P::ways; r < t.ranks().world(); ++r) CHECK(of(r) == of(r % P::ways));
  if (all) *all = whole(t);
  return of(0);
}
template <class Add> void equals_the_oracle(std::initializer_list<int> replicas) {
  for (int n : replicas) {
    CAPTURE(n);
    CHECK(trained<By<typename Add::route>>(n, 10) == oracle<Add>(n, 10));
  }
}
/// The weights are those of one rank in f32, up to a share of the way that these have gone.
template <class P> void goes_with_one_rank(int replicas, double share) {
  using One = Of<DataParallel<Sync>, Fastest>;
  Trainer<One> alone(1, 11);
  auto const start = whole(alone);
  std::vector<double> wanted, got;
  trained<One>(1, 10, &wanted);
  trained<P>(replicas, 10, &got);
  REQUIRE(got.size() == wanted.size());
  double far = 0, way = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    far = std::max(far, std::fabs(got[i] - wanted[i]));
    way = std::max(way, std::fabs(wanted[i] - start[i]));
  }
  CHECK(far < share * way);
}

// 2(n-1)/n of the elements; the tree, whole messages.
static_assert(traffic<By<Ring>, 6>.elements_per_step == 2 * 5 * (984 + 150) / 6);
static_assert(traffic<By<HalvingDoubling>, 2>.elements_per_step == 984 + 150);
static_assert(traffic<By<Tree>, 8>.elements_per_step == 3 * (984 + 150));
static_assert(traffic<By<Ring>, 6>.elements_per_step == traffic<Of<DataParallel<Sync>, Fastest>, 6>.elements_per_step);

}  // namespace

TEST_CASE("by every route the sums are the oracle's, bit for bit, also where the ranks divide nothing") {
  equals_the_oracle<ByRing>({1, 2, 3, 4, 5, 6, 7, 8, 11});
  equals_the_oracle<ByTree>({2, 3, 4, 5, 6, 7, 8, 11, 12});
  equals_the_oracle<ByHalves>({2, 3, 4, 5, 6, 7, 8, 11, 12});
  equals_the_oracle<ByNodes<3>>({3, 6, 12});
}
TEST_CASE("Auto, bf16, f64, rounds and meshes train to the weights of one rank, to their rounding") {
  for (int n : {5, 7, 11}) goes_with_one_rank<By<Auto>>(n, 1e-4);
  goes_with_one_rank<By<Ring, Precision<bf16>>>(5, 3e-2);
  goes_with_one_rank<By<HalvingDoubling, Precision<f64>, Accumulate<2>>>(3, 1e-4);
  goes_with_one_rank<By<Tree, ModelParallel<SplitCols>>>(3, 1e-4);
}
TEST_CASE("sums over all ranks of a mesh that cuts the batch are those of as many replicas, bit for bit") {
  CHECK(trained<By<HalvingDoubling, ModelParallel<SplitBatch>>>(3, 10) == oracle<ByHalves>(6, 10));
  CHECK(trained<By<Hierarchical<2>, ModelParallel<SplitBatch, Ways<3>>>>(4, 10) == oracle<ByNodes<6>>(12, 10));
}
TEST_CASE("between two nodes of three go the gradients once for each node, by counters that tell nodes apart") {
  using P = By<Hierarchical<3>>;
  session::Probing<P> probe;
  Trainer<P> t(6, 11);
  Trainer<Of<DataParallel<Sync>, Fastest>> direct(6, 11);
  t.train(0, 5, probe.feed());
  direct.train(0, 5, probe.feed());
  long across = 0, all = 0, by_direct = 0;
  for (int r = 0; r < 3; ++r) {
    long wanted = 0;
    for (int b = 0; b < P::schedule.buckets; ++b) {
      wanted += send::sent_across<Hierarchical<3>>(P::schedule.bucket[b].count, r, {6, 1, 4}, 3);
    }
    CHECK(t.sent_across(r, 3) == 5 * wanted * 4);
    across += t.sent_across(r, 3);
    all += t.sent_bytes(r);
    by_direct += direct.sent_across(r, 3);
  }
  CHECK(across == 5 * (984 + 150) * 4);  // M, not a multiple of it
  CHECK(all == across + 3 * 5 * (2 * 2 * (984 + 150) / 3) * 4);
  CHECK(by_direct == 3 * across);
  CHECK_THROWS_WITH_AS(Trainer<P>(4), doctest::Contains("4 replicas do not fill the nodes"), Error);
}
TEST_CASE("where a route adds up in the tree, Ordered keeps its promise: the bits of one replica") {
  auto const whole = trained<Of<DataParallel<Sync>>>(1, 10);
  CHECK(trained<Of<Mesh<Data<3>>, ReduceBy<Tree>>>(3, 10) == whole);
  CHECK(trained<Of<Mesh<Data<6>>, ReduceBy<Tree>>>(6, 10) == whole);
  struct Eight : Plan<Net, Batch<24>, MicroBatches<8>, Sgd, DataParallel<Sync>> {};
  auto const halves = trained<Eight>(1, 10);
  struct Halves : Plan<Net, Batch<24>, MicroBatches<8>, Sgd, Mesh<Data<4>>, ReduceBy<HalvingDoubling>> {};
  CHECK(trained<Halves>(4, 10) == halves);
  struct Nodes : Plan<Net, Batch<24>, MicroBatches<8>, Sgd, Mesh<Data<8>>, ReduceBy<Hierarchical<2>>> {};
  CHECK(trained<Nodes>(8, 10) == halves);
  struct Narrow : Plan<Net, Batch<24>, MicroBatches<8>, Sgd, DataParallel<Sync>, Precision<bf16>> {};
  struct NarrowTree : Plan<Net, Batch<24>, MicroBatches<8>, Sgd, Mesh<Data<4>>, ReduceBy<Tree>, Precision<bf16>> {};
  CHECK(trained<NarrowTree>(4, 10) == trained<Narrow>(1, 10));
}
