// train/plan_page.cpp - the figures of a plan's page are those of its constants; the page is one file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/io/json.hpp>
#include <cleave/train/plan_page.hpp>

#include <algorithm>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

struct Lab : Machine<10'000, Link<5'000, 10'000>> {
  static constexpr double memory_bytes = 800;
  static constexpr long capacity = 1_GiB;
};
struct Small : Lab {
  static constexpr long capacity = 1'000;
};
struct Net : Sequential<Vector<64>, Linear<128>, Relu, Linear<128>, Relu, Linear<96>, Relu, Linear<10>, CrossEntropy> {
};
template <class... Ps> struct Of : Plan<Net, Batch<96>, MicroBatches<16>, Momentum, Ps...> {};
struct Sums : Of<DataParallel<Sync>> {};
struct Columns : Of<DataParallel<Sync>, ModelParallel<SplitCols, Ways<2>>> {};
struct Rounds : Of<DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<2>>, Accumulate<2>> {};
struct Turns : Of<DataParallel<Sync, Zero<3>>> {};
struct Staged : Of<DataParallel<Sync>, ModelParallel<SplitLayers<2>>, Accumulate<4>> {};
struct Chunks : Of<ModelParallel<SplitLayers<2, Interleaved<2>>>, Accumulate<4>> {};
struct Free : Of<DataParallel<Async>> {};

/// All figures that are exact, of a plan with this many replicas.
template <class P> void exact(int replicas) {
  auto const f = session::figures_of<P, Lab>({.replicas = replicas});
  place::Request const request = P::request_of(replicas);
  schedule::Ranks const ranks = P::ranks_of(replicas);
  schedule::Program const& p = schedule::program<P>;
  for (int s = 0; s < ranks.stages; ++s) {
    auto const& of = f.stages[static_cast<std::size_t>(s)];
    schedule::Memory const memory = schedule::runtime_layout(p, request, ranks, s).memory;
    CHECK(std::equal(memory.bytes, memory.bytes + schedule::categories, of.memory.bytes));
    CHECK(of.memory.total == memory.total);
    long most = 0;
    for (session::InUse const& u : of.in_use) most = std::max(most, u.bytes);
    CHECK(most <= memory.total);
    CHECK(most > memory.total - memory.total / 50);
    CHECK(std::ranges::is_sorted(of.in_use, {}, &session::InUse::from));
  }
  auto const links = session::bytes_of_links(p, request, ranks);
  for (int r = 0; r < ranks.world(); ++r) {
    long sent = 0;
    for (auto const& of_reader : links) sent += of_reader[static_cast<std::size_t>(r)];
    if (!P::served) CHECK(sent == schedule::traffic(p, request, ranks, r).bytes_per_step);
  }
  long groups = 0;
  for (auto const& g : session::bytes_of_groups(p, request, ranks)) groups += g.second;
  CHECK(groups == schedule::volumes(p, request, ranks).most.bytes_per_step);
  CHECK(f.total() == sim::step<Lab, P>(replicas).total);
  CHECK(f.busiest().step.compute == sim::step<Lab, P>(replicas).compute);
  CHECK(f.timelines.size() == static_cast<std::size_t>(ranks.world()));
}

std::string page_of(std::string const& path) {
  auto const bytes = io::read_file(path);
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("memory, traffic and time are the plan's constants") {
  for (int n : {1, 3, 4}) exact<Sums>(n);
  exact<Columns>(2);
  exact<Rounds>(2);
  exact<Turns>(4);
  for (int n : {1, 2}) exact<Staged>(n);
  exact<Chunks>(1);
  exact<Free>(3);
}
TEST_CASE("the memory in use in each line is that of memory_over_step, in each round") {
  auto const f = session::figures_of<Rounds, Lab>({.replicas = 2});
  auto const lines = session::memory_over_step(schedule::program<Rounds>, Rounds::request_of(2), Rounds::ranks_of(2));
  std::vector<long> in_use, expected(lines);
  for (auto const& u : f.stages[0].in_use) in_use.push_back(u.bytes);
  for (long const bytes : expected) CHECK(std::ranges::count(in_use, bytes) > 0);
  CHECK(*std::ranges::max_element(in_use) == *std::ranges::max_element(lines));
}
TEST_CASE("a stage keeps the activations of several micro-batches, and gives them up as it goes back") {
  auto const f = session::figures_of<Chunks, Lab>({});
  auto const& first = f.stages[0].in_use;
  auto const most = std::ranges::max_element(first, {}, &session::InUse::bytes);
  CHECK(most->from > first.front().from);
  CHECK(first.back().bytes < most->bytes);
}
TEST_CASE("a bubble is of a pipeline alone; the curve ends with the micro-batches") {
  auto const data = session::figures_of<Sums, Lab>({.replicas = 4}), stages = session::figures_of<Staged, Lab>({});
  CHECK(data.bubble() == 0);
  CHECK(stages.bubble() > 0);
  CHECK(data.curve.size() == 16);
  CHECK(stages.curve.size() == 4);
  CHECK(data.curve[3].second == data.samples_a_second);
  auto const free = session::figures_of<Free, Lab>({.replicas = 2, .most = 5});
  CHECK(free.curve.size() == 5);
  CHECK(free.knee > 1);
}
TEST_CASE("the text has a line for each figure") {
  std::string const text = explain_step<Staged, Lab>({.replicas = 2});
  for (std::string_view const part :
       {"Modelled, not measured: 2 replicas of 2 ranks; 10 Tflop/s, memory 800 GB/s, link 5 us and 10 GB/s.\n",
        "\nstep ", "\nsamples a second ", "\ncompute ", "\nexposed communication ", "\npipeline bubble ",
        "\nmemory of a rank, at most ", " of 1 GiB\n", "\nsent by a rank"})
    CHECK_MESSAGE(text.find(part) != text.npos, part);
  CHECK(explain_step<Free, Lab>({.replicas = 2}).find("server") != std::string::npos);
  CHECK(explain_step<Sums, Small>().find("it does not fit") != std::string::npos);
}
TEST_CASE("the page is one file that holds what it draws") {
  scratch::Folder const folder;
  std::string const path = folder / "plan.html";
  write_plan_page<Staged, Lab>(path, {.replicas = 2, .title = "</script>mine"});
  std::string const page = page_of(path);
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  for (std::string_view const other : {"src=", "href=", "https://", "</script>mine"})
    CHECK_MESSAGE(page.find(other) == page.npos, other);
  std::size_t const begin = page.find("const page =\n") + 13, end = page.find("};\nconst", begin) + 1;
  io::JsonReader reader(std::string_view(page).substr(begin, end - begin), "page");
  while (reader.next() != io::JsonToken::End) {
  }
  for (std::string_view const part : {R"("stage 0, ranks 0 to 1")", R"(["backward_weight 0.product, round 4 of 4",0,)",
                                      R"("groups":[["send, stage 0 -> stage 1")", R"("capacity":1073741824)"})
    CHECK_MESSAGE(page.find(part) != page.npos, part);
}
TEST_CASE("what a plan cannot run on is an Error, as in a run") {
  CHECK_THROWS_WITH_AS((explain_step<Sums, Lab>({.replicas = 17})), doctest::Contains("cannot share"), Error);
  CHECK_THROWS_WITH_AS((explain_step<Sums, Lab>({.replicas = -1})), doctest::Contains("from 1 on"), Error);
  struct Spare : Of<DataParallel<Sync, Spares<2>>> {};
  CHECK_THROWS_WITH_AS((explain_step<Spare, Lab>({.replicas = 2})), doctest::Contains("leave none to wait for"), Error);
  CHECK_THROWS_WITH_AS((write_plan_page<Sums, Lab>("/nowhere/plan.html")), doctest::Contains("/nowhere/plan.html"),
                       Error);
}
