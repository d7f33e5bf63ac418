// backend/gpu/kernels/warpgroups.cpp - products by warpgroups in each of their tiles against their definition in f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/convolve.hpp>
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/layer/activation.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = backend::gpu;

namespace {

template <class Case, gpu::GroupTile How, int Splits = 1> void put(auto const& q, typename Case::Args const& args) {
  using K = gpu::GroupContract<Case, float, How, Splits>;
  auto* const parts = reinterpret_cast<float*>(q.workspace);
  gpu::Extents<Case> const size(args.slices);
  q.template launch<K>(gpu::blocks_for(size.m, K::BM) * gpu::blocks_for(size.n, K::BN) * Splits,
                       {args, parts, 0, args.slices});
  if constexpr (Splits > 1) q.template launch<gpu::Join<Case, float, Splits>>(4, {args, parts, 0, args.slices});
}

/// The three products of a layer in one tile: rows and columns that fill no tile, k that fills no tile of k.
template <gpu::GroupTile How, int Splits, class T, int M, int N, int K> void in_tile(double tolerance) {
  using Op = op::Product<N>;
  static constexpr op::Local l = local<Op>(M, Shape(K));
  Tensors<Op, l, double> oracle;
  Tensors<Op, l, T> tried;
  auto o = oracle.operands();
  auto t = tried.operands();
  Machine machine;
  gpu::Queue<Machine> const q{&machine, machine.stream(), machine.allocate(backend::gpu::workspace_bytes)};
  Op::template forward<l>(Plainly{}, o);
  for (std::size_t e = 0; e < oracle.y.size(); ++e) {
    double const v = oracle.y[e] + oracle.bias[e % N];
    oracle.y[e] = v > 0 ? v : 0;
  }
  put<gpu::ProductForward<l, true, layer::ReluFunction, T>, How, Splits>(q, t);
  machine.finish();
  agree("y", tried.y, oracle.y, tolerance);
  Op::template backward_input<l>(Plainly{}, o);
  put<gpu::ProductInput<l, T>, How, Splits>(q, t);
  machine.finish();
  agree("dx", tried.dx, oracle.dx, tolerance);
  Op::template backward_weight<l>(Plainly{}, o);
  put<gpu::ProductWeight<l, T>, How, Splits>(q, gpu::one_slice(t));
  machine.finish();
  agree("dw", tried.dw0, oracle.dw0, 1e-5);
}

template <gpu::GroupTile How> void all() {
  in_tile<How, 1, bf16, 64, 64, 64>(1e-2);
  in_tile<How, 1, bf16, 72, 136, 200>(1e-2);
  in_tile<How, 1, f16, 328, 264, 136>(2e-3);
  in_tile<How, 4, bf16, 136, 72, 328>(1e-2);  // the last part of some sums has no terms
}

}  // namespace

TEST_CASE("products by warpgroups: tiles of 64 rows and 64 columns") { all<gpu::GroupTile{64, 64, 4, 3}>(); }
TEST_CASE("products by warpgroups: tiles of 128 rows and 128 columns") { all<gpu::GroupTile{128, 128, 3, 2}>(); }
TEST_CASE("products by warpgroups: tiles of 128 rows and 256 columns") { all<gpu::GroupTile{128, 256, 4, 1}>(); }

TEST_CASE("which products are of warpgroups, and in which tiles") {
  static constexpr op::Local wide{64, 1 << 16, Shape(768), {}, Shape(3072), Shape(768, 3072), {}},
      small{64, 64, Shape(784), {}, Shape(512), Shape(784, 512), {}},
      odd{64, 64, Shape(784), {}, Shape(10), Shape(784, 10), {}};
  using Wide = gpu::ProductForward<wide, false, void, bf16>;
  using Small = gpu::ProductForward<small, false, void, bf16>;
  static_assert(gpu::by_groups<Wide>() && gpu::by_groups<Small>());
  static_assert(!gpu::by_groups<gpu::ProductForward<odd, false, void, bf16>>());
  static_assert(!gpu::by_groups<gpu::ProductForward<wide, false, void, float>>());
  static_assert(!gpu::by_groups<gpu::ProductForward<wide, false, void, fp8>>());
  CHECK(gpu::group_tile<Wide>().columns == 256);
  CHECK(gpu::group_tile<Small>().rows == 64);
  CHECK(gpu::group_splits<Small, float>({64, 64, 4, 3}, 1 << 20) == 4);
  static constexpr op::Local tall{1 << 16, 1 << 16, Shape(768), {}, Shape(3072), Shape(768, 3072), {}};
  CHECK(gpu::group_tile<gpu::ProductWeight<tall, bf16>>().columns == 256);  // 72 of them, at twice the speed of 144
  CHECK(!gpu::better_by_groups<Small>());
}

TEST_CASE("convolutions by warpgroups: padding, dilation, terms that fill no piece, several images") {
  // in -> out channels, extents: rows of whole pieces
  using Same = op::Convolve<8, 5, 1, 2>;
  static constexpr op::Local l = local<Same>(5, Shape(3, 16, 8));
  static_assert(gpu::by_groups<gpu::ConvolveForward<l, 5, 1, 2, 1, false, void, bf16>>() == false, "8 rows");
  using Wide = op::Convolve<72, 5, 1, 2>;
  static constexpr op::Local w = local<Wide>(5, Shape(3, 16, 8));
  static_assert(gpu::by_groups<gpu::ConvolveForward<w, 5, 1, 2, 1, false, void, bf16>>());
  static_assert(gpu::by_groups<gpu::ConvolveWeight<w, 5, 1, 2, 1, bf16>>());
  compare<Wide, w, bf16, true, layer::ReluFunction>(1e-2);
  compare<Wide, w, f16>(2e-3);
  using Many = op::Convolve<64, 3, 1, 0>;  // to 8 columns; 72 channels in
  static constexpr op::Local m = local<Many>(2, Shape(72, 5, 16));
  compare<op::Convolve<64, 5, 1, 2>, local<op::Convolve<64, 5, 1, 2>>(3, Shape(72, 7, 16)), bf16>(1e-2);
  using Dilated = op::Convolve<64, 3, 1, 2, 1, op::Start::He, 2>;
  compare<Dilated, local<Dilated>(2, Shape(64, 6, 16)), bf16, true>(1e-2);
  static_assert(!gpu::by_groups<gpu::ConvolveForward<m, 3, 1, 0, 1, false, void, bf16>>(), "14 columns");
}
#ifndef __CUDACC__
TEST_CASE("a device without warpgroups has the other kernel") {
  using Op = op::Product<136>;
  static constexpr op::Local l = local<Op>(72, Shape(520));
  Tensors<Op, l, double> oracle;
  Tensors<Op, l, bf16> tried;
  auto o = oracle.operands();
  auto t = tried.operands();
  Machine machine;
  machine.warpgroups = false;
  gpu::Queue<Machine> const q{&machine, machine.stream(), machine.allocate(backend::gpu::workspace_bytes)};
  Op::template forward<l>(Plainly{}, o);
  gpu::Kernel<Op>::template forward<l, false, void, bf16>(q, t);
  machine.finish();
  agree("y", tried.y, oracle.y, 1e-2);
}
#endif
TEST_CASE("weights that do not begin on a boundary of 16 bytes give the same bits") {
  using Op = op::Product<72>;
  static constexpr op::Local l = local<Op>(72, Shape(136));
  Tensors<Op, l, bf16> tried[2];
  tried[1].w0.insert(tried[1].w0.begin(), bf16(0.f));
  for (int odd : {0, 1}) {
    auto t = tried[odd].operands();
    t.w0 = tried[odd].w0.data() + odd;
    Machine machine;
    gpu::Queue<Machine> const q{&machine, machine.stream(), machine.allocate(backend::gpu::workspace_bytes)};
    gpu::Kernel<Op>::template forward<l, false, void, bf16>(q, t);
    gpu::Kernel<Op>::template backward_input<l>(q, t);
    machine.finish();
  }
  auto const same = [](Many<bf16> const& a, Many<bf16> const& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(bf16)) == 0;
  };
  CHECK(same(tried[0].y, tried[1].y));
  CHECK(same(tried[0].dx, tried[1].dx));
}
