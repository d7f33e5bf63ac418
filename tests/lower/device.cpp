// lower/device.cpp - a plan bound to a device: executors know its number format only, and it brings no function that it does not need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../train/on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {
struct Small : Sequential<Vector<6>, Linear<4>, CrossEntropy> {};
struct Words : Sequential<Vector<5>, Embedding<40, 6>, Linear<4>, CrossEntropy> {};
struct Normed : Sequential<Image<1, 4, 4>, Conv<2, 3>, BatchNorm, Linear<4>, CrossEntropy> {};
struct Clipping : Momentum {
  static constexpr float clip_norm = 1;
};
template <class P, class Link = backend::gpu::AllHere>
inline constexpr auto const& functions = *lower::device_executable<session::sent_whole_t<P>, OnDevice, Link>.functions;
template <class P>
inline constexpr schedule::Path const& path = schedule::program<session::sent_whole_t<P>>.format.path;
template <class F> bool has(F function) { return function != nullptr; }
}  // namespace

TEST_CASE("plans of one number format have one executor") {
  using A = DeviceTrainer<Of<Small, DataParallel<Sync>>, OnDevice>;
  using B = DeviceTrainer<Of<Words, DataParallel<Sync>, Fastest, Compress<Int8>, Clipping>, OnDevice>;
  using C = DeviceTrainer<Of<Small, Precision<bf16>>, OnDevice>;
  CHECK(std::is_same_v<A::Fleet, B::Fleet>);
  CHECK(!std::is_same_v<A::Fleet, C::Fleet>);
}
TEST_CASE("a plan brings what it needs: a norm if it clips, a codec or a route, a sum for what is sent whole") {
  auto const& plain = functions<Of<Small, DataParallel<Sync>>>;
  CHECK(has(plain.update_sums));
  CHECK(!has(plain.update_data));
  CHECK(!has(plain.norm));
  CHECK(!has(plain.gradient_scale));
  CHECK(has(plain.gradients.sum));
  CHECK(!has(plain.take));
  CHECK(!has(plain.encode));
  CHECK(!has(path<Of<Small, DataParallel<Sync>>>.rounds));
  auto const& narrow = functions<Of<Small, DataParallel<Sync>, Precision<bf16>, Clipping>>;
  CHECK(has(narrow.update_data));
  CHECK(has(narrow.norm));
  CHECK(has(narrow.gradient_scale));
  auto const& coded = functions<Of<Words, DataParallel<Sync>, Fastest, Compress<Int8>>>;
  CHECK(has(coded.encode));
  CHECK(has(coded.decode));
  CHECK(has(coded.gradients.sum));  // the table's gradient
  auto const& all_coded = functions<Of<Small, DataParallel<Sync>, Fastest, Compress<Int8>>>;
  CHECK(!has(all_coded.gradients.sum));
  CHECK(!has(path<Of<Words, DataParallel<Sync>, Fastest, Compress<Int8>>>.rounds));
  using Routed = Of<Small, DataParallel<Sync>, Fastest, ReduceBy<Ring>>;
  CHECK(has(path<Routed>.rounds));
  CHECK(has(path<Routed>.move));
  auto const& routed = functions<Routed>;
  CHECK(has(routed.take));
  CHECK(has(routed.gradients.copy));
  CHECK(!has(routed.gradients.sum));
  CHECK(!has(routed.encode));
}
TEST_CASE("conversions between ways and sums over the batch are brought by plans that have such steps") {
  auto const& plain = functions<Of<Small, DataParallel<Sync>>>;
  auto const& split = functions<Of<Small, DataParallel<Sync>, ModelParallel<SplitCols>>>;
  auto const& normed = functions<Of<Normed, DataParallel<Sync>>>;
  bool const converts[] = {has(plain.values.copy), has(split.values.copy), has(normed.values.copy)};
  bool const sums[] = {has(plain.statistics.sum), has(split.statistics.sum), has(normed.statistics.sum)};
  CHECK(!converts[0]);
  CHECK(converts[1]);
  CHECK(!converts[2]);
  CHECK(!sums[0]);
  CHECK(!sums[1]);
  CHECK(sums[2]);
}
TEST_CASE(
    "equal optimizers and formats share the kernels of updates, whatever the plan; pushing replicas have others") {
  auto const& one = functions<Of<Small, DataParallel<Sync>, Adam>>;
  auto const& other = functions<Of<Words, DataParallel<Sync>, Adam>>;
  auto const& pushing = functions<Of<Small, DataParallel<Sync>, Shards<1>, Adam>>;
  bool const shared = one.update_sums == other.update_sums, apart = one.update_sums != pushing.update_sums;
  CHECK(shared);
  CHECK(apart);
}
