// benchmarks/gpu.cu - milliseconds on a CUDA device, row by row: training steps of whole plans, and single kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   gpu_steps [--only ROW[,ROW ...]] [--quick] [--side NAME]     one JSON line a row and side; rows that begin so
//   gpu_steps --only mnist.64,G3
//
// gpu_peers.py has the same rows in PyTorch. Without a device: one line, exit code 2; 1 if a row failed.
#include "gpu.hpp"

namespace {

using namespace cleave;
using namespace cleave::backend;
using bench::Bench, bench::check, bench::Machine, bench::Rows;

double gb_per_s(double bytes, double ms) { return bytes / ms * 1e-6; }

/// Beside a row that moves `bytes`: a copy on the device that moves as many, half of them read.
void beside_copy(Rows const& rows, Bench& b, std::string const& row, long bytes, bench::Figure const& ours) {
  rows.tell(row, "cleave", ours, Rows::field("gb_per_s", gb_per_s(static_cast<double>(bytes), ours.ms)));
  long const half = bytes / 2;
  auto* const from = reinterpret_cast<std::byte*>(b.tensor<float>(half / 4 + 1));
  auto* const to = reinterpret_cast<std::byte*>(b.tensor<float>(half / 4 + 1));
  auto const copy = rows.timed(b.q.stream, [&] {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(half), cudaMemcpyDeviceToDevice, b.q.stream), "copy");
  });
  rows.tell(row, "copy", copy, Rows::field("gb_per_s", gb_per_s(static_cast<double>(2 * half), copy.ms)));
}

/// G3: y = gelu(x W + b) and back, as a layer of a transformer has it; `gradients` are the two products alone.
template <int In, int Out> void layer_of(Rows const& rows, std::string const& name) {
  static constexpr int M = 65536;
  static constexpr op::Local product{M, M, Shape(In), {}, Shape(Out), Shape(In, Out), {}},
      map{M, M, Shape(Out), {}, Shape(Out), {}, {}}, bias{M, M, Shape(Out), {}, Shape(Out), Shape(Out), {}};
  using Gelu = layer::GeluFunction;
  using Product = gpu::Kernel<op::Product<Out>>;
  double const flops = 2.0 * M * In * Out;
  auto const rate = [](double flops, double ms) { return Rows::field("tflops", flops / ms * 1e-9); };
  rows.row(name + ".forward", "cleave", [&] {
    Bench b;
    op::Operands<bf16> t;
    t.x = b.tensor<bf16>(long{M} * In);
    t.w0 = b.tensor<bf16>(long{In} * Out, 0.05f);
    t.bias = b.tensor<bf16>(Out);
    t.y = b.tensor<bf16>(long{M} * Out);
    auto const f = rows.timed(b.q.stream, [&] { Product::template forward<product, true, Gelu, bf16>(b.q, t); });
    rows.tell(name + ".forward", "cleave", f, rate(flops, f.ms));
  });
  auto const back = [&](std::string const& row, bool all) {
    rows.row(row, "cleave", [&] {
      Bench b;
      op::Operands<bf16> t, before, beside;
      t.x = b.tensor<bf16>(long{M} * In);
      t.w0 = b.tensor<bf16>(long{In} * Out, 0.05f);
      t.dx = b.tensor<bf16>(long{M} * In);
      t.dw0 = b.tensor<float>(long{In} * Out);
      before.x = b.tensor<bf16>(long{M} * Out);   // x W + b
      before.dy = b.tensor<bf16>(long{M} * Out);  // of y
      before.dx = b.tensor<bf16>(long{M} * Out);
      t.dy = beside.dy = before.dx;
      beside.dw0 = b.tensor<float>(Out);
      auto const f = rows.timed(b.q.stream, [&] {
        if (all) {
          gpu::Kernel<op::Map<Gelu>>::template backward_input<map>(b.q, before);
          gpu::Kernel<op::Bias>::template backward_weight<bias>(b.q, beside);
        }
        Product::template backward_input<product>(b.q, t);
        Product::template backward_weight<product>(b.q, t);
      });
      rows.tell(row, "cleave", f, rate(2 * flops, f.ms));
    });
  };
  back(name + ".backward", true);
  back(name + ".gradients", false);
}

/// G5: one step of AdamW on as many weights as GPT-2 has. Read: w, g, two moments; written: w, two moments, the copy.
template <class T> void update(Rows const& rows, std::string const& row) {
  rows.row(row, "cleave", [&] {
    constexpr long n = 124'000'000;
    using K = gpu::Update<AdamW, T, float>;
    Bench b;
    gpu::Control<float> const control{{}, optim::now<AdamW, float>(1e-3, 0)};
    auto* const there = reinterpret_cast<gpu::Control<float>*>(b.machine.allocate(sizeof control));
    check(cudaMemcpy(there, &control, sizeof control, cudaMemcpyHostToDevice), "copy");
    typename K::Args args{b.tensor<float>(n), nullptr, b.tensor<float>(2 * n, 0), n, n, there, {1, {}}};
    if constexpr (sizeof(T) < sizeof(float)) args.copy = b.tensor<T>(n);
    args.gradient.from[0] = b.tensor<float>(n);
    long const bytes = n * (7 * 4 + (args.copy ? static_cast<long>(sizeof(T)) : 0));
    beside_copy(rows, b, row, bytes, rows.timed(b.q.stream, [&] { gpu::stream<K>(b.q, args); }));
  });
}

/// G7: the sum of `sources` ranks' gradients, in the tree of a run with as many micro-batches.
void sum(Rows const& rows, int sources) {
  std::string const row = "G7.sum." + std::to_string(sources);
  rows.row(row, "cleave", [&] {
    constexpr long n = 1L << 24;
    Bench b;
    gpu::Summands<float> args{b.tensor<float>(n), 1, n, n, sources};
    for (int s = 0; s < sources; ++s) {
      args.from[s] = b.tensor<float>(n);
      for (int left = s + 1; left % 2 == 0; left /= 2) ++args.merges[s];
    }
    beside_copy(rows, b, row, (sources + 1) * n * 4,
                rows.timed(b.q.stream, [&] { gpu::sum_leaves<float, float, false>(b.q, args); }));
  });
}

/// What memory gives: a copy of 256 MiB.
void copy(Rows const& rows) {
  rows.row("smoke.copy", "copy", [&] {
    constexpr long bytes = 256L << 20;
    Bench b;
    auto *const from = b.tensor<float>(bytes / 4), *const to = b.tensor<float>(bytes / 4);
    auto const f = rows.timed(b.q.stream, [&] { b.machine.copy(b.q.stream, to, from, bytes); });
    rows.tell("smoke.copy", "copy", f, Rows::field("gb_per_s", gb_per_s(2.0 * bytes, f.ms)));
  });
}
/// What tensor cores give our own kernels: 8192 x 8192 x 8192 in bf16.
void product(Rows const& rows) {
  rows.row("smoke.product", "cleave", [&] {
    static constexpr int n = 8192;
    static constexpr op::Local l{n, n, Shape(n), {}, Shape(n), Shape(n, n), {}};
    Bench b;
    op::Operands<bf16> t;
    t.x = b.tensor<bf16>(long{n} * n);
    t.w0 = b.tensor<bf16>(long{n} * n, 0.05f);
    t.y = b.tensor<bf16>(long{n} * n);
    auto const f =
        rows.timed(b.q.stream, [&] { gpu::Kernel<op::Product<n>>::template forward<l, false, void, bf16>(b.q, t); });
    rows.tell("smoke.product", "cleave", f, Rows::field("tflops", 2.0 * n * n * n / f.ms * 1e-9));
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::measure("gpu_steps", argc, argv, [](Rows const& rows) {
    copy(rows);
    product(rows);
    bench::dense_nets(rows);
    bench::narrow_nets(rows);
    bench::convolutional_nets(rows);
    bench::many_ranks(rows);
    layer_of<768, 3072>(rows, "G3.768x3072");
    layer_of<3072, 768>(rows, "G3.3072x768");
    update<float>(rows, "G5.adamw.f32");
    update<bf16>(rows, "G5.adamw.bf16");
    for (int sources : {2, 4, 8}) sum(rows, sources);
  });
}
