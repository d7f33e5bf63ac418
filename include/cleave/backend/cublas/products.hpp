// backend/cublas/products.hpp - products by cuBLASLt where it was measured to be faster than our kernels on this device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../gpu/tuning/learned.hpp"
#include "call.hpp"

namespace cleave::backend::cublas {

using gpu::Algorithm, gpu::KernelSource;

struct Kind {
  using Task = gpu::Product;
  using Call = cublas::Call;
  static constexpr gpu::Words words{"products", "cuBLASLt", "cublas", "CLEAVE_PRODUCTS"};
  static Call call_for(Task const& p, gpu::Places const& at) { return cublas::call_for(p, at); }
  static Operands operands_for(Task const& p, gpu::Places const& at) { return cublas::operands_for(p, at); }
  static std::string text(Task const& p, Call const& c) { return cublas::text(p, c); }
  static std::string lacks(Task const&) { return ""; }
  static bool ends(Task const&, Algorithm const&) { return true; }
  /// A bias must have the alignment that any of the library's kernels needs; the library is not told of a smaller one.
  static bool suits(gpu::Places const& at) { return aligned(at.bias) == most_aligned; }
};

struct Choices : gpu::Choices {
  explicit Choices(std::string file) : gpu::Choices(std::move(file), Kind::words) {}
};
/// `Api` is cuBLASLt's functions (api.hpp), or a stand-in for tests.
template <class Api> using Products = gpu::Learned<Kind, Api>;

/// A machine with such products.
template <class Base, class Api> class With : public gpu::WithLibrary<Base, Kind, Api> {
 public:
  using gpu::WithLibrary<Base, Kind, Api>::WithLibrary;
  Products<Api>& products() { return this->learned_; }
};

}  // namespace cleave::backend::cublas
