// plan/policies.hpp - the words of a plan. Each says one kind of thing; their order never matters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../optim/adaptive.hpp"
#include "../optim/sgd.hpp"
#include "../place/split.hpp"
#include "../tensor/number.hpp"

namespace cleave {

namespace plan {
struct BatchKind {};
struct MicroBatchKind {};
struct DataKind {};
struct ModelKind {};
struct MeshKind {};
struct PrecisionKind {};
struct SumKind {};
struct ConversionKind {};
struct InputKind {};
}  // namespace plan

/// The samples of one step, over all replicas.
template <int Samples> struct Batch {
  using kind = plan::BatchKind;
  static constexpr int samples = Samples;
};

/// Into how many slices the batch is cut: the unit that replicas share out and kernels are specialised on, and the
/// leaves of the ordered sum. Unless said: where the batch is cut over ranks, 8 or the largest power of two below it
/// that divides the batch; else 1.
template <int Count> struct MicroBatches {
  using kind = plan::MicroBatchKind;
  static constexpr int count = Count;
};

/// All replicas sum their gradients before any of them steps: every replica holds the same weights after every step.
struct Sync {
  using agreement_kind = plan::DataKind;
};

/// The batch is cut over replicas, as many as the run has.
template <class Agreement> struct DataParallel {
  using kind = plan::DataKind;
  using agreement = Agreement;
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
  static constexpr int ways = N;
};

/// The mesh spelled out: `Mesh<Data<2>, Model<4>>` runs on exactly 8 ranks.
template <int N> struct Data { static constexpr int replicas = N; };
template <int N> struct Model { static constexpr int ways = N; };
template <class D, class M = Model<1>> struct Mesh {
  using kind = plan::MeshKind;
  static constexpr int replicas = D::replicas, ways = M::ways;
};

/// f32, f64, or bf16: storage and messages in bf16, sums and the weights that are stepped in f32.
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

/// `Conversions<Written>`: a partial sum is taken only where the model says AllReduce; anything else does not compile.
struct Written {};
template <class How> struct Conversions { using kind = plan::ConversionKind; };

/// The gradient of the model's input is wanted too.
struct InputGradient {
  using kind = plan::InputKind;
};

}  // namespace cleave
