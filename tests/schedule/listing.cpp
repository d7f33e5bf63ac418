// schedule/listing.cpp - a plan as text is stable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2, NoBias>, CrossEntropy> {};
struct Halves : Plan<Net, Batch<8>, ModelParallel<SplitColsRows>> {};
}  // namespace

TEST_CASE("what is printed as sent is the most of any rank, and the sum of all, as their counters have it") {
  struct Wide : Sequential<Vector<9>, Linear<12>, Tanh, Linear<4>, CrossEntropy> {};
  struct Slices : Plan<Wide, Batch<8>, MicroBatches<8>, DataParallel<Sync>> {};
  struct Quick : Plan<Wide, Batch<8>, MicroBatches<8>, DataParallel<Sync>, Fastest> {};
  auto const holds = []<class P>(P*, int replicas, bool even) {
    Trainer<P> t(replicas);
    t.train(0, 3, session::Probing<P>().feed());
    long most = 0, sum = 0;
    for (int r = 0; r < replicas; ++r) {
      most = std::max(most, t.sent(r));
      sum += t.sent(r);
    }
    std::string const text = schedule::summary<P>({replicas, 1});
    CHECK(text.find((even ? "sent per step and rank: " : "sent per step by the rank that sends most: ") +
                    schedule::text::grouped(most / 3) + " elements, " + schedule::text::grouped(4 * most / 3) +
                    " bytes, 2 collectives; by all " + std::to_string(replicas) +
                    " ranks: " + schedule::text::grouped(sum / 3) + " elements\n") == 0);
    auto const v = schedule::volumes(schedule::program<P>, P::request, {replicas, 1});
    CHECK(v.most.elements_per_step == most / 3);
    CHECK(v.elements_of_all == sum / 3);
  };
  holds(static_cast<Slices*>(nullptr), 3, false);  // micro-batches 0 1, 2 3 4, 5 6 7: one branch, two and two
  holds(static_cast<Slices*>(nullptr), 2, true);
  holds(static_cast<Slices*>(nullptr), 4, true);
  holds(static_cast<Quick*>(nullptr), 4, true);
  // 120 and 52 weights: the first rank sends 2 * 2/3 of them, the others 3 * 2/3, but for what does not divide by 3.
  static_assert(traffic<Slices, 3>.elements_per_step < volumes<Slices, 3>.most.elements_per_step);
  CHECK(schedule::listing<Slices>({3, 1}).find("120 weights         all_reduce     over 3 replicas, sends up to 240 "
                                               "elements\n") != std::string::npos);
  CHECK(schedule::listing<Slices>({2, 1}).find("over 2 replicas, sends 120 elements\n") != std::string::npos);
}
TEST_CASE("the listing of columns then rows") {
  CHECK(schedule::listing<Halves>({1, 2}) ==
        "   0  forward         0.product+bias+relu               (b, 2)              shard<0>\n"
        "   1  forward         2.product                         (b, 2)              partial\n"
        "   2  convert         partial -> invariant                                  all_reduce     over 2 ways, sends "
        "16 elements\n"
        "   3  forward         3.cross_entropy\n"
        "   4  backward_input  3.cross_entropy\n"
        "   5  backward_input  2.product+relu\n"
        "   6  backward_weight 2.product\n"
        "   7  start           2.product                         4 weights           all_reduce     over 1 replicas, "
        "sends 0 elements\n"
        "   8  backward_weight 0.bias\n"
        "   9  backward_weight 0.product\n"
        "  10  start           0.product                         18 weights          all_reduce     over 1 replicas, "
        "sends 0 elements\n"
        "  11  update          2.product                         4 weights\n"
        "  12  update          0.product                         18 weights\n");
}
