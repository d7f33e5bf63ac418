// backend/cuda/resources.cu - kernels beside what one would write by hand; resources.sh compares what ptxas makes of
// both.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/cuda/device.hpp>
#include <cleave/backend/gpu/kernels/clip.hpp>
#include <cleave/backend/gpu/kernels/convolve.hpp>
#include <cleave/backend/gpu/kernels/linked.hpp>
#include <cleave/backend/gpu/kernels/move.hpp>
#include <cleave/backend/gpu/kernels/norms.hpp>
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/backend/gpu/kernels/top_k.hpp>
#include <cleave/backend/gpu/kernels/update.hpp>
#include <cleave/layer/activation.hpp>
#include <cleave/op/dropout.hpp>
#include <cleave/optim/adaptive.hpp>
#include <cleave/optim/sgd.hpp>

using namespace cleave;
using namespace cleave::backend;

template <class K> void use() { cuda::entry<K><<<1, K::threads>>>(typename K::Args{}); }

// --- pairs: entry<K> and its twin -----------------------------------------------------------------------------------

constexpr op::Local rows_of(int count, int columns) {
  return {count, count, Shape(columns), {}, Shape(columns), Shape(columns), Shape(columns)};
}
using Norm = gpu::NormaliseRows<op::LayerNorm, rows_of(64, 768), true, float>;
__global__ void __launch_bounds__(128, 1) twin_NormaliseRows(__grid_constant__ op::Operands<float> const t) {
  long const b = long{static_cast<int>(blockIdx.x)} * 4 + static_cast<int>(threadIdx.x) / 32;
  int const me = static_cast<int>(threadIdx.x) % 32;
  bool const there = b < 64;
  float const* const x = t.x + (there ? b : 0) * 768;
  float sum = 0, squares = 0;
  for (long i = me; i < 768; i += 32) sum += x[i];
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  float const mean = sum / 768.0f;
  for (long i = me; i < 768; i += 32) squares += (x[i] - mean) * (x[i] - mean);
  for (int mask = 16; mask > 0; mask /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, mask);
  float const inverse = 1.0f / sqrtf(squares / 768.0f + 1e-5f);
  if (!there) return;
  if (me == 0) t.aux[2 * b] = mean, t.aux[2 * b + 1] = inverse;
  for (long i = me; i < 768; i += 32) t.y[b * 768 + i] = (x[i] - mean) * inverse * t.w0[i] + t.w1[i];
}

using Sums = gpu::SumAcross<gpu::BiasSum<op::Local{48, 48, Shape(512), {}, Shape(512), Shape(512), {}}, float>>;
__global__ void __launch_bounds__(256, 1) twin_SumAcross(__grid_constant__ Sums::Args const a) {
  gpu::Summing<float> const& t = a.of;
  __shared__ float2 line[256];
  int const o = static_cast<int>(blockIdx.x) * 32 + static_cast<int>(threadIdx.x) % 32,
            warp = static_cast<int>(threadIdx.x) / 32;
  std::uint64_t merges = t.to.merges;
  int branch = t.to.depth;
  for (long begin = 0, end = a.slices * 48L; begin < end; begin += 48) {
    float2 sum{0, 0};
    for (long r = begin + warp; o < 512 && r < begin + 48; r += 8) {
      sum.x += t.dy[r * 512 + o];
      sum.y += 0.0f;
    }
    if (begin > 0) __syncthreads();
    line[threadIdx.x] = sum;
    __syncthreads();
    auto const at = [&](int b) {
      return b < t.to.dw0.few ? t.to.dw0.first + b * t.to.dw0.apart
                              : t.to.dw0.other + (b - t.to.dw0.few) * t.to.dw0.other_apart;
    };
    if (warp != 0 || o >= 512) continue;
    for (int w = 1; w < 8; ++w) {
      sum.x += line[w * 32 + static_cast<int>(threadIdx.x)].x;
      sum.y += line[w * 32 + static_cast<int>(threadIdx.x)].y;
    }
    for (; merges & 1; merges >>= 1) sum.x = at(--branch)[o] + sum.x;
    at(branch)[o] = sum.x;
    merges >>= 1;
    ++branch;
  }
}

using Narrow = gpu::CopyLines<bf16, float>;
__global__ void __launch_bounds__(256, 1) twin_CopyLines(__grid_constant__ Narrow::Args const a) {
  long const step = 256L * gridDim.x, n = a.of.blocks * a.of.lines * a.of.width;
  for (long e = 256L * blockIdx.x + threadIdx.x; e < n; e += step) {
    long const all = e / a.of.width, block = all / a.of.lines, line = all % a.of.lines, i = e % a.of.width;
    a.to[block * a.of.to_block + line * a.of.to_apart + i] =
        static_cast<bf16>(a.from[block * a.of.from_block + line * a.of.from_apart + i]);
  }
}

// --- no spills: the widest of each kind -----------------------------------------------------------------------------

struct ClippedAdam : Adam {
  static constexpr float clip_norm = 1;
};
template <class T> void products() {
  constexpr op::Local l{256, 256, Shape(768), {}, Shape(3072), Shape(768, 3072), {}};
  constexpr op::Local odd{31, 31, Shape(77), {}, Shape(33), Shape(77, 33), {}};
  using A = tensor::accumulate_t<T>;
  using Tile = gpu::tile_of<T>;
  use<gpu::Contract<gpu::ProductForward<l, true, layer::GeluFunction, T>, A, Tile, 1>>();
  use<gpu::Contract<gpu::ProductInput<l, T>, A, Tile, 1>>();
  use<gpu::Contract<gpu::ProductWeight<l, T>, A, Tile, 1>>();
  use<gpu::Contract<gpu::ProductForward<odd, true, layer::TanhFunction, T>, A, Tile, 1>>();
  use<gpu::Contract<gpu::ProductWeight<odd, T>, A, Tile, 1>>();
  constexpr op::Local c{64, 64, Shape(64, 16, 16), {}, Shape(64, 16, 16), Shape(64, 64, 5, 5), {}};
  use<gpu::Contract<gpu::ConvolveForward<c, 5, 1, 2, 1, true, layer::ReluFunction, T>, A, Tile, 1>>();
  use<gpu::Contract<gpu::ConvolveInput<c, 5, 1, 2, 1, T>, A, Tile, 1>>();
  use<gpu::Contract<gpu::ConvolveWeight<c, 5, 1, 2, 1, T>, A, Tile, 4>>();
  if constexpr (std::is_same_v<T, bf16>) {
    constexpr op::Local dense{4096, 4096, Shape(768), {}, Shape(3072), Shape(768, 3072), {}};
    use<gpu::GroupContract<gpu::ProductForward<dense, true, layer::GeluFunction, T>, A, gpu::GroupTile{128, 256, 4, 1},
                           1>>();
    use<gpu::GroupContract<gpu::ProductInput<dense, T>, A, gpu::GroupTile{128, 128, 3, 2}, 1>>();
    use<gpu::GroupContract<gpu::ProductWeight<dense, T>, A, gpu::GroupTile{64, 64, 4, 3}, 4>>();
    use<gpu::GroupContract<gpu::ConvolveForward<c, 5, 1, 2, 1, true, layer::ReluFunction, T>, A,
                           gpu::GroupTile{64, 128, 3, 3}, 1>>();
    use<gpu::GroupContract<gpu::ConvolveInput<c, 5, 1, 2, 1, T>, A, gpu::GroupTile{64, 128, 3, 3}, 1>>();
    use<gpu::GroupContract<gpu::ConvolveWeight<c, 5, 1, 2, 1, T>, A, gpu::GroupTile{64, 128, 3, 3}, 4>>();
  }
  if constexpr (std::is_same_v<T, fp8>) use<gpu::Peaks<T>>();
  if constexpr (!std::is_same_v<T, fp8>) {
    constexpr op::Local in{256, 256, Shape(77), {}, Shape(128), Shape(77, 128), {}};
    constexpr op::Local on{256, 256, Shape(128), {}, Shape(128), Shape(128, 128), {}};
    constexpr op::Local out{256, 256, Shape(128), {}, Shape(10), Shape(128, 10), {}};
    using Drop = op::Tail<false, op::Made<op::Drop<20>, rows_of(256, 128)>>;
    using First = gpu::ProductForward<in, true, layer::ReluFunction, T>;
    using Second = gpu::ProductForward<on, true, layer::GeluFunction, T, Drop>;
    use<gpu::Linked<First, Second, gpu::ProductForward<out, true, void, T>>>();
    use<gpu::Linked<gpu::ProductInput<out, T>, gpu::ProductInput<on, T>, gpu::ProductInput<in, T>>>();
  }
  if constexpr (std::is_same_v<T, tf32> || std::is_same_v<T, fp8>) return;  // the others are those of f32 and bf16
  use<gpu::SumLeaves<T, T, sizeof(T) == 2>>();
  use<gpu::SumLines<T>>();
  use<gpu::LossOfSlice<gpu::SoftmaxRow<op::SoftmaxCrossEntropy>, rows_of(128, 10), true, T>>();
  use<gpu::LossOfSlice<gpu::SoftmaxRow<op::SoftmaxCrossEntropy>, rows_of(4, 5000), true, T>>();
  use<gpu::LossOfRows<gpu::SquaredRow, rows_of(1024, 10), true, T>>();
  use<gpu::LossOfRows<gpu::SoftmaxRow<op::SoftmaxCrossEntropy>, rows_of(1024, 10), true, T>>();
  use<gpu::Summed<gpu::BatchSum<c, T>>>();
  use<gpu::JoinSums<gpu::BatchSum<c, T>>>();
  use<gpu::Update<Momentum, T, A>>();
  use<gpu::Update<Adam, T, T>>();
  use<gpu::Update<ClippedAdam, T, A, gpu::Scaled<A, A>>>();
  use<gpu::Squares<T>>();
  use<gpu::AddDigits<tensor::accumulate_t<T>>>();
  use<gpu::GradientScale<ClippedAdam, A>>();
  use<gpu::Keep<T, A>>();
  use<gpu::Copy<T, A>>();
  use<gpu::AddTo<T, false>>();
  use<gpu::AddValues<T>>();
  use<gpu::Take<T, T, sizeof(T) == 2>>();
  use<gpu::Encode<Int8, A>>();
  use<gpu::Encode<OneBit, A>>();
  use<gpu::Decode<Int8, A>>();
  use<gpu::Decode<OneBit, A>>();
  use<gpu::CountSizes<A>>();
  use<gpu::WritePairs<A>>();
  use<gpu::AddPairs<A>>();
}
void all() {
  use<Norm>();
  use<Sums>();
  use<Narrow>();
  products<float>();
  products<bf16>();
  products<tf32>();
  products<fp8>();
}
