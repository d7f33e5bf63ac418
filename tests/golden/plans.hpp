// golden/plans.hpp - plans of every kind, small, whose listings, traffic and memory are kept as text in golden/plans/.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave.hpp>

namespace golden {
using namespace cleave;

struct Mlp : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Gelu, Linear<4>, CrossEntropy> {};
struct ManyClasses : Sequential<Vector<20>, Linear<24>, Relu, Linear<64>, ParallelCrossEntropy> {};
struct Narrow : Sequential<Vector<8>, Linear<4>, Relu, Linear<2, NoBias>, CrossEntropy> {};
struct Regression : Sequential<Vector<12>, Linear<8, Glorot>, Tanh, Linear<4>, MeanSquaredError> {};
struct Lenet : Sequential<Image<1, 16, 16>, Conv<8, 5>, MaxPool<2>, Relu, Conv<16, 3>, MaxPool<2>, Linear<32>, Relu,
                          Linear<10>, CrossEntropy> {};
struct Grouped : Sequential<Image<4, 8, 8>, Conv<8, 3, Pad<1>>, Relu,
                            Conv<8, 3, Pad<1>, Groups<2>, ModelParallel<SplitGroups>>, Relu, Linear<4>, CrossEntropy> {
};
struct Ghosts
    : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, GhostBatchNorm, Relu, MaxPool<2>, Linear<4>, CrossEntropy> {};
struct Norms : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Linear<24>, LayerNorm, Tanh,
                          Dropout<20>, Residual<Linear<24>, Relu>, Linear<4>, CrossEntropy> {};
struct Layers : Sequential<Image<2, 8, 8>, Conv<4, 3>, LocalResponseNorm<3>, Sigmoid, AvgPool<2>, Linear<24>, LayerNorm,
                           Dropout<20>, Residual<Linear<24>, Relu>, Linear<4>, CrossEntropy> {};
struct Paths
    : Sequential<Image<2, 9, 9>, Conv<4, 3, Pad<1>>, Relu, MaxPool<3, Stride<2>, Pad<1>>,
                 Branches<Concat, Path<AvgPool<2, Stride<1>>>, Path<Conv<4, 2>, Gelu>>, Linear<4>, CrossEntropy> {};
struct Deep : Sequential<Vector<16>, Residual<Linear<16>, Relu>, Residual<Linear<16>, Relu>, Residual<Linear<16>, Relu>,
                         Linear<4>, CrossEntropy> {};
struct Words : Sequential<Vector<6>, Embedding<50, 8>, Linear<16>, Relu, Linear<4>, CrossEntropy> {};
struct Tokens : Sequential<Vector<6>, Embedding<50, 8, SendDense>, Linear<16>, Relu, Linear<4>, CrossEntropy> {};
struct OneTable : Sequential<Vector<6>, Embedding<50, 8, Tied>, PositionEmbedding,
                             PerPosition<Linear<8>, Gelu, Linear<50, Tied>, CrossEntropy>> {};
struct Transformer : Sequential<Vector<6>, Embedding<50, 8>, PositionEmbedding,
                                Repeat<2, Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                                       Residual<PerPosition<LayerNorm, Linear<16>, Gelu, Linear<8>>>>,
                                PerPosition<LayerNorm, Linear<50, ModelParallel<Whole>>, CrossEntropy>> {};
struct FourHeads : Sequential<Vector<6>, Embedding<50, 8>, Residual<PerPosition<LayerNorm>, Attention<4, Causal>>,
                              PerPosition<Linear<64>, ParallelCrossEntropy>> {};
struct Recomputed : Sequential<Vector<6>, Embedding<50, 8, SendDense>, PositionEmbedding,
                               Repeat<2, Recompute<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                                                   Residual<PerPosition<LayerNorm, Linear<16>, Gelu, Linear<8>>>>>,
                               PerPosition<LayerNorm, Linear<50, ModelParallel<Whole>>, CrossEntropy>> {};
struct Recurrent : Sequential<Sequence<5, 4>, Lstm<8>, Gru<8>, LastPosition, Linear<4>, CrossEntropy> {};
struct Enlarged : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Conv<4, 5, Pad<2>>, Tanh,
                             ConvTranspose<4, 4, Stride<2>, Pad<1>>, Linear<4>, CrossEntropy> {};
struct Sent
    : Sequential<Vector<64>, Linear<64, SendFactors>, Relu, Linear<32, SendCheapest>, Relu, Linear<4>, CrossEntropy> {};
struct Mixed
    : Sequential<Vector<20>, Linear<24, ModelParallel<SplitCols>>, Relu, Linear<16, ModelParallel<SplitRows>>, Relu,
                 Linear<8, ModelParallel<SplitBatch>>, Relu, Linear<4, ModelParallel<Whole>>, CrossEntropy> {};

struct Clipped : Adam {
  static constexpr float clip_norm = 1;
};

template <class Net, class... Policies> struct Of : Plan<Net, Batch<24>, MicroBatches<12>, Policies...> {};
template <class Net, class... Policies> struct Bare : Plan<Net, Batch<24>, Policies...> {};
template <class Net, class... Policies> struct Staged : Plan<Net, Batch<32>, MicroBatches<32>, Policies...> {};
using Replicas = DataParallel<Sync>;

/// Calls f(name, meta::type<P>) for every plan.
template <class F> void each_split(F f) {
  f("plain", meta::type<Bare<Mlp>>{});
  f("columns", meta::type<Bare<Mlp, ModelParallel<SplitCols>>>{});
  f("columns_4", meta::type<Bare<Mlp, ModelParallel<SplitCols, Ways<4>>>>{});
  f("rows", meta::type<Bare<Mlp, ModelParallel<SplitRows>>>{});
  f("columns_rows", meta::type<Bare<Narrow, ModelParallel<SplitColsRows>>>{});
  f("batch", meta::type<Of<Mlp, ModelParallel<SplitBatch>>>{});
  f("each_layer", meta::type<Of<Mixed, Replicas>>{});
  f("input_gradient", meta::type<Bare<Regression, ModelParallel<SplitRows>, InputGradient>>{});
  f("columns_by_data", meta::type<Of<Mlp, Replicas, ModelParallel<SplitCols>>>{});
  f("rows_by_data", meta::type<Of<Regression, Replicas, ModelParallel<SplitRows>, Momentum>>{});
  f("one_weird_trick", meta::type<Of<Lenet, Replicas, OneWeirdTrick<2>, Momentum>>{});
  f("one_weird_trick_4", meta::type<Of<Lenet, OneWeirdTrick<4>, AdamW>>{});
  f("channels", meta::type<Bare<Lenet, ModelParallel<SplitCols>>>{});
  f("input_channels", meta::type<Bare<Lenet, ModelParallel<SplitColsRows>>>{});
  f("groups", meta::type<Of<Grouped, Replicas>>{});
  f("norms_columns", meta::type<Of<Norms, Replicas, ModelParallel<SplitCols>, Momentum>>{});
  f("layers_columns", meta::type<Of<Layers, Replicas, ModelParallel<SplitCols>>>{});
  f("paths_columns", meta::type<Of<Paths, Replicas, ModelParallel<SplitCols>>>{});
  f("deep_columns", meta::type<Bare<Deep, ModelParallel<SplitCols>>>{});
  f("unequal_columns_rows", meta::type<Of<Mlp, Replicas, ModelParallel<SplitColsRows, Ways<3>>>>{});
  f("unequal_channels", meta::type<Of<Norms, Replicas, ModelParallel<SplitCols, Ways<3>>>>{});
  f("unequal_micro_batches", meta::type<Of<Mixed, Replicas, ModelParallel<SplitBatch, Ways<5>>>>{});
  f("mesh", meta::type<Of<Mlp, Mesh<Data<2>, Model<2>>, ModelParallel<SplitColsRows>>>{});
  f("transformer_columns_rows", meta::type<Of<Transformer, Replicas, ModelParallel<SplitColsRows>, AdamW>>{});
  f("sequence_parallel",
    meta::type<Of<Transformer, Replicas, ModelParallel<SplitColsRows>, SequenceParallel, AdamW>>{});
  f("positions", meta::type<Of<Transformer, Replicas, ModelParallel<SplitPositions>, AdamW>>{});
  f("columns_positions",
    meta::type<Of<FourHeads, ModelParallel<SplitAlong<SplitColsRows, SplitPositions>, Ways<2, 2>>, Momentum>>{});
  f("image_rows", meta::type<Of<Enlarged, Replicas, ModelParallel<SplitPositions>, Momentum>>{});
  f("channels_image_rows",
    meta::type<Of<Enlarged, ModelParallel<SplitAlong<SplitCols, SplitPositions>, Ways<2, 2>>, Momentum>>{});
  f("columns_bf16", meta::type<Bare<Mlp, ModelParallel<SplitCols>, Precision<bf16>>>{});
  f("columns_accumulate", meta::type<Of<Mlp, Replicas, ModelParallel<SplitCols>, Accumulate<3>>>{});
  f("columns_clipped", meta::type<Of<Mlp, Replicas, ModelParallel<SplitCols>, Clipped>>{});
}
template <class F> void each_pipeline(F f) {
  f("stages", meta::type<Staged<Lenet, DataParallel<Sync>, ModelParallel<SplitLayers<2>>>>{});
  f("stages_gpipe_columns",
    meta::type<Staged<Mlp, Replicas, ModelParallel<SplitLayers<2, GPipe>>, ModelParallel<SplitCols>, Adam>>{});
  f("stages_recurrent", meta::type<Staged<Recurrent, ModelParallel<SplitLayers<2>>>>{});
  f("stages_interleaved_bf16", meta::type<Staged<Deep, DataParallel<Sync, Zero<1>>, Precision<bf16>,
                                                 ModelParallel<SplitLayers<2, Interleaved<2>>>, Momentum>>{});
}
template <class F> void each_sum(F f) {
  f("data", meta::type<Of<Mlp, Replicas>>{});
  f("blocks_columns_rows", meta::type<Of<Mlp, Replicas, Blocks<4>, ModelParallel<SplitColsRows, Ways<4>>, Momentum>>{});
  f("data_fastest", meta::type<Of<Mlp, Replicas, Fastest>>{});
  f("data_f64", meta::type<Of<Mlp, Replicas, Precision<f64>, Momentum>>{});
  f("data_bf16", meta::type<Of<Mlp, Replicas, Precision<bf16>, Nesterov>>{});
  f("data_tf32", meta::type<Of<Mlp, Replicas, Precision<tf32>, RmsProp>>{});
  f("data_fp8", meta::type<Of<Mlp, Replicas, Precision<fp8>, Adam>>{});
  f("data_fastest_bf16", meta::type<Of<Mlp, Replicas, Fastest, Precision<bf16>>>{});
  f("data_usual_micro_batches", meta::type<Bare<Mlp, Replicas, Adagrad>>{});
  f("data_accumulate", meta::type<Of<Mlp, Replicas, Accumulate<3>>>{});
  f("data_buckets", meta::type<Of<Mlp, Replicas, Buckets<1024>>>{});
  f("data_one_bucket", meta::type<Of<Lenet, Replicas, Buckets<25_MiB>, Momentum>>{});
  f("data_clipped", meta::type<Of<Mlp, Replicas, Clipped>>{});
  f("data_clipped_bf16", meta::type<Of<Lenet, Replicas, Clipped, Precision<bf16>>>{});
  f("data_lenet", meta::type<Of<Lenet, Replicas, Momentum>>{});
  f("data_norms", meta::type<Of<Norms, Replicas, Momentum>>{});
  f("data_norms_bf16", meta::type<Of<Norms, Replicas, Precision<bf16>>>{});
  f("data_layers", meta::type<Of<Layers, Replicas>>{});
  f("data_paths", meta::type<Of<Paths, Replicas>>{});
  f("data_deep", meta::type<Of<Deep, Replicas>>{});
  f("data_regression", meta::type<Of<Regression, Replicas>>{});
  f("data_words", meta::type<Of<Words, Replicas>>{});
  f("data_tokens", meta::type<Of<Tokens, Replicas>>{});
  f("class_parts", meta::type<Of<ManyClasses, Replicas, ModelParallel<SplitCols, Ways<4>>>>{});
  f("two_axes", meta::type<Of<Mlp, Replicas, ModelParallel<SplitAlong<SplitColsRows, SplitRowsCols>, Ways<2, 2>>>>{});
  f("recomputed", meta::type<Of<Recomputed, Replicas, ModelParallel<SplitColsRows>>>{});
  f("recomputed_zero_3", meta::type<Of<Recomputed, DataParallel<Sync, Zero<3>>, Adam>>{});
  f("zero_3_clipped", meta::type<Of<Mlp, DataParallel<Sync, Zero<3>>, Clipped>>{});
  f("data_tied", meta::type<Of<OneTable, Replicas, Precision<bf16>>>{});
  f("tied_zero_3", meta::type<Of<OneTable, DataParallel<Sync, Zero<3>>, Adam>>{});
  f("data_factors", meta::type<Of<Sent, Replicas>>{});
  f("data_zero", meta::type<Of<Mlp, DataParallel<Sync, Zero<1>>, Adam>>{});
  f("data_zero_bf16", meta::type<Of<Lenet, DataParallel<Sync, Zero<1>>, Precision<bf16>, Momentum>>{});
  f("columns_zero", meta::type<Of<Mlp, DataParallel<Sync, Zero<1>>, ModelParallel<SplitCols>, Adam>>{});
  f("data_zero_2", meta::type<Of<Lenet, DataParallel<Sync, Zero<2>>, Precision<bf16>, Adam>>{});
  f("ghost_norms", meta::type<Of<Ghosts, Replicas, Accumulate<2>, AdamW>>{});
  f("zero_2_accumulate", meta::type<Of<Mlp, DataParallel<Sync, Zero<2>>, Accumulate<3>, Adam>>{});
  f("columns_zero_3",
    meta::type<Of<Mlp, DataParallel<Sync, Zero<3>>, ModelParallel<SplitCols>, Precision<bf16>, Adam>>{});
  f("ring", meta::type<Of<Mlp, Replicas, Fastest, ReduceBy<Ring>>>{});
  f("tree", meta::type<Of<Mlp, Replicas, Fastest, ReduceBy<Tree>>>{});
  f("halving_doubling", meta::type<Of<Mlp, Replicas, Fastest, ReduceBy<HalvingDoubling>>>{});
  f("hierarchical", meta::type<Of<Mlp, Replicas, Fastest, ReduceBy<Hierarchical<2>>>>{});
  f("auto_route", meta::type<Of<Mlp, Replicas, Fastest, ReduceBy<Auto>>>{});
  f("compress_bf16", meta::type<Of<Mlp, Replicas, Fastest, Compress<bf16>>>{});
  f("compress_int8", meta::type<Of<Mlp, Replicas, Fastest, Compress<Int8>>>{});
  f("compress_one_bit", meta::type<Of<Mlp, Replicas, Fastest, Compress<OneBit>>>{});
  f("compress_top_k", meta::type<Of<Mlp, Replicas, Fastest, Compress<TopK<10>, NoFeedback>>>{});
  f("workspace", meta::type<Of<Mlp, Replicas, Fastest, Workspace<4_MiB>>>{});
}
template <class F> void each_agreement(F f) {
  f("server", meta::type<Of<Mlp, Replicas, Shards<1>>>{});
  f("spares", meta::type<Of<Mlp, DataParallel<Sync, Spares<1>>>>{});
  f("async", meta::type<Bare<Mlp, DataParallel<Async>, Shards<2>, Momentum>>{});
  f("async_columns", meta::type<Bare<Mlp, DataParallel<Async>, ModelParallel<SplitCols>>>{});
  f("async_compressed", meta::type<Bare<Mlp, DataParallel<Async>, Compress<Int8>>>{});
  f("async_words", meta::type<Bare<Words, DataParallel<Async>, Shards<2>>>{});
  f("async_uneven_shards", meta::type<Bare<Mlp, DataParallel<Async>, Compress<Int8>, Shards<5>>>{});
  f("stale", meta::type<Bare<Mlp, DataParallel<StaleSynchronous<2>>, Precision<bf16>>>{});
  f("downpour", meta::type<Bare<Mlp, DataParallel<Downpour<2, 3>>, Adagrad>>{});
  f("local_sgd", meta::type<Of<Mlp, DataParallel<LocalSGD<4>>, Momentum>>{});
  f("elastic_averaging", meta::type<Bare<Mlp, DataParallel<ElasticAveraging<4, 20>>, Accumulate<2>>>{});
}

/// Of these, the ones that planted.sh looks at.
template <class F> void few(F f) {
  f("columns_by_data", meta::type<Of<Mlp, Replicas, ModelParallel<SplitCols>>>{});
  f("data_deep", meta::type<Of<Deep, Replicas>>{});
  f("data_zero", meta::type<Of<Mlp, DataParallel<Sync, Zero<1>>, Adam>>{});
  f("data_zero_bf16", meta::type<Of<Lenet, DataParallel<Sync, Zero<1>>, Precision<bf16>, Momentum>>{});
  f("columns_zero", meta::type<Of<Mlp, DataParallel<Sync, Zero<1>>, ModelParallel<SplitCols>, Adam>>{});
  f("ring", meta::type<Of<Mlp, Replicas, Fastest, ReduceBy<Ring>>>{});
}

}  // namespace golden
