// train/many_axes.cpp - data parallelism and two axes of model parallelism: 2 x 2 x 2 ranks compute what one does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "many_axes.hpp"

#include <doctest/doctest.h>

#include <cleave.hpp>
#include <cleave/schedule/exchange_goal.hpp>
#include <cleave/schedule/exchange_traffic.hpp>
#include <cleave/train/check_layer.hpp>

using namespace cleave;

namespace {

template <class Net, class... Policies>
struct Whole : Plan<Net, Batch<32>, MicroBatches<16>, Precision<f64>, InputGradient, Policies...> {
  static constexpr Rate rate = Rate::constant(1);
};
template <class Net, class Cuts, class... Policies>
struct OnCube : CutPlan<Whole<Net, DataParallel<Sync>, ModelParallel<SplitCols, Ways<4>>, Policies...>, Cuts> {};

#define CUTS(name, ...)                                     \
  struct name {                                             \
    static constexpr place::DeviceMesh mesh{0, 2, 2};       \
    static constexpr char const* letters[] = {__VA_ARGS__}; \
  }

struct Dense : Sequential<Vector<8>, Linear<16>, Relu, Linear<8, NoBias>, Tanh, Linear<4>, MeanSquaredError> {};

/// Exchanges that are not sound, or whose traffic is not what the closed forms say.
template <class P> std::string unsound(int replicas) {
  schedule::Program const& program = schedule::program<P>;
  schedule::Ranks const ranks = P::ranks_of(replicas);
  schedule::Share const share = P::share(ranks);
  std::string out;
  for (int s = 0; s < program.steps; ++s) {
    if (schedule::ExchangeFault const f = schedule::check_exchange(program, s, share))
      out += "step " + std::to_string(s) + ": rank " + std::to_string(f.rank) + " " + std::string(f.what) + "\n";
    for (int rank = 0; rank < ranks.world(); ++rank) {
      schedule::TrafficCount const count = schedule::sent(program, s, share, rank);
      schedule::Message const m = schedule::message(program.step[s], program, P::request, ranks, rank);
      if (count.elements != m.sent || count.sent_bytes != m.bytes)
        out += "step " + std::to_string(s) + ": rank " + std::to_string(rank) + " sends " +
               std::to_string(count.elements) + " elements in its exchange, not " + std::to_string(m.sent) + "\n";
    }
  }
  return out;
}

/// On 4 and on 8 ranks, one step against that of one rank.
template <class Net, class Cuts, class... Policies> void agrees() {
  using P = OnCube<Net, Cuts, Policies...>;
  static_assert(P::is_placed);
  for (int replicas : {1, 2}) {
    CAPTURE(schedule::listing<P>(P::ranks_of(replicas)));
    CHECK(unsound<P>(replicas) == "");
    LayerReport const r = session::same<Whole<Net, Policies...>, P>("cut", replicas, 1e-9);
    CHECK(r.text == "");
  }
}

CUTS(ColumnsAndRows, "oi", "io", "oi");
CUTS(EachOverAnother, "o.", ".o", "i.");
CUTS(RowsAfterColumns, "o.", "io", ".i");

}  // namespace

TEST_CASE("products cut by columns over one axis and by rows over another") {
  agrees<Dense, ColumnsAndRows>();
  agrees<Dense, RowsAfterColumns>();
}
TEST_CASE("layer after layer, each over another axis") { agrees<Dense, EachOverAnother>(); }
