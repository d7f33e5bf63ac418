// backend/cudnn/convolutions.hpp - convolutions by cuDNN where it was measured to be faster than our kernels on this device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../gpu/tuning/learned.hpp"
#include "call.hpp"

namespace cleave::backend::cudnn {

using gpu::Algorithm, gpu::KernelSource;

/// An algorithm's first word is an engine, with this bit if it leaves the epilogue to one of our kernels.
constexpr std::uint64_t without_end = std::uint64_t{1} << 63;

struct Kind {
  using Task = Convolution;
  using Call = cudnn::Call;
  static constexpr gpu::Words words{"convolutions", "cuDNN", "cudnn", "CLEAVE_CONVOLUTIONS"};
  static Call call_for(Task const& c, gpu::Places const& at) { return cudnn::call_for(c, at); }
  static Operands operands_for(Task const& c, gpu::Places const& at) { return cudnn::operands_for(c, at); }
  static std::string text(Task const& c, Call const& call) { return cudnn::text(c, call); }
  static bool ends(Task const& c, Algorithm const& a) {
    return c.end == gpu::End::None || (!a.empty() && (a[0] & without_end) == 0);
  }
  /// The reason why it never computes a task: for dw in f32 of bf16 its heuristics propose engines that then do not
  /// run.
  static std::string lacks(Task const& c) {
    bool const mixed = c.pass == Pass::Weight && gpu::is_half(c.of);
    return mixed ? "cuDNN makes no f32 gradient of " + gpu::text(c.of) : "";
  }
  static bool suits(gpu::Places const&) { return true; }
};

struct Choices : gpu::Choices {
  explicit Choices(std::string file) : gpu::Choices(std::move(file), Kind::words) {}
};
/// `Api` is cuDNN's functions (api.hpp), or a stand-in for tests.
template <class Api> using Convolutions = gpu::Learned<Kind, Api>;

/// A machine with such convolutions.
template <class Base, class Api> class With : public gpu::WithLibrary<Base, Kind, Api> {
 public:
  using gpu::WithLibrary<Base, Kind, Api>::WithLibrary;
  Convolutions<Api>& convolutions() { return this->learned_; }
};

}  // namespace cleave::backend::cudnn
