// backend/host/communication/transfers.cpp - every conversion between placements, against the whole value; what is read is what is counted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/communication/transfers.hpp>
#include <cleave/backend/host/team.hpp>
#include <cleave/schedule/exchange.hpp>
#include <cmath>

using namespace cleave;
using namespace cleave::backend::host;
using op::Verb;

namespace {

constexpr int features = 6;
enum class Is : unsigned char { Whole, Part, Rows, Summand };

place::Placement placement(Is is) {
  return is == Is::Rows      ? place::shard(place::batch)
         : is == Is::Part    ? place::shard(1)
         : is == Is::Summand ? place::partial
                             : place::invariant;
}

/// 7 rows of 6 features on `ways` ranks; rows are cut unevenly.
struct Run {
  int ways;
  long first_row(int w) const { return 7 * w / ways; }
  static float whole(long r, long f) { return static_cast<float>(100 * r + f); }
  /// What way w holds of it: (rows, width) and the element at (r, c) there.
  long rows(Is is, int w) const { return is == Is::Rows ? first_row(w + 1) - first_row(w) : 7; }
  long width(Is is) const { return is == Is::Part ? features / ways : features; }
  float element(Is is, int w, long r, long c) const {
    if (is == Is::Rows) return whole(first_row(w) + r, c);
    if (is == Is::Part) return whole(r, w * width(is) + c);
    if (is == Is::Summand) return whole(r, c) / static_cast<float>(ways * (ways + 1) / 2) * static_cast<float>(w + 1);
    return whole(r, c);
  }

  void operator()(Verb verb, Is from, Is to) const {
    CAPTURE(ways);
    CAPTURE(op::name(verb));
    World world({1, ways}, 1);
    Team team(world);
    constexpr long half = 64;
    std::vector<std::vector<float>> arena(static_cast<std::size_t>(ways), std::vector<float>(2 * half, -1));
    std::vector<Member> members(static_cast<std::size_t>(ways));
    for (int w = 0; w < ways; ++w) {
      auto const i = static_cast<std::size_t>(w);
      world.arena(w) = reinterpret_cast<std::byte*>(arena[i].data());
      members[i].world = &world;
      members[i].rank = w;
      members[i].round = 1;
      members[i].received.assign(static_cast<std::size_t>(ways), 0);
      members[i].received_bytes = members[i].received;
      for (long r = 0; r < rows(from, w); ++r) {
        for (long c = 0; c < width(from); ++c)
          arena[i][static_cast<std::size_t>(r * width(from) + c)] = element(from, w, r, c);
      }
    }
    schedule::Share const share{7, {1, ways}};
    schedule::ProgramNode node;
    node.features = features;
    node.x.on[1] = placement(from);
    node.y.on[1] = placement(to);
    node.forward = verb;
    schedule::Step const step{schedule::Do::Convert, 0, 1};
    int const value = 0;  // the buffer of the input, which is node 0's
    node.in0 = 0;
    schedule::Buffer const buffers[2]{};
    schedule::Program program;
    program.buffer = buffers;
    program.step = &step;
    program.node = &node;
    program.value = program.again = &value;
    schedule::RuntimeLayout places;
    places.buffer.resize(2);
    places.slots_apart.resize(2);
    places.buffer[1] = half * 4;
    schedule::LayoutView const layout(places);
    team.run([&](int w) {
      schedule::TransferList list;
      schedule::exchange(program, 0, share, w, 0, list);
      Transfers<float> const transfers(members[static_cast<std::size_t>(w)], {&program, &layout});
      verb == Verb::Slice ? transfers.run_round(list)
                          : transfers.run(list, members[static_cast<std::size_t>(w)].group({1}), 0);
    });
    for (int w = 0; w < ways; ++w) {
      auto const i = static_cast<std::size_t>(w);
      int wrong = 0;
      for (long r = 0; r < rows(to, w); ++r) {
        for (long c = 0; c < width(to); ++c) {
          float const got = arena[i][static_cast<std::size_t>(half + r * width(to) + c)];
          wrong += !(std::abs(got - element(to, w, r, c)) <= 1e-3f);
        }
      }
      CHECK(wrong == 0);
      CHECK(arena[i][static_cast<std::size_t>(half + rows(to, w) * width(to))] == -1);  // and not one more
      CHECK((verb == Verb::Slice) == (members[i].received[(i + 1) % static_cast<std::size_t>(ways)] == 0));
    }
  }
};

}  // namespace

TEST_CASE("to parts and back, of features and of uneven rows") {
  for (int ways : {2, 3}) {
    Run const run{ways};
    run(Verb::Slice, Is::Whole, Is::Part);
    run(Verb::Slice, Is::Whole, Is::Rows);
    run(Verb::AllGather, Is::Part, Is::Whole);
    run(Verb::AllGather, Is::Rows, Is::Whole);
    run(Verb::AllToAll, Is::Rows, Is::Part);
    run(Verb::AllToAll, Is::Part, Is::Rows);
  }
}
TEST_CASE("sums: to everyone, to features, to rows") {
  for (int ways : {2, 3}) {
    Run const run{ways};
    run(Verb::AllReduce, Is::Summand, Is::Whole);
    run(Verb::ReduceScatter, Is::Summand, Is::Part);
    run(Verb::ReduceScatter, Is::Summand, Is::Rows);
  }
}
