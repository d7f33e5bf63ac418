// plan/many_layers.cpp - a model of 300 layers is planned within the default limits of each compiler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <utility>

using namespace cleave;

namespace {

template <int> using Layer = Linear<4, NoBias>;
template <class> struct NetOf;
template <int... I>
struct NetOf<std::integer_sequence<int, I...>> : Sequential<Vector<4>, Layer<I>..., CrossEntropy> {};
struct Net : NetOf<std::make_integer_sequence<int, 300>> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>> {};

static_assert(Train::schedule.weights == 300 && Train::schedule.weight_elements == 300 * 16);
static_assert(memory<Train, 2>.total > 0);

}  // namespace

TEST_CASE("every layer's gradients are a message") { CHECK(Train::schedule.buckets == 300); }
