// plan/policies.hpp - the policies of a plan, one of each kind, in any order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../agree/async.hpp"
#include "../agree/averaging.hpp"
#include "../agree/laws.hpp"
#include "../agree/sync.hpp"
#include "../op/scaled_loss.hpp"
#include "../optim/adaptive.hpp"
#include "../optim/sgd.hpp"
#include "../place/device_mesh.hpp"
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
struct StageKind {};
struct MeshKind {};
struct PrecisionKind {};
struct SumKind {};
struct CompressKind {};
struct RouteKind {};
struct BucketKind {};
struct WorkspaceKind {};
struct ConversionKind {};
struct InputKind {};
struct PassKind {};
struct FreezeKind {};
struct BlockKind {};
struct SequenceKind {};
}  // namespace plan

/// The samples of one update. Replicas that wait for each other share them; one that does not wait uses this number for
/// every gradient.
template <int Samples> struct Batch {
  using kind = plan::BatchKind;
  static constexpr int samples = Samples;
};

/// The number of micro-batches of a batch: replicas share them, kernels are specialised on their size, and they are the
/// leaves of the ordered sum. Default: if the batch is split over ranks, 8 or the largest power of two below it that
/// divides the batch (if the plan fixes more ranks or rounds, the next number that does); else 1.
template <int Count> struct MicroBatches {
  using kind = plan::MicroBatchKind;
  static constexpr int count = Count;
};

/// Gradient accumulation: a rank runs its micro-batches in k rounds before the one update, and holds activations of one
/// round only (its micro-batches divided by k and rounded up). Weights, losses and, under `Ordered`, all their bits are
/// those of Accumulate<1>; conversions are sent in every round, gradients once. Every rank needs a micro-batch in each
/// round, and keeps gradients for as many branches of the ordered sum as a round leaves (one, if a round's
/// micro-batches are a power of two). Refused if a layer takes sums over the batch (BatchNorm), which is never
/// complete.
template <int Rounds> struct Accumulate {
  using kind = plan::RoundKind;
  static constexpr int rounds = Rounds;
};

/// Replicas, as many as the run has, that train the same weights with different samples. `Agreement` says how they
/// combine their work: Sync, Async, StaleSynchronous<bound>, Downpour<fetch, push>, LocalSGD<steps>,
/// DiLoCo<steps, rate, momentum>,
/// ElasticAveraging<steps, percent>; options follow it: Spares<k>, Stale<rules...>, WarmUp<updates>,
/// PerReplica<samples...>, Zero<stage>.
template <class Agreement, class... Options> struct DataParallel {
  using kind = plan::DataKind;
  using agreement = Agreement;
  using agreed = agree::Agreed<Agreement, Options...>;
  using options = meta::list<Options...>;
};

/// A parameter server, cut into `Count` shards of each way's weights. Where replicas do not wait for each other, each
/// shard has its own version; where they wait, all shards make the updates that the first one decides. With Sync it
/// takes the place of collectives: its bits are theirs if each replica's micro-batches are a power of two and there are
/// no spares.
template <int Count> struct Shards {
  using kind = plan::ServerKind;
  static constexpr int count = Count;
};

/// The ranks of a replica: `Ways<4>` in a row; `Ways<2, 4>` as an array, along each axis of which layers may be split.
template <int... N> struct Ways {
  static constexpr int axes = sizeof...(N), size[axes + 1]{N..., 0};
  static constexpr int ways = axes < 2 ? size[0] : ((N > 0) && ...) ? (1 * ... * N) : -1;
  template <int Stages> static constexpr place::DeviceMesh mesh() {
    place::DeviceMesh out{0, 1};
    if constexpr (axes < place::most_axes) out = {0, N...};
    out.stages = Stages;
    return out;
  }
};

/// Splits layers over `Ways<N>` ranks (default 2). On a plan: every product and convolution without a split; on a
/// layer: that layer, with the ways of the plan.
template <class Split, class N = Ways<0>> struct ModelParallel {
  using kind = plan::ModelKind;
  using split = Split;
  using sizes = N;
  static constexpr char convolutions = Split::letter, products = Split::letter;
  static constexpr int ways = N::ways;
};

/// Convolutions split the batch, dense layers split their weights, over the same ranks. Source: Krizhevsky, "One weird
/// trick for parallelizing convolutional neural networks", 2014.
template <int N> struct OneWeirdTrick {
  using kind = plan::ModelKind;
  using sizes = Ways<N>;
  static constexpr char convolutions = 'b', products = '~';
  static constexpr int ways = N == 0 ? -1 : N;  // 0 would mean the default
};

/// An explicit mesh: `Mesh<Data<2>, Model<4>>` runs on exactly 8 ranks, and so does `Mesh<Data<2>, Model<2, 2>>`.
template <int N> struct Data { static constexpr int replicas = N; };
template <int... N> struct Model { using sizes = Ways<N...>; };
template <class D, class M = Model<1>> struct Mesh {
  using kind = plan::MeshKind;
  using sizes = typename M::sizes;
  static constexpr int replicas = D::replicas, ways = sizes::ways;
};

/// f32, f64; bf16: storage and messages in bf16, sums and master weights in f32; tf32: all of these in f32, operands of
/// products and convolutions rounded to 10 bits of fraction; f16: as bf16, with more digits and a small range, for
/// which there is LossScale; or fp8: as bf16, with these operands in 8 bits: inputs and
/// weights e4m3, gradients e5m2, with a scale for each micro-batch and weight.
template <class Number> struct Precision {
  using kind = plan::PrecisionKind;
  using number = Number;
};

/// Sums over the batch in one fixed tree: the same bits for any number of replicas.
struct Ordered {
  using kind = plan::SumKind;
  static constexpr bool ordered = true;
};
/// Sums without a fixed tree: each replica adds its slices, then the replicas are added in order.
struct Fastest {
  using kind = plan::SumKind;
  static constexpr bool ordered = false;
};

/// `Blocks<8>`: a product sums over its inputs, and over its outputs on the way back, in 8 equal blocks, and these in a
/// tree, on one rank as on several: then columns and rows on 2, 4 or 8 ranks give the bits of one rank (`same_bits`).
/// Of n blocks 2^k lie on each of n / 2^k ranks. Where n does not divide the number of terms, a sum has n / 2 blocks,
/// or n / 4, and so on, or one. Those of convolutions are of channels. For f32 and f64, with `Ordered`, on CPUs.
template <int N> struct Blocks {
  using kind = plan::BlockKind;
  static constexpr int blocks = N;
};

/// Beside a split by columns and rows: what is between products (norms, biases behind sums, dropout, residual
/// connections) has a part of the positions on each rank, not all of them. Where ranks would sum a value, they sum a
/// part each, and gather it in front of the next product: as many bytes as the sum, and 1 / ways of the work between.
/// What products read is not kept: it is gathered again on the way back. Kept is what a layer in `Recompute` reads
/// from outside, a tied last layer, the loss, or an operation as its second input. A whole embedding costs one more
/// gather. Ways divide the positions. Source: Korthikanti et al., "Reducing activation recomputation in large
/// transformer models", 2022, section 4.2.
struct SequenceParallel {
  using kind = plan::SequenceKind;
};

/// `Compress<bf16>`, `Compress<Int8>`, `Compress<OneBit>`, `Compress<TopK<per mille>>`: gradients are sent in that
/// format (send/codec.hpp says how to add one), layer by layer, and summed in that of sums. The residual of a message
/// is added to the next gradient, unless `NoFeedback` is given. By all-reduce, sums are sent in the format too if it
/// can hold them; weights never are. Needs `Fastest` if replicas wait for each other, since the loss depends on which
/// rank sums what. Residuals are saved in checkpoints; a server's replica that is resumed begins without.
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

/// The all-reduce algorithm for gradients without a server: `Ring`, `Tree`, `HalvingDoubling`, `Hierarchical<replicas
/// per node>`, `Auto`, or your own (send/route.hpp). Default: direct all-reduce; each rank reduces its partition and
/// reads the others, in two rounds: as many bytes as a ring, and under `Ordered` up to (b + 1) / 2 times as many, if a
/// rank's micro-batches are b branches of the tree (docs/sending.md). Needs `Fastest`, unless `Mesh` fixes the replicas
/// and the algorithm sums in the tree of `Ordered`.
template <class Route> struct ReduceBy {
  using kind = plan::RouteKind;
  using route = Route;
};

/// Layers share a message of gradients up to this size: `Buckets<25_MiB>`. Default: one message for each layer, sent as
/// soon as its gradient is computed. Few messages have less latency, early ones overlap with the backward pass. Traffic
/// and bits stay the same.
template <long Bytes> struct Buckets {
  using kind = plan::BucketKind;
  static constexpr long bytes = Bytes;
};

/// Each rank's workspace for libraries in bytes: `Workspace<64_MiB>`. Default: one MiB, which our kernels have too.
/// Needs `Fastest`, since ordered sums are computed by our kernels only.
template <long Bytes> struct Workspace {
  using kind = plan::WorkspaceKind;
  static constexpr long bytes = Bytes;
};

/// `Conversions<Written>`: a partial sum is reduced only where the model says AllReduce; anything else does not
/// compile.
struct Written {};
template <class How> struct Conversions { using kind = plan::ConversionKind; };

/// The plan of a trained model: the forward pass up to the loss. A rank has weights and activations, no gradients and
/// no optimizer. Predictor runs it.
struct Inference {
  using kind = plan::PassKind;
};

/// `Freeze<6>`: the weights of layers 0 to 5 stay as they were loaded, and the backward pass ends above them: nothing
/// is computed or sent for them; memory is that of the plan without it. Layers are numbered as in the printed plan and
/// in checkpoints. BatchNorm among them still takes the statistics of the batch, as in PyTorch with requires_grad off;
/// the running statistics of GhostBatchNorm, which are weights, stay.
template <int Layers> struct Freeze {
  using kind = plan::FreezeKind;
  static constexpr int layers = Layers;
};

/// The gradient of the model's input is computed too.
struct InputGradient {
  using kind = plan::InputKind;
};

}  // namespace cleave
