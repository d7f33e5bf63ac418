// benchmarks/gpu.cu - milliseconds on a CUDA device, row by row: training steps of whole plans, and single kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   gpu_steps [--only ROW[,ROW ...]] [--quick]      one JSON line a row and side; rows that begin so
//   gpu_steps --only mnist.64,G3
//
// gpu_peers.py has the same rows in PyTorch. Without a device: one line, exit code 2; 1 if a row failed.
#include "gpu.hpp"

namespace {

using namespace cleave;
using namespace cleave::backend;
using bench::check, bench::Machine, bench::Rows;

/// Numbers in [-scale, scale): a device that multiplies zeros draws less power, and runs faster than it would.
template <class T> struct Fill : gpu::Each {
  struct Args {
    T* to;
    long n;
    float scale;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long i) {
      auto u = static_cast<std::uint32_t>(i) * 2654435761u;
      u = (u ^ u >> 15) * 2246822519u;
      a.to[i] = static_cast<T>((static_cast<float>((u ^ u >> 13) >> 8) * 0x1p-23f - 1) * a.scale);
    });
  }
};

/// A device, one of its streams, and tensors on it.
struct Bench {
  Machine machine;
  gpu::Queue<Machine> q{&machine, machine.stream(), machine.allocate(schedule::workspace_bytes)};
  template <class T> T* tensor(long n, float scale = 1) {
    auto* const at = reinterpret_cast<T*>(machine.allocate(n * static_cast<long>(sizeof(T))));
    q.template launch<Fill<T>>(gpu::blocks_each(n), {at, n, scale});
    return at;
  }
};

double gb_per_s(double bytes, double ms) { return bytes / ms * 1e-6; }

/// Beside a row that moves `bytes`: a copy on the device that moves as many, half of them read.
void beside_copy(Rows const& rows, Bench& b, std::string const& row, long bytes, bench::Figure const& ours) {
  Rows::tell(row, "cleave", ours, Rows::field("gb_per_s", gb_per_s(static_cast<double>(bytes), ours.ms)));
  long const half = bytes / 2;
  auto* const from = reinterpret_cast<std::byte*>(b.tensor<float>(half / 4 + 1));
  auto* const to = reinterpret_cast<std::byte*>(b.tensor<float>(half / 4 + 1));
  auto const copy = rows.timed(b.q.stream, [&] {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(half), cudaMemcpyDeviceToDevice, b.q.stream), "copy");
  });
  Rows::tell(row, "copy", copy, Rows::field("gb_per_s", gb_per_s(static_cast<double>(2 * half), copy.ms)));
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
    Rows::tell(name + ".forward", "cleave", f, rate(flops, f.ms));
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
      Rows::tell(row, "cleave", f, rate(2 * flops, f.ms));
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
    using K = gpu::SumLeaves<float, float, false>;
    Bench b;
    K::Args args{b.tensor<float>(n), n, sources, {}, {}};
    for (int s = 0; s < sources; ++s) {
      args.from[s] = b.tensor<float>(n);
      for (int left = s + 1; left % 2 == 0; left /= 2) ++args.merges[s];
    }
    beside_copy(rows, b, row, (sources + 1) * n * 4, rows.timed(b.q.stream, [&] { gpu::stream<K>(b.q, args); }));
  });
}

std::string dotted(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

}  // namespace

int main(int argc, char** argv) {
  Rows rows;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (word == "--quick") {
      rows.quick = true;
    } else if (word == "--only" && i + 1 < argc) {
      for (std::string rest = argv[++i]; !rest.empty();) {
        rows.only.push_back(rest.substr(0, rest.find(',')));
        rest.erase(0, rows.only.back().size() + 1);
      }
    } else {
      std::fprintf(stderr, "gpu_steps: no option %s; [--only ROW[,ROW ...]] [--quick]\n", argv[i]);
      return 2;
    }
  }
  try {
    Machine const machine;
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "ask for the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "ask for the runtime's version");
    std::printf("{\"about\": {\"device\": \"%s\", \"driver_cuda\": \"%s\", \"runtime\": \"%s\", \"quick\": %s}}\n",
                machine.title().c_str(), dotted(driver).c_str(), dotted(runtime).c_str(),
                rows.quick ? "true" : "false");
  } catch (Error const& e) {
    std::fprintf(stderr, "gpu_steps: %s\n", e.what());
    return 2;
  }
  bench::dense_nets(rows);
  bench::convolutional_nets(rows);
  layer_of<768, 3072>(rows, "G3.768x3072");
  layer_of<3072, 768>(rows, "G3.3072x768");
  update<float>(rows, "G5.adamw.f32");
  update<bf16>(rows, "G5.adamw.bf16");
  for (int sources : {2, 4, 8}) sum(rows, sources);
  return rows.failed > 0;
}
