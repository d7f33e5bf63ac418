// schedule/bucket.cpp - weights lie without gaps, in buckets of what is summed over the same ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2>, CrossEntropy> {};
struct Each : Plan<Net, Batch<8>, DataParallel<Sync>> {};
static_assert(Each::bucket_table.weights == 4 && Each::bucket_table.buckets == 2);
static_assert(Each::bucket_table.bucket[0].count == 8 * 4 + 4 && Each::bucket_table.bucket[1].offset == 36);
static_assert(Each::bucket_table.weight_elements == 36 + 4 * 2 + 2 && Each::bucket_table.most_weight_leaf == 32);

// All in one message, which starts with the last gradient: the first layer's.
struct Joined : Plan<Net, Batch<8>, DataParallel<Sync>, Buckets<1'000>> {};
static_assert(Joined::bucket_table.buckets == 1 && Joined::bucket_table.bucket[0].count == 46);
static_assert(Joined::bucket_table.bucket[0].node == 0);

// Weights that all ways have are summed over all ranks, the others over the replicas.
struct Split : Sequential<Vector<8>, Linear<4, ModelParallel<SplitCols>>, Relu, Linear<2, ModelParallel<SplitBatch>>,
                          CrossEntropy> {};
struct SplitPlan : Plan<Split, Batch<8>, DataParallel<Sync>, Buckets<1'000>> {};
static_assert(SplitPlan::bucket_table.buckets == 2);
static_assert(SplitPlan::bucket_table.bucket[0].over == schedule::over_data &&
              SplitPlan::bucket_table.bucket[1].over == place::AxisSet{0, 1});

struct Words : Sequential<Vector<6>, Embedding<50, 8>, Linear<16>, Relu, Linear<4>, CrossEntropy> {};
struct WordsPlan : Plan<Words, Batch<8>, DataParallel<Sync>, Buckets<100'000>> {};
static_assert(WordsPlan::bucket_table.buckets == 2 && WordsPlan::bucket_table.bucket[0].row == 8);

}  // namespace

TEST_CASE("every weight is in exactly one bucket") {
  auto const& s = SplitPlan::bucket_table;
  for (int w = 0; w < s.weights; ++w) {
    int buckets = 0;
    for (int b = 0; b < s.buckets; ++b) {
      long const past = s.bucket[b].offset + s.bucket[b].count;
      buckets += s.bucket[b].offset <= s.weight[w].offset && s.weight[w].offset + s.weight[w].count <= past;
    }
    CHECK(buckets == 1);
  }
}
