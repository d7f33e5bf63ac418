// backend/cuda/cudnn.cu - cuDNN itself: its plans for an H100 anywhere; where there is a GPU, its convolutions beside
// our own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define DOCTEST_CONFIG_IMPLEMENT
#include "library.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace cudnn = backend::cudnn;
namespace gpu = backend::gpu;
using cudnn::Api;
using Helped = cudnn::With<backend::cuda::Machine, Api>;

struct Net : Sequential<Image<4, 16, 16>, Conv<32, 3, Pad<1>>, Relu, Conv<32, 3, Stride<2>, Pad<1>>, Tanh,
                        Conv<32, 1, Groups<2>>, Relu, Linear<8>, CrossEntropy> {};
constexpr long roomy = 64L << 20;
template <class... Ps> struct Of : Plan<Net, Batch<64>, DataParallel<Sync>, Momentum, Fastest, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

namespace {

/// What cuDNN 9.19 says of an H100, so that it can be asked for plans where there is none.
char const* const h100 =
    R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536)"
    R"(, "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152)"
    R"(, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024)"
    R"(, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024)"
    R"(, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1)"
    R"(, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "l2CacheSize": 52428800)"
    R"(, "deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0)"
    R"(, "totalGlobalMem": 85017493504})";

/// Every format, way and end is one that cuDNN has plans for, in the workspace that it may use; each is made again of
/// what is kept of it. What it never makes it does not make.
void described() {
  using gpu::Number, cudnn::Pass;
  using enum gpu::End;
  Api::Handle handle;
  if (int const e = Api::create(&handle, h100)) {
    std::printf("cuDNN %s does not take the H100 of another version: %s\n", Api::version().c_str(),
                Api::text(e).c_str());
    return;
  }
  int plans = 0;
  auto const asked = [&](gpu::Convolution const& c, std::size_t room) {
    cudnn::Call const call = cudnn::call_for(c, {nullptr, nullptr, nullptr, nullptr});
    std::string const what = cudnn::text(c, call) + " in " + std::to_string(room) + " bytes";
    Api::Described d;
    gpu::Suggested some;
    int e = Api::describe(call, &d);
    check(e == 0, "describe " + what + ": " + Api::text(e));
    e = Api::suggest(handle, d, call, room, &some);
    check(e == 0, "ask for " + what + ": " + Api::text(e));
    bool whole = c.end == None || c.end == Other;
    for (gpu::Algorithm const& a : some.algorithms) {
      std::size_t bytes = 0;
      e = Api::check(handle, d, a, &bytes);
      check(e == 0 && bytes <= room, "plan of " + what + ": " + Api::text(e));
      whole = whole || cudnn::Kind::ends(c, a);
      ++plans;
    }
    check(cudnn::Kind::lacks(c).empty() == !some.algorithms.empty(), "plans for " + what);
    check(whole || !gpu::has_bias(c.end), "the end of " + what);
    check(d.plans.size() == some.algorithms.size(), "plans are there once");
    if (!some.algorithms.empty()) Api::keep(d, some.algorithms[0]);
    check(d.plans.size() <= 1, "what is kept");
    Api::forget(d);
    return some;
  };
  for (Number of : {Number::F32, Number::Tf32, Number::Bf16}) {
    for (std::size_t room : {std::size_t{backend::gpu::workspace_bytes}, std::size_t{roomy}}) {
      for (int groups : {1, 2}) {
        for (gpu::End end : {None, Bias, Relu, BiasRelu, Other}) {
          asked({Pass::Forward, 32, 64, 16, 16, 64, 3, 1, 1, 1, groups, false, end, of}, room);
        }
        asked({Pass::Input, 32, 64, 17, 15, 64, 5, 2, 2, 1, groups, false, None, of}, room);
        for (bool adds : {false, true})
          asked({Pass::Weight, 32, 64, 16, 16, 64, 3, 1, 1, 1, groups, adds, None, of}, room);
      }
    }
  }
  // f32 is not multiplied as tf32, which takes tensor cores where it can
  gpu::Convolution c{Pass::Forward, 32, 64, 16, 16, 64, 3, 1, 1, 1, 1, false, None, Number::F32};
  auto const f32 = asked(c, roomy).algorithms;
  c.of = Number::Tf32;
  auto const tf32 = asked(c, roomy).algorithms;
  check(std::find(f32.begin(), f32.end(), tf32.at(0)) == f32.end(), "f32 by an engine of tf32");
  std::printf("cuDNN %s has %d plans for an H100\n", Api::version().c_str(), plans);
  Api::destroy(handle);
}

template <class T, class Op, bool WithBias, class Map>
void convolves(double tolerance, gpu::KernelSource source = gpu::KernelSource::Library) {
  constexpr op::Local all = local<Op>(32, Shape(32, 17, 15)), slice{16, 32, all.x, {}, all.y, all.w0, {}};
  cudnn::Choices choices("");
  Helped machine(Api{}, choices, source);
  as_own<Op, all, slice, T, WithBias, Map>(machine, roomy, tolerance);
  if (source == gpu::KernelSource::Library) check(machine.listing().find(": cuDNN") != std::string::npos, "cuDNN has made nothing");
}

template <class P> void trains(double tolerance) {
  cudnn::Choices choices("");
  testing::trains<P>(std::make_unique<Helped>(Api{}, choices, cudnn::KernelSource::Library), tolerance);
}

}  // namespace

int main() {
  check(cudnnGetVersion() / 10000 == CUDNN_MAJOR,
        "built with cuDNN " + std::to_string(CUDNN_VERSION) + ", found " + std::to_string(cudnnGetVersion()));
  described();
  if (backend::cuda::devices() == 0) {
    Api::Handle handle;
    int const e = Api::create(&handle);
    std::printf("cuDNN %s without a GPU: begin: %s\n", Api::version().c_str(), Api::text(e).c_str());
    Api::destroy(handle);
    std::printf("%s\n", wrong ? "wrong" : "skipped: there is no GPU; what is asked of the library can be planned");
    return wrong ? 1 : 77;
  }
  try {
    using Padded = op::Convolve<64, 3, 1, 1>;
    convolves<float, Padded, true, layer::ReluFunction>(1e-4);  // Winograd's small tiles
    convolves<float, op::Convolve<32, 5, 2, 2, 2>, false, layer::TanhFunction>(1e-4);
    convolves<tf32, Padded, true, void>(1e-2);
    convolves<bf16, Padded, true, layer::ReluFunction>(1e-2);
    convolves<bf16, op::Convolve<32, 1>, false, layer::TanhFunction>(2e-2, gpu::KernelSource::Measured);
    trains<Of<>>(1e-3);
    trains<Of<Precision<bf16>>>(5e-2);
  } catch (Error const& e) {
    check(false, e.what());
  }
  std::printf("%s\n", wrong ? "wrong" : "cuDNN's convolutions are those of our own kernels");
  return wrong ? 1 : 0;
}
