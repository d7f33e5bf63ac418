// report/trace.cpp - traces parse, hold every rank's steps as the schedule says, one span at a time on a track.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <map>
#include <string>

#include "../io/json_tree.hpp"
#include "../io/scratch.hpp"
#include "../train/on_device.hpp"

using namespace cleave;
using namespace cleave::testing;
using scratch::Json;
#ifdef __CUDACC__
using Here = Cuda;
#else
using Here = Emulated;
#endif

namespace {

struct Span {
  std::string name;
  double begin, end;
  long step;
};
/// By rank and track.
using Tracks = std::map<std::pair<int, int>, std::vector<Span>>;

Tracks tracks(Json const& trace) {
  Tracks out;
  for (Json const& e : trace.find("traceEvents")->items) {
    auto const number = [&](char const* name) { return e.find(name)->number; };
    std::pair const at(static_cast<int>(number("pid")), e.find("tid") ? static_cast<int>(number("tid")) : -1);
    if (e.find("ph")->string != "X") continue;
    double const begin = number("ts");
    long const step = static_cast<long>(e.find("args")->find("step")->number);
    out[at].push_back({e.find("name")->string, begin, begin + number("dur"), step});
  }
  for (auto& [at, spans] : out) {
    std::sort(spans.begin(), spans.end(),
              [](Span const& a, Span const& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  }
  return out;
}
long count(std::vector<Span> const& spans, long step, std::string const& start) {
  return std::count_if(spans.begin(), spans.end(),
                       [&](Span const& s) { return s.step == step && s.name.starts_with(start); });
}

template <class P> constexpr bool by_library = backend::host::by_library<typename P::number>;
template <class P> long kernels_of(int replicas, int rank, bool on_device) {
  backend::host::World world({replicas, P::ways}, P::schedule.steps);
  schedule::Share const share = P::share(world.ranks());
  backend::host::Member m;
  m.world = &world;
  m.rank = rank;
  long n = 0;
  for (int k = 0; k < P::schedule.steps; ++k) {
    schedule::Step const s = P::schedule.step[k];
    using enum schedule::Do;
    if (s.what != Forward && s.what != BackwardInput && s.what != BackwardWeight) continue;
    place::Node const& node = P::placed.node[s.node];
    if (on_device && s.linked) continue;                                                // with the one before it
    if (on_device && s.what == Forward && P::signatures.op[node.op].is_loss) continue;  // with its gradient
    for (int round = 0; round < P::request.rounds; ++round) {
      int const slices = m.slices(share, node.batch_axes, round).size();
      place::Signature const& op = P::signatures.op[node.op];
      bool const at_once =
          on_device || op.pointwise || (op.name == "product" && (s.what != BackwardWeight || !by_library<P>));
      n += at_once ? slices > 0 : slices;  // one kernel for all of them
    }
  }
  return n;
}

template <class P, class Trained> void traces(Trained&& trainer, int replicas, bool on_device) {
  trainer.train(0, 1, feed<P>());
  trainer.trace(2);
  trainer.train(1, 3, feed<P>());  // the last is no longer traced
  session::Trace const trace = session::trace_of(schedule::program<P>, trainer.timelines());
  CHECK(trace.steps == 2);
  CHECK(trace.lost == 0);
  Json const json = scratch::parse_json(trace.json);
  Tracks const all = tracks(json);
  int const ranks = replicas * P::ways;
  for (int rank = 0; rank < ranks; ++rank) {
    INFO("rank " << rank);
    REQUIRE(all.count({rank, 0}) == 1);
    std::vector<Span> const &compute = all.at({rank, 0}), &sums = all.count({rank, 1}) ? all.at({rank, 1}) : compute;
    for (long step : {1, 2}) {
      CHECK(count(compute, step, "forward ") + count(compute, step, "backward_") ==
            kernels_of<P>(replicas, rank, on_device));
      CHECK(count(compute, step, "load") == P::request.rounds);
      CHECK(count(compute, step, "norm gradients") == P::clips);
      bool const merged = on_device && replicas == 1;  // the whole arena in one kernel
      CHECK(count(compute, step, "update ") == (merged ? 1 : P::schedule.buckets));
      int const rounds = P::clips && !on_device ? 2 : 1;  // for its norm a thread first copies the sums of others
      if (replicas > 1) CHECK(count(sums, step, "all_reduce ") == rounds * P::schedule.buckets);
    }
    CHECK(count(compute, 0, "") + count(compute, 3, "") == 0);
    CHECK(count(compute, 1, "forward 0.product") > 0);
    // Its kernel merges what it sums; a library's does not.
    CHECK((count(compute, 1, "merge 0.product") > 0) == (!on_device && by_library<P>));
    CHECK((count(compute, 1, "merge 0.bias") > 0) == !on_device);  // as every kernel there
  }
  for (auto const& track : all) {
    INFO("rank " << track.first.first << ", track " << track.first.second);
    std::vector<Span> const& spans = track.second;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      CHECK(spans[i].end >= spans[i].begin);
      if (i > 0) CHECK(spans[i].begin >= spans[i - 1].end - 1e-6);
      if (i > 0) CHECK(spans[i].step >= spans[i - 1].step);
    }
  }
  long named = 0;
  for (Json const& e : json.find("traceEvents")->items) named += e.find("ph")->string == "M";
  CHECK(named == 3 * ranks);  // a process and two tracks
}

struct Dots {
  static constexpr std::string_view name = "dots";
  static constexpr session::Variation variation{};
  static io::Images read(std::string const&, io::Split, std::string&) {
    io::Images images{48, 1, 4, 5, {}, {}};
    for (int i = 0; i < 48 * 20; ++i) images.pixels.push_back(static_cast<unsigned char>(i * 37 % 251));
    for (int i = 0; i < 48; ++i) images.labels.push_back(static_cast<unsigned char>(i % 4));
    return images;
  }
};

/// What a replica has to do with its server is on its second track: each step has its push, and the wait before it.
template <class P, class Trained> void traces_served(Trained&& trainer, int replicas, bool on_device) {
  trainer.train(0, 2, feed<P>());
  trainer.trace(2);
  trainer.train(2, 4, feed<P>());
  session::Trace const trace = session::trace_of(schedule::program<P>, trainer.timelines());
  CHECK(trace.lost == 0);
  Tracks const all = tracks(scratch::parse_json(trace.json));
  for (int replica = 0; replica < replicas; ++replica) {
    INFO("replica " << replica);
    REQUIRE(all.count({replica * P::ways, 0}) == 1);
    REQUIRE(all.count({replica * P::ways, 1}) == 1);
    std::vector<Span> const &compute = all.at({replica * P::ways, 0}), &around = all.at({replica * P::ways, 1});
    int steps = 0;
    for (long step = 2; step < 6; ++step) {
      long const made = count(compute, step, "forward ");
      if (made == 0) continue;
      ++steps;
      CHECK(count(compute, step, "backward_") > 0);
      CHECK(count(around, step, "push") == 1);
      if (steps > 1) CHECK(count(around, step, "wait for weights") == 1);  // those of the first may have come before
      CHECK(count(around, step, "pull weights") == 1);
      double const computed = compute.back().end, begun = compute.front().begin;
      for (Span const& s : around) {
        if (s.name == "push" && s.step == compute.back().step && !on_device) CHECK(s.begin >= computed);
        if (s.name == "pull weights" && s.step == compute.front().step && !on_device) CHECK(s.end <= begun);
      }
    }
    CHECK(steps <= 2);
    CHECK((steps == 2 || !P::agreed::waits));
  }
}

/// Keeps the names of ranges.
struct Named : OnDevice {
  std::vector<std::string> open, seen;
  void enter(char const* name) {
    open.push_back(name);
    seen.push_back(name);
  }
  void leave() { open.pop_back(); }
};

int ran(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  return run<Of<Mlp, DataParallel<Sync>>, Dots, Here>(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

using ByData = Of<Mlp, DataParallel<Sync>, Momentum>;
struct ByNorm : Sgd {
  static constexpr float clip_norm = 0.05f;
};
using Grid = Of<Mlp, DataParallel<Sync>, ModelParallel<SplitColsRows>, Accumulate<2>, ByNorm>;
using Half = Of<Mlp, DataParallel<Sync>, Precision<bf16>>;

TEST_CASE("on threads") {
  traces<ByData>(Trainer<ByData>(3, 7), 3, false);
  traces<ByData>(Trainer<ByData>(1, 7), 1, false);
  traces<Grid>(Trainer<Grid>(2, 7), 2, false);
}
TEST_CASE("on a device, from times in its graph") {
  traces<ByData>(DeviceTrainer<ByData, OnDevice>(3, 7, device(1)), 3, true);
  traces<ByData>(DeviceTrainer<ByData, OnDevice>(1, 7, device(2)), 1, true);
  traces<Grid>(DeviceTrainer<Grid, OnDevice>(2, 7, device(3)), 2, true);
  traces<Half>(DeviceTrainer<Half, OnDevice>(2, 7, device(4)), 2, true);
}
using AroundServer = Of<Mlp, DataParallel<Sync>, Shards<1>, Momentum>;
using Freely = Of<Mlp, DataParallel<Async>, Shards<2>, ModelParallel<SplitCols, Ways<2>>>;
TEST_CASE("replicas around a server, on threads and on a device") {
  traces_served<AroundServer>(Served<AroundServer>(3, 7), 3, false);
  traces_served<Freely>(Served<Freely>(1, 7), 1, false);
  traces_served<AroundServer>(Served<AroundServer, session::DeviceRanks<AroundServer, OnDevice>>(2, 7), 2, true);
}
TEST_CASE("what is traced is trained alike, and counted alike") {
  auto const run = [](auto&& t, int traced) {
    if (traced) t.trace(traced);
    return outcome(t);
  };
  CHECK(run(Trainer<Grid>(2, 7), 2) == run(Trainer<Grid>(2, 7), 0));
  CHECK(run(DeviceTrainer<Grid, OnDevice>(2, 7), 2) == run(DeviceTrainer<Grid, OnDevice>(2, 7), 0));
}
TEST_CASE("ranges of profiles are opened and closed, by step and line") {
  auto machine = std::make_unique<Named>();
  Named& named = *machine;
  DeviceTrainer<ByData, Named> trainer(2, 7, std::move(machine));
  trainer.train(4, 2, feed<ByData>());
  CHECK(named.open.empty());
  for (char const* name : {"step 4", "step 5", "forward 0.product+bias+relu", "start 0.product", "update 4.product"}) {
    INFO(name);
    CHECK(std::count(named.seen.begin(), named.seen.end(), name) > 0);
  }
}
TEST_CASE("--trace writes a file, and says at once where it cannot") {
  scratch::Folder const folder;
  std::string const path = folder / "trace.json", out = folder / "out";
  for (char const* backend : {"host", Here::name}) {
    REQUIRE(ran({"dots", "--ranks", "2", "--trace", path, "--trace-steps", "3", "--out", out, "--backend", backend}) ==
            0);
    auto const bytes = io::read_file(path);
    Json const json = scratch::parse_json({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, path);
    CHECK(json.find("otherData")->find("steps")->number == 3);
    CHECK(tracks(json).size() == 4);
    std::remove(path.c_str());
  }
  CHECK(ran({"dots", "--ranks", "2", "--trace", folder / "none/trace.json", "--out", folder / "other"}) == 2);
  CHECK_FALSE(io::exists(folder / "other"));
  CHECK(scratch::has(scratch::message([&] { session::check_trace(folder / "none/trace.json"); }),
                     "none/trace.json: cannot write here: No such file or directory; name a file in a folder"));
}
TEST_CASE("of several processes each has a file") {
  CHECK(session::trace_path("a.b/out.json", 3, 4) == "a.b/out.rank3.json");
  CHECK(session::trace_path("a.b/out", 3, 4) == "a.b/out.rank3");
  CHECK(session::trace_path("out.json", 0, 1) == "out.json");
}
