// plan/policies.hpp - the words of a plan. Each says one kind of thing; their order never matters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../agree/async.hpp"
#include "../agree/averaging.hpp"
#include "../agree/laws.hpp"
#include "../agree/sync.hpp"
#include "../optim/adaptive.hpp"
#include "../optim/sgd.hpp"
#include "../place/split.hpp"
#include "../send/codec.hpp"
#include "../send/route.hpp"
#include "../tensor/number.hpp"

namespace cleave {

namespace plan {
struct BatchKind {};
struct MicroBatchKind {};
struct RoundKind {};
struct DataKind {};
struct ServerKind {};
struct ModelKind {};
struct MeshKind {};
struct PrecisionKind {};
struct SumKind {};
struct CompressKind {};
struct RouteKind {};
struct BucketKind {};
struct WorkspaceKind {};
struct ConversionKind {};
struct InputKind {};
}  // namespace plan

/// The samples of one update. Replicas that wait for each other share them out; of those that do not, each takes as
/// many for every gradient.
template <int Samples> struct Batch {
  using kind = plan::BatchKind;
  static constexpr int samples = Samples;
};

/// Into how many slices the batch is cut: the unit that replicas share out and kernels are specialised on, and the
/// leaves of the ordered sum. Unless said: where the batch is cut over ranks, 8 or the largest power of two below it
/// that divides the batch (for more ranks or rounds that the plan fixes, the next number that does); else 1.
template <int Count> struct MicroBatches {
  using kind = plan::MicroBatchKind;
  static constexpr int count = Count;
};

/// A rank runs its micro-batches in k rounds before the one update, and holds activations for those of one round only
/// (of its own, divided by k and rounded up). Weights, losses and, under `Ordered`, all their bits are those of
/// Accumulate<1>; conversions between layouts are sent in every round, gradients once. Every rank needs a micro-batch
/// in each round, and gradients are kept for as many branches of the ordered sum as a
/// round leaves (one, where a round's micro-batches are a power of two). Refused where a layer takes sums over the
/// batch (BatchNorm), which is never there at once.
template <int Rounds> struct Accumulate {
  using kind = plan::RoundKind;
  static constexpr int rounds = Rounds;
};

/// Replicas, as many as the run has, that learn the same weights from different samples. `Agreement` says when a
/// gradient counts: Sync, Async, StaleSynchronous<bound>, Downpour<fetch, push>, LocalSGD<steps>,
/// ElasticAveraging<steps, percent>; options follow it: Spares<k>, Stale<rules...>, WarmUp<updates>,
/// PerReplica<samples...>.
template <class Agreement, class... Options> struct DataParallel {
  using kind = plan::DataKind;
  using agreement = Agreement;
  using agreed = agree::Agreed<Agreement, Options...>;
  using options = meta::list<Options...>;
};

/// Replicas agree through a parameter server, cut into so many shards with versions of their own. Sync takes Shards<1>
/// only, as all agreements do whose replicas wait for each other: a server that is not cut, instead of collectives. Its
/// bits are those of the collectives where each replica's micro-batches are a power of two and there are no spares.
template <int Count> struct Shards {
  using kind = plan::ServerKind;
  static constexpr int count = Count;
};

template <int N> struct Ways { static constexpr int ways = N; };

/// Layers are cut over `Ways<N>` ranks (2 unless said). On a plan: every product and convolution that says nothing
/// else; on a layer: that layer, and the ways are the plan's.
template <class Split, class N = Ways<0>> struct ModelParallel {
  using kind = plan::ModelKind;
  static constexpr char convolutions = Split::letter, products = Split::letter;
  static constexpr int ways = N::ways;
};

/// Convolutions cut the batch, dense layers cut their weights, over the same ranks. Source: Krizhevsky, "One weird
/// trick for parallelizing convolutional neural networks", 2014.
template <int N> struct OneWeirdTrick {
  using kind = plan::ModelKind;
  static constexpr char convolutions = 'b', products = '~';
  static constexpr int ways = N == 0 ? -1 : N;  // 0 would be: not said
};

/// The mesh spelled out: `Mesh<Data<2>, Model<4>>` runs on exactly 8 ranks.
template <int N> struct Data { static constexpr int replicas = N; };
template <int N> struct Model { static constexpr int ways = N; };
template <class D, class M = Model<1>> struct Mesh {
  using kind = plan::MeshKind;
  static constexpr int replicas = D::replicas, ways = M::ways;
};

/// f32, f64; bf16: storage and messages in bf16, sums and the weights that are stepped in f32; tf32: all of these in
/// f32, and what products and convolutions multiply rounded to 10 bits of fraction; or fp8: as bf16, and what they
/// multiply in 8 bits: inputs and weights e4m3, gradients e5m2, each at a scale of its own micro-batch or weight.
template <class Number> struct Precision {
  using kind = plan::PrecisionKind;
  using number = Number;
};

/// Sums over the batch in one fixed tree: the same bits for any number of replicas.
struct Ordered {
  using kind = plan::SumKind;
  static constexpr bool ordered = true;
};
/// Sums as they come: each replica adds up its slices, then the replicas in order.
struct Fastest {
  using kind = plan::SumKind;
  static constexpr bool ordered = false;
};

/// `Compress<bf16>`, `Compress<Int8>`, `Compress<OneBit>`, `Compress<TopK<per mille>>`: gradients are sent in that
/// format (send/codec.hpp says how to add one), layer by layer, and summed in that of sums. What a message lacks is
/// added to the next gradient, unless `NoFeedback` is said. By all-reduce, sums are sent in the format too where it can
/// hold them; weights never are. Wants `Fastest` where replicas wait for each other, as what is lost depends on who
/// summed what. A checkpoint has what is left over; a server's
/// replica that is resumed begins without.
struct Feedback {
  static constexpr bool keeps = true;
};
struct NoFeedback {
  static constexpr bool keeps = false;
};
template <class Format, class Keeps = Feedback> struct Compress {
  using kind = plan::CompressKind;
  using codec = typename send::codec_of<Format>::is;
  static constexpr bool feedback = Keeps::keeps;
};

/// By which way gradients become sums, where there is no server: `Ring`, `Tree`, `HalvingDoubling`,
/// `Hierarchical<replicas per node>`, `Auto`, or your own (send/route.hpp). Unless said, each rank adds up its part
/// from all and reads the other parts, in two rounds: as many bytes as a ring, and under `Ordered` up to (b + 1) / 2
/// times as many, where a rank's micro-batches are b branches of the tree (docs/sending.md). Wants `Fastest`, but where
/// the replicas are fixed by `Mesh` and the route adds up in the tree of `Ordered`.
template <class Route> struct ReduceBy {
  using kind = plan::RouteKind;
  using route = Route;
};

/// Layers share a message of gradients until it has so many bytes: `Buckets<25_MiB>`. Unless said, each layer has its
/// own, on its way as soon as its gradient is made. Few messages wait less, early ones hide behind the backward pass.
/// What is sent, and its bits, stay.
template <long Bytes> struct Buckets {
  using kind = plan::BucketKind;
  static constexpr long bytes = Bytes;
};

/// So many bytes of each rank are for what libraries need beside their operands: `Workspace<64_MiB>`. Unless said, one
/// MiB, which our own kernels have too. Wants `Fastest`, as ordered sums are made by our own kernels alone.
template <long Bytes> struct Workspace {
  using kind = plan::WorkspaceKind;
  static constexpr long bytes = Bytes;
};

/// `Conversions<Written>`: a partial sum is taken only where the model says AllReduce; anything else does not compile.
struct Written {};
template <class How> struct Conversions { using kind = plan::ConversionKind; };

/// The gradient of the model's input is wanted too.
struct InputGradient {
  using kind = plan::InputKind;
};

}  // namespace cleave
