// schedule/norm.cpp - every weight is in one sum of squares, in the same ones for any plan; the step, and what it sends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
struct Net : Sequential<Image<2, 4, 4>, Conv<2, 3, Pad<1>, NoBias>, BatchNorm, Relu, Linear<8>, Relu, Linear<4>, Relu,
                        Linear<2, NoBias>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip_norm = 1;
};
template <class... Ps> struct Of : Plan<Net, Batch<8>, Ps...> {};

template <class P> std::vector<schedule::OfNorm> sums() {
  std::vector<schedule::OfNorm> all;
  schedule::each_of_norm<P>([&](schedule::OfNorm const& n) { all.push_back(n); });
  long next = 0, pieces = 0;
  for (auto const& n : all) {
    schedule::Bucket const& b = P::schedule.bucket[n.bucket];
    CHECK(n.offset == next);
    CHECK(n.offset >= b.offset);
    CHECK(n.offset + n.count <= b.offset + b.count);
    next += n.count;
    pieces += (n.count + schedule::norm_piece - 1) / schedule::norm_piece;
  }
  CHECK(next == P::schedule.weight_elements);
  CHECK((schedule::norm_digits + pieces * schedule::squares_words(P::format.sum)) * schedule::norm_word <=
        schedule::norm_bytes(P::schedule, P::format, P::ranks_of(1)));
  return all;
}
}  // namespace

TEST_CASE("a sum for each layer, whoever shares a message; over ways one for what is cut, one for what is alike") {
  auto const plain = sums<Of<Clipped, DataParallel<Sync>>>(),
             joined = sums<Of<Clipped, DataParallel<Sync>, Buckets<1_MiB>>>();
  CHECK(Of<Clipped, DataParallel<Sync>, Buckets<1_MiB>>::schedule.buckets == 1);
  REQUIRE(plain.size() == 5);
  REQUIRE(joined.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(plain[i].offset == joined[i].offset);
    CHECK(plain[i].count == joined[i].count);
  }
  auto const rows = sums<Of<Clipped, ModelParallel<SplitRows>>>();
  long alike = 0, cut = 0;
  for (auto const& n : rows) (n.alike.any() ? alike : cut) += n.count;
  long whole = 0;
  for (auto const& n : plain) whole += n.count;
  CHECK(alike + 2 * cut == whole);
  for (auto const& n : sums<Of<Clipped, ModelParallel<SplitBatch>>>()) CHECK(n.alike == place::AxisSet{1});
}
TEST_CASE("the norm stands behind all sums and before all updates; without clip_norm there is none") {
  using P = Of<Clipped, ModelParallel<SplitCols, Ways<2>>>;
  using Free = Of<Adam, ModelParallel<SplitCols, Ways<2>>>;
  static_assert(Free::schedule.step_of(schedule::Do::Norm, -1) < 0);
  static_assert(P::schedule.steps == Free::schedule.steps + 1);
  int const at = P::schedule.step_of(schedule::Do::Norm, -1);
  for (int s = 0; s < P::schedule.steps; ++s) {
    CHECK((P::schedule.step[s].what == schedule::Do::Update) == (s > at));
    if (s < at) CHECK(P::schedule.step[s] == Free::schedule.step[s]);
  }
  CHECK(memory<P>.total ==
        memory<Free>.total + schedule::aligned(schedule::norm_bytes(P::schedule, P::format, {1, 2})));
  CHECK(schedule::layout(Free::schedule, Free::lives, Free::request, Free::format, {1, 2}).norm == 0);
}
TEST_CASE("each way sends its sum to the others, replicas nothing") {
  using P = Of<Clipped, DataParallel<Sync>, ModelParallel<SplitCols, Ways<2>>>;
  using Free = Of<Adam, DataParallel<Sync>, ModelParallel<SplitCols, Ways<2>>>;
  static_assert(traffic<P, 3>.elements_per_step == traffic<Free, 3>.elements_per_step + 1);
  static_assert(traffic<P, 3>.bytes_per_step == traffic<Free, 3>.bytes_per_step + 8);
  static_assert(traffic<Of<Clipped, DataParallel<Sync>>, 3>.bytes_per_step ==
                traffic<Of<Adam, DataParallel<Sync>>, 3>.bytes_per_step);
  std::string const norm = "  norm            gradients                         ",
                    weights = std::to_string(P::schedule.weight_elements) + " weights         ";
  std::string const text = schedule::listing<P>({3, 2});
  CHECK(text.find(norm + weights + "all_gather     over 2 ways, sends 1 elements\n") != std::string::npos);
  CHECK(schedule::listing<Of<Clipped>>({1, 1}).find(norm) != std::string::npos);
}
