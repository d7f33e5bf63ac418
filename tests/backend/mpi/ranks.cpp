// backend/mpi/ranks.cpp - every kind of collective over MPI processes has the bits of threads. Run by run.sh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/backend/mpi/process.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Mixed : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, Relu, MaxPool<2>, Conv<8, 3, Pad<1>, NoBias>, BatchNorm,
                          Relu, Linear<16>, Relu, Linear<8>, Dropout<20>, Linear<4>, CrossEntropy> {};
struct Words : Sequential<Vector<5>, Embedding<31, 6>, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Heads
    : Sequential<Vector<4>, Embedding<31, 8, SendDense>, Attention<4, Causal>, PerPosition<Linear<4>, CrossEntropy>> {};
/// Windows that read rows of two other ranks, statistics over the rows of all, and an enlarged image.
struct Enlarged : Sequential<Image<2, 4, 5>, Conv<3, 5, Pad<2>>, BatchNorm, Relu,
                             ConvTranspose<4, 4, Stride<2>, Pad<1>>, Linear<4>, CrossEntropy> {};
struct Factored : Sequential<Vector<20>, Linear<96, SendFactors>, Relu, Linear<4>, CrossEntropy> {};
template <class N, class... Ps>
struct Of : Plan<N, Batch<16>, MicroBatches<16>, Momentum, DataParallel<Sync>, Ps...> {};
template <class N, class... Ps>
struct InParts : Plan<N, Batch<16>, MicroBatches<16>, Adam, DataParallel<Sync, Zero<1>>, Ps...> {};
template <class N, class... Ps>
struct Gathers : Plan<N, Batch<16>, MicroBatches<16>, Adam, DataParallel<Sync, Zero<3>>, Ps...> {};
template <class N, class... Ps>
struct InTurn : Plan<N, Batch<16>, MicroBatches<16>, Adam, DataParallel<Sync, Zero<2>>, Ps...> {};
struct Clip : Momentum {
  static constexpr float clip_norm = 0.05f;
};
template <class... Ps> struct Clipped : Plan<Net, Batch<16>, MicroBatches<16>, Clip, DataParallel<Sync>, Ps...> {};
struct ClippedInParts : Plan<Net, Batch<16>, MicroBatches<16>, Clip, DataParallel<Sync, Zero<1>>> {};

template <class P> std::vector<double> trained(int replicas, backend::host::Remote* remote, int steps = 6) {
  Trainer<P> t(replicas, 7, remote);
  session::Probing<P> probe;
  for (std::size_t i = 0; P::tokens.vocabulary > 0 && i < probe.x.size(); ++i)
    probe.x[i] = static_cast<double>(i * i % 31);
  std::vector<double> all = t.train(0, steps, probe.feed());
  std::string const wrong = session::miscounted(t, steps);
  if (!wrong.empty()) throw Error(wrong);
  all.push_back(t.accuracy(probe.feed(), P::batch));
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(t, k)) all.push_back(static_cast<double>(v));
  }
  if constexpr (session::keeps_residuals<P>) {
    for (int step = steps; step < steps + 20; ++step) {  // others would be a step ahead, did they not meet
      t.train(step, 1, probe.feed());
      for (int r = 0; r < t.ranks().world(); ++r) {
        for (auto v : t.residuals(r)) all.push_back(static_cast<double>(v));
      }
      t.meet();
    }
  }
  return all;
}
int threads = 1;  // ranks in each process

/// In as many processes as there are, and as threads of each process.
template <class P> void same(backend::mpi::Process const& process, char const* what) {
  int const each = P::request.mesh.ranks_of_replica(), ranks = process.size() * threads;
  if (ranks % each != 0) return;
  int const replicas = ranks / each;
  std::unique_ptr<backend::mpi::Remote> remote;
  if (process.size() > 1) remote = std::make_unique<backend::mpi::Remote>();
  if (trained<P>(replicas, remote.get()) != trained<P>(replicas, nullptr))
    throw Error(std::string(what) + ": other bits than threads");
}
/// Rank 1 hangs: the others end with an error that names it.
int hang(backend::mpi::Process const& process) {
  using P = Of<Net>;
  try {
    backend::mpi::Remote remote;
    schedule::Ranks const ranks{process.size(), 1};
    backend::host::World world(ranks, P::schedule.steps, &remote, std::chrono::milliseconds(300));
    auto const layout = schedule::layout(P::schedule, P::lives, P::request, P::format, ranks);
    schedule::LayoutView const view(layout);
    backend::host::Rank<P::number> rank(lower::executable<P>, world, std::span(&view, 1), process.rank(), 1,
                                        P::share(ranks));
    world.share(static_cast<std::size_t>(layout.memory.total));
    if (process.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
    session::Probing<P> const probe;
    rank.train(0, probe.feed(), {});
  } catch (Error const& e) {
    std::printf("rank %d: %s\n", process.rank(), e.what());
    std::fflush(stdout);
    if (process.rank() == 0) std::_Exit(4);
  }
  return 0;
}

/// A checkpoint is there; then rank 1 is killed while all train on, and would save again in the end.
int die(backend::mpi::Process const& process, std::string const& path) {
  using P = Of<Net>;
  session::Probing<P> const probe;
  backend::mpi::Remote remote;
  Trainer<P> t(process.size(), 7, &remote);
  t.train(0, 3, probe.feed());
  session::save(t, path, 7, process.rank() == 0);
  for (long step = 3; step < 3'000'000; step += 100) {
    if (process.rank() == 1 && step == 303) std::raise(SIGKILL);
    t.train(step, 100, probe.feed());
  }
  session::save(t, path, 7, process.rank() == 0);
  return 0;
}
/// What is left is that checkpoint.
int look(std::string const& path) {
  using P = Of<Net>;
  session::Probing<P> const probe;
  Trainer<P> t(2, 7), whole(2, 7);
  session::load(t, path);
  whole.train(0, 3, probe.feed());
  for (session::Kept const& k : session::kept<P>()) {
    if (session::whole(t, k) != session::whole(whole, k)) throw Error(path + ": other weights than three steps make");
  }
  std::printf("the checkpoint of step %ld is whole\n", t.steps());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  backend::mpi::Process process(true);
  try {
    if (argc > 1 && std::strcmp(argv[1], "hang") == 0) return hang(process);
    if (argc > 2 && std::strcmp(argv[1], "die") == 0) return die(process, argv[2]);
    if (argc > 2 && std::strcmp(argv[1], "look") == 0) return look(argv[2]);
    if (argc > 2 && std::strcmp(argv[1], "threads") == 0) threads = std::atoi(argv[2]);
    if (argc > 1 && process.stranger(process.rank() == 1 ? 2 : 1) != (process.size() > 1 ? 1 : -1))
      throw Error("stranger");
    same<Of<Net>>(process, "by data");
    same<Of<Net, Fastest>>(process, "by data, fastest");
    same<Of<Net, Precision<bf16>>>(process, "by data, bf16");
    same<Of<Net, Accumulate<2>>>(process, "by data, in rounds");
    same<Of<Net, Fastest, Compress<OneBit>>>(process, "by data, one bit");
    same<Of<Net, Fastest, Compress<TopK<20>>>>(process, "by data, top k");
    same<Of<Net, Fastest, ReduceBy<Ring>>>(process, "by data, round a ring");
    same<Of<Net, Fastest, ReduceBy<HalvingDoubling>, Precision<bf16>>>(process, "by data, in halves");
    same<Of<Net, Fastest, ReduceBy<Tree>>>(process, "by data, up and down a tree");
    if (process.size() * threads % 2 == 0)
      same<Of<Net, Fastest, ReduceBy<Hierarchical<2>>>>(process, "by data, by nodes");
    same<Of<Net, Fastest, Compress<Int8>>>(process, "by data, int8");
    same<Of<Net, Fastest, Compress<bf16>>>(process, "by data, bf16 on the way");
    same<Of<Factored>>(process, "by data, factors");
    same<Of<Words>>(process, "by data, rows");
    same<Of<Words, Fastest, Precision<bf16>>>(process, "by data, rows in bf16");
    same<Of<Mixed>>(process, "by data, with statistics of the batch");
    same<InParts<Net>>(process, "by data, an optimizer in parts");
    same<InParts<Mixed, Precision<bf16>>>(process, "by data, an optimizer in parts, bf16");
    same<InParts<Net, ModelParallel<SplitCols>>>(process, "by columns, an optimizer in parts");
    same<InTurn<Net>>(process, "by data, gradients in turn");
    same<InTurn<Net, Accumulate<2>>>(process, "by data, gradients in turn over rounds");
    same<Gathers<Net>>(process, "by data, weights in turn");
    same<Gathers<Mixed, Precision<bf16>, ModelParallel<SplitCols>>>(process, "by columns, weights in turn, bf16");
    same<InTurn<Mixed, Precision<bf16>, ModelParallel<SplitCols>>>(process, "by columns, gradients in turn, bf16");
    same<Clipped<>>(process, "by data, clipped");
    same<ClippedInParts>(process, "by data, clipped, an optimizer in parts");
    same<Clipped<Precision<bf16>, Accumulate<2>>>(process, "by data, clipped, bf16 in rounds");
    same<Clipped<Fastest, Compress<Int8>>>(process, "by data, clipped, int8");
    same<Clipped<ModelParallel<SplitCols>>>(process, "by columns, clipped");
    same<Clipped<ModelParallel<SplitColsRows, Ways<4>>>>(process, "by columns and rows, clipped");
    same<Of<Net, ModelParallel<SplitCols>>>(process, "by columns");
    same<Of<Net, ModelParallel<SplitRows>>>(process, "by rows");
    same<Of<Net, ModelParallel<SplitColsRows, Ways<4>>>>(process, "by columns and rows");
    same<Of<Net, ModelParallel<SplitColsRows, Ways<3>>>>(process, "by unequal columns and rows");
    same<Of<Net, Blocks<4>, ModelParallel<SplitColsRows, Ways<4>>>>(process, "by columns and rows, in blocks");
    same<Of<Net, Blocks<3>, ModelParallel<SplitRows, Ways<3>>>>(process, "by rows of three ways, in blocks");
    same<Of<Net, ModelParallel<SplitBatch>>>(process, "by batch");
    same<Of<Net, ModelParallel<SplitAlong<SplitColsRows, SplitRowsCols>, Ways<2, 2>>>>(process,
                                                                                       "in blocks of two axes");
    same<Of<Heads, ModelParallel<SplitPositions>>>(process, "by positions and heads");
    same<Of<Heads, ModelParallel<SplitAlong<SplitColsRows, SplitPositions>, Ways<2, 2>>>>(process,
                                                                                          "by columns and positions");
    same<Of<Enlarged, ModelParallel<SplitPositions, Ways<4>>>>(process, "by rows of images");
    same<Of<Enlarged, ModelParallel<SplitAlong<SplitCols, SplitPositions>, Ways<2, 2>>>>(
        process, "by channels and rows of images");
    same<Of<Mixed, OneWeirdTrick<2>>>(process, "one weird trick");
    same<Of<Net, ModelParallel<SplitLayers<2>>>>(process, "in stages");
    same<Of<Net, ModelParallel<SplitLayers<3, GPipe>>, Precision<bf16>>>(process, "in stages, all forward first, bf16");
    same<Clipped<ModelParallel<SplitLayers<2>>>>(process, "in stages, clipped");
    same<Of<Net, ModelParallel<SplitLayers<2, Interleaved<2>>>>>(process, "in interleaved stages");
    same<Of<Net, ModelParallel<SplitLayers<2>>, ModelParallel<SplitCols>>>(process, "in stages, by columns");
    if (process.rank() == 0)
      std::printf("%d processes with %d ranks each: the bits of threads\n", process.size(), threads);
  } catch (Error const& e) {
    std::fprintf(stderr, "rank %d of %d: %s\n", process.rank(), process.size(), e.what());
    process.abort(1);
    return 1;
  }
  return 0;
}
