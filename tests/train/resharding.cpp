// train/resharding.cpp - a checkpoint of any plan on up to 8 ranks goes on under any other: with the same bits where the split
// is the same, or where no layer is split, else as one rank to rounding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <functional>

#include "../io/scratch.hpp"
#include "triples.hpp"

using namespace triples;

namespace {

constexpr int before = 3, after = 3;

template <class... Ps> using Split = Of<Net, MicroBatches<12>, Ps...>;
template <class... Ps> using ByData = Split<DataParallel<Sync>, Ps...>;

struct Kind {
  char const* name;
  int ways;
  std::function<void(int replicas, std::string const& path)> save;
  std::function<std::vector<double>(int replicas, std::string const& path)> go_on;
  std::vector<double> wanted;  // of training without a break
};
template <class P> Kind kind(char const* name) {
  return {name, P::ways,
          [](int replicas, std::string const& path) {
            Trainer<P> t(replicas, 7);
            t.train(0, before, signs::feed<P>());
            session::save(t, path, 7);
          },
          [](int replicas, std::string const& path) {
            Trainer<P> t(replicas, 8);
            session::load(t, path);
            t.train(before, after, signs::feed<P>());
            return values(t);
          },
          trained<P>(1, before + after)};
}
struct Run {
  Kind const* kind;
  int replicas;
  std::string path;
};

}  // namespace

TEST_CASE("from every plan on 1 to 8 ranks to every other") {
  std::vector<Kind> const kinds{
      kind<ByData<>>("data"),
      kind<Split<DataParallel<Sync, Zero<1>>>>("data, Zero<1>"),
      kind<Split<DataParallel<Sync, Zero<3>>>>("data, Zero<3>"),
      kind<ByData<ModelParallel<SplitCols, Ways<2>>>>("columns"),
      kind<Split<DataParallel<Sync, Zero<3>>, ModelParallel<SplitCols, Ways<4>>>>("columns, four ways, Zero<3>"),
      kind<ByData<ModelParallel<SplitRows, Ways<2>>>>("rows"),
      kind<Split<DataParallel<Sync, Zero<2>>, ModelParallel<SplitColsRows, Ways<3>>>>("unequal columns, rows, Zero<2>"),
      kind<ByData<ModelParallel<SplitRows, Ways<5>>>>("five ways of unequal rows"),
      kind<Split<DataParallel<Sync, Zero<2>>, ModelParallel<SplitColsRows, Ways<2>>>>("columns, rows, Zero<2>"),
      kind<ByData<ModelParallel<SplitBatch, Ways<2>>>>("batch"),
      kind<ByData<ModelParallel<SplitBatch, Ways<4>>>>("batch, four ways")};
  std::vector<double> const& one = kinds[0].wanted;
  double const moved = difference(one, trained<ByData<>>(1, 0));
  for (Kind const& k : kinds) {
    CAPTURE(std::string(k.name));
    CHECK(difference(k.wanted, one) <= 3e-6 * moved);
  }

  scratch::Folder const folder;
  std::vector<Run> runs;
  for (Kind const& k : kinds) {
    for (int n = 1; n * k.ways <= 8; ++n) {
      runs.push_back({&k, n, folder / (std::to_string(runs.size()) + ".safetensors")});
      k.save(n, runs.back().path);
    }
  }
  long exact = 0, close = 0;
  for (Run const& p : runs) {
    for (Run const& q : runs) {
      std::vector<double> const got = q.kind->go_on(q.replicas, p.path);
      bool const same = p.kind == q.kind || (p.kind->wanted == one && q.kind->wanted == one);
      bool const equal = same ? got == q.kind->wanted : difference(got, one) <= 3e-6 * moved;
      ++(same ? exact : close);
      if (equal) continue;
      FAIL_CHECK(p.kind->name << " on " << p.replicas << " replicas, then " << q.kind->name << " on " << q.replicas
                              << ": " << difference(got, one) / moved);
    }
  }
  MESSAGE(runs.size(), " runs; ", exact, " pairs with the same bits, ", close, " to rounding");
  CHECK(exact > 300);
}
